/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The real filters in real processes: what the kernel answers under them. */
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "linux/seccomp_filter.h"
#include "test.h"

/* In the child: 0 when fine, else the number of the line that was not. */
#define EXPECT(condition)    \
    do {                     \
        if (!(condition))    \
            return __LINE__; \
    } while (0)
#define REFUSED(errnum, call)                      \
    do {                                           \
        errno = 0;                                 \
        EXPECT((call) == -1 && errno == (errnum)); \
    } while (0)

static bool install(enum tc_seccomp_watch watch, int *ret_fd)
{
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return false;
    *ret_fd = tc_seccomp_install(tc_seccomp_program(watch, false), watch);
    return *ret_fd >= 0;
}

static int calls(void)
{
    int pair[2];
    char path[] = "/tmp/toolcage-seccomp-XXXXXX";
    int fd = mkstemp(path);
    EXPECT(fd >= 0);
    EXPECT(unlink(path) == 0);
    EXPECT(fchmod(fd, 0755) == 0);
    REFUSED(EPERM, fchmod(fd, 04755));
    REFUSED(EACCES, socket(AF_UNIX, SOCK_STREAM, 0));
    REFUSED(EACCES, socketpair(AF_UNIX, SOCK_DGRAM, 0, pair));
    EXPECT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
    REFUSED(EPERM, unshare(CLONE_NEWUSER));
    REFUSED(EPERM, (int)syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0));
    REFUSED(ENOSYS, (int)syscall(SYS_clone3, NULL, 0));
    REFUSED(ENOSYS, (int)syscall(SYS_openat2, AT_FDCWD, "/", NULL, 0));
    REFUSED(EPERM, (int)syscall(SYS_mount, "none", "/tmp", "tmpfs", 0, NULL));
    REFUSED(EPERM, (int)syscall(SYS_fsopen, "tmpfs", 0));
    REFUSED(EPERM, (int)syscall(SYS_setns, fd, 0));
    REFUSED(EPERM, (int)ptrace(PTRACE_TRACEME, 0, 0, 0));
    REFUSED(EPERM, (int)syscall(SYS_bpf, 0, NULL, 0));
    REFUSED(ENOSYS, (int)syscall(SYS_io_uring_setup, 8, NULL));
    REFUSED(EPERM, (int)syscall(SYS_keyctl, 0, -3, 1));
    REFUSED(EPERM, (int)syscall(SYS_ioctl, 0, 0xffffffff00005412ul, ""));
    REFUSED(ENOSYS, (int)syscall(0x40000000 | SYS_getpid));
    struct rlimit before, after, other = {0, 0};
    EXPECT(getrlimit(RLIMIT_CORE, &before) == 0);
    EXPECT(setrlimit(RLIMIT_CORE, &other) == 0); /* pretended */
    EXPECT(getrlimit(RLIMIT_CORE, &after) == 0);
    EXPECT(after.rlim_cur == before.rlim_cur && after.rlim_max == before.rlim_max);
    REFUSED(EPERM, mknod("/tmp/toolcage-node", S_IFCHR | 0600, 0));
    pid_t pid = fork();
    if (pid == 0)
        _exit(7);
    int status;
    EXPECT(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 7);
    return 0;
}

static int in_child(int (*fn)(int), int arg)
{
    pid_t pid = fork();
    if (pid == 0) {
        int line = fn(arg);
        _exit(line > 255 ? 255 : line);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static bool core_limit_of_one(void)
{
    const struct rlimit one = {1, 1};
    return setrlimit(RLIMIT_CORE, &one) == 0;
}

static int plain_calls(int unused)
{
    int fd;
    EXPECT(core_limit_of_one());
    EXPECT(install(TC_WATCH_NOTHING, &fd));
    return calls();
}

static void the_plain_filter_refuses_and_allows(void **state)
{
    int status = in_child(plain_calls, 0);
    assert_int_equal(status, 0);
}

#ifdef __x86_64__
static int int80(int unused)
{
    int fd;
    EXPECT(install(TC_WATCH_NOTHING, &fd));
    int result;
    __asm__ volatile("int $0x80" : "=a"(result) : "0"(20) : "memory"); /* getpid */
    return 1;
}

static void a_32_bit_call_kills(void **state)
{
    int status = in_child(int80, 0);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGSYS);
}
#endif

static int plain_exec(int unused)
{
    int fd;
    EXPECT(install(TC_WATCH_NOTHING, &fd));
    (void)execl("/bin/true", "true", NULL);
    return 1;
}

static void exec_goes_on_in_the_plain_form(void **state)
{
    assert_int_equal(in_child(plain_exec, 0), 0);
}

/* Installs, hands the listener over, does the calls, then execs. */
static int notified_calls(int sock)
{
    int fd;
    EXPECT(install(TC_WATCH_CALLS, &fd));
    EXPECT(fcntl(fd, F_GETFD) == FD_CLOEXEC);
    EXPECT(tc_send(sock, "", 1, &fd, 1) == 0);
    EXPECT(close(fd) == 0 && close(sock) == 0);
    int line = calls();
    if (line)
        return line;
    (void)execl("/bin/true", "true", NULL);
    return 1;
}

struct seen {
    unsigned refused, probes, execs;
};

/* What a supervisor does for one notification; false at the end. */
static bool serve(int fd, struct seen *seen)
{
    struct pollfd pfd = {.fd = fd, .events = POLLIN};
    struct seccomp_notif req = {0};
    if (poll(&pfd, 1, 5000) != 1 || !(pfd.revents & POLLIN))
        return false;
    if (ioctl(fd, SECCOMP_IOCTL_NOTIF_RECV, &req) < 0)
        return false;
    uint64_t args[6];
    memcpy(args, req.data.args, sizeof(args));
    const char *name;
    bool probe;
    int answer = tc_seccomp_answer(false, req.data.nr, args, &name, &probe);
    seen->refused += answer && !probe;
    seen->probes += probe;
    seen->execs += strcmp(name, "execve") == 0;
    struct seccomp_notif_resp resp = {.id = req.id, .error = -answer};
    if (!answer)
        resp.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    return ioctl(fd, SECCOMP_IOCTL_NOTIF_SEND, &resp) == 0;
}

static void the_notifying_filter_reports_and_refuses_the_same(void **state)
{
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    pid_t pid = fork();
    if (pid == 0) {
        int line = notified_calls(pair[1]);
        _exit(line > 255 ? 255 : line);
    }
    (void)close(pair[1]);
    char byte;
    int fd = -1;
    size_t count = 0;
    assert_int_equal(tc_recv(pair[0], &byte, 1, &fd, 1, &count, NULL, NULL, true), 1);
    assert_int_equal(count, 1);
    struct seen seen = {0};
    while (serve(fd, &seen))
        continue;
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    (void)close(fd);
    (void)close(pair[0]);
    assert_int_equal(status, 0);
    assert_int_equal(seen.probes, 2);   /* io_uring_setup, keyctl */
    assert_int_equal(seen.refused, 12); /* the REFUSED lines but ENOSYS ones and probes */
    assert_int_equal(seen.execs, 1);
}

/* With the listener gone every notified call answers ENOSYS, connect and exec too: it fails closed.
 * And no listener of the tool's own can take its place. */
static int after_the_listener(int unused)
{
    int fd;
    EXPECT(install(TC_WATCH_CALLS, &fd));
    EXPECT(close(fd) == 0);
    REFUSED(ENOSYS, socket(AF_UNIX, SOCK_STREAM, 0));
    REFUSED(ENOSYS, execl("/bin/true", "true", NULL));
    REFUSED(ENOSYS, tc_seccomp_install(tc_seccomp_program(TC_WATCH_CALLS, false), TC_WATCH_CALLS));
    EXPECT(socket(AF_INET, SOCK_STREAM, 0) >= 0);
    return 0;
}

static void a_closed_listener_fails_closed(void **state)
{
    assert_int_equal(in_child(after_the_listener, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_plain_filter_refuses_and_allows),
#ifdef __x86_64__
        cmocka_unit_test(a_32_bit_call_kills),
#endif
        cmocka_unit_test(exec_goes_on_in_the_plain_form),
        cmocka_unit_test(the_notifying_filter_reports_and_refuses_the_same),
        cmocka_unit_test(a_closed_listener_fails_closed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
