/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The helper's birth from hosts in good and in bad order. Each case runs in a process of its own,
 * so that closed descriptors and ignored signals stay there. */
#include "call/engine.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "birth.h"
#include "test.h"

static volatile sig_atomic_t children_seen;

static void on_child(int sig)
{
    children_seen = children_seen + 1;
}

/* Its own name, and where the user's state is when the environment says so. */
static int arguments(void)
{
    const char *home = getenv("HOME"), *state = getenv("XDG_STATE_HOME");
    return (home && home[0] == '/') || (state && state[0] == '/') ? 2 : 1;
}

/* Starts the reporter and reads what it found; -1 when anything fails. */
static int report(struct birth *ret)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return -1;
    int host = (int)syscall(SYS_pidfd_open, getpid(), 0);
    struct toolcage_error *why = NULL;
    if (tc_launch_program(BIRTH_REPORTER, pair[1], host, &why) < 0) {
        fprintf(stderr, "%s", tc_error_report(why));
        tc_error_free(why);
        return -1;
    }
    close(pair[1]);
    close(host);
    struct pollfd p = {.fd = pair[0], .events = POLLIN};
    int r = poll(&p, 1, 5000) == 1 && recv(pair[0], ret, sizeof(*ret), 0) == sizeof(*ret) ? 0 : -1;
    close(pair[0]);
    return r;
}

static int is_clean(const struct birth *b)
{
    return b->argc == arguments() && b->environment == 0 && b->null_descriptors == 3 &&
           b->other_descriptors == 0 && b->host_is_pidfd && b->blocked == 0 && b->ignored == 0 &&
           b->leads_session && b->in_root;
}

/* Runs `body` in a fork; true when it answered 0. */
static bool in_fork(int (*body)(void))
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        _exit(body());
    int status = -1;
    return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
           WEXITSTATUS(status) == 0;
}

static int plain_body(void)
{
    struct birth b;
    return report(&b) == 0 && is_clean(&b) ? 0 : 1;
}

static void born_clean(void **state)
{
    assert_true(in_fork(plain_body));
}

static int no_descriptors_body(void)
{
    struct birth b;
    (void)close_range(0, 4, 0);
    return report(&b) == 0 && is_clean(&b) ? 0 : 1;
}

static void born_without_standard_descriptors(void **state)
{
    assert_true(in_fork(no_descriptors_body));
}

static int many_descriptors_body(void)
{
    struct birth b;
    for (int fd = 3; fd < 60; fd++)
        (void)dup2(STDERR_FILENO, fd); /* not close-on-exec, 3 and 4 among them */
    return report(&b) == 0 && is_clean(&b) ? 0 : 1;
}

static void inherits_no_descriptor(void **state)
{
    assert_true(in_fork(many_descriptors_body));
}

static int bad_signals_body(void)
{
    struct birth b;
    sigset_t all, before = {0}, after = {0};
    sigfillset(&all);
    (void)signal(SIGCHLD, SIG_IGN);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)sigprocmask(SIG_SETMASK, &all, NULL);
    (void)sigprocmask(SIG_SETMASK, NULL, &before);
    int r = report(&b);
    (void)sigprocmask(SIG_SETMASK, NULL, &after);
    return r == 0 && is_clean(&b) && memcmp(&before, &after, sizeof(before)) == 0 ? 0 : 1;
}

static void signals_are_reset_there_and_kept_here(void **state)
{
    assert_true(in_fork(bad_signals_body));
}

static int no_child_body(void)
{
    struct birth b;
    struct sigaction action = {.sa_handler = on_child};
    (void)sigaction(SIGCHLD, &action, NULL);
    if (report(&b) < 0 || b.parent == getpid())
        return 1;
    if (waitpid(-1, NULL, WNOHANG) != -1 || errno != ECHILD)
        return 2;
    if (waitpid(-1, NULL, WNOHANG | __WALL) != -1 || errno != ECHILD)
        return 3;
    return children_seen ? 4 : 0;
}

static void host_has_no_child(void **state)
{
    assert_true(in_fork(no_child_body));
}

static void *start_some(void *arg)
{
    struct birth b;
    for (int i = 0; i < 5; i++)
        if (report(&b) < 0 || b.argc != arguments())
            return (void *)(uintptr_t) "failed";
    return NULL;
}

static int threads_body(void)
{
    pthread_t threads[8];
    int failed = 0;
    for (size_t i = 0; i < TC_COUNT(threads); i++)
        failed |= pthread_create(&threads[i], NULL, start_some, NULL);
    for (size_t i = 0; i < TC_COUNT(threads); i++) {
        void *answer = NULL;
        failed |= pthread_join(threads[i], &answer) || answer;
    }
    return failed || waitpid(-1, NULL, WNOHANG | __WALL) != -1;
}

static void threads_start_helpers_at_once(void **state)
{
    assert_true(in_fork(threads_body));
}

static void make_file(char path[], const char *text, mode_t mode)
{
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    assert_int_equal(fchmod(fd, mode), 0);
    close(fd);
}

static void expect_failure(const char *path, int errnum, const char *words)
{
    int pair[2];
    struct toolcage_error *why = NULL;
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    assert_int_equal(tc_launch_program(path, pair[1], pair[0], &why), TOOLCAGE_EHELPER);
    assert_string_equal(tc_error_stage(why), "helper");
    assert_string_equal(tc_error_subject(why), path);
    assert_int_equal(tc_error_errno(why), errnum);
    assert_non_null(strstr(tc_error_message(why), words));
    assert_string_not_equal(tc_error_hint(why), "");
    tc_error_free(why);
    close(pair[0]);
    close(pair[1]);
    assert_int_equal(waitpid(-1, NULL, WNOHANG | __WALL), -1);
}

static void unsafe_helpers_are_refused(void **state)
{
    char wide[] = "/tmp/toolcage-test-XXXXXX", bad[] = "/tmp/toolcage-test-XXXXXX",
         off[] = "/tmp/toolcage-test-XXXXXX";
    make_file(wide, "x", 0775);
    expect_failure(wide, 0, "by its group or by others");
    make_file(bad, "this is no program", 0755);
    expect_failure(bad, ENOEXEC, "step exec");
    make_file(off, "x", 0644);
    expect_failure(off, EACCES, "step exec");
    expect_failure("/tmp", 0, "not a regular file");
    expect_failure("/nonexistent/toolcage-helper", ENOENT, "cannot open");
    unlink(wide);
    unlink(bad);
    unlink(off);
}

static int alien_owner_body(void)
{
    char path[] = "/tmp/toolcage-test-XXXXXX";
    int fd = mkstemp(path), pair[2];
    struct toolcage_error *why = NULL;
    if (fd < 0 || fchmod(fd, 0755) < 0 || fchown(fd, 12345, 12345) < 0 ||
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return 1;
    int r = tc_launch_program(path, pair[1], pair[0], &why);
    unlink(path);
    return r == TOOLCAGE_EHELPER && strstr(tc_error_message(why), "neither root nor the caller")
               ? 0
               : 1;
}

static void helper_of_another_user_is_refused(void **state)
{
    if (geteuid() != 0) {
        print_message("skipped: only root can make a file of another user\n");
        skip();
    }
    assert_true(in_fork(alien_owner_body));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(born_clean),
        cmocka_unit_test(born_without_standard_descriptors),
        cmocka_unit_test(inherits_no_descriptor),
        cmocka_unit_test(signals_are_reset_there_and_kept_here),
        cmocka_unit_test(host_has_no_child),
        cmocka_unit_test(threads_start_helpers_at_once),
        cmocka_unit_test(unsafe_helpers_are_refused),
        cmocka_unit_test(helper_of_another_user_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
