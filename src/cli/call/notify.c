/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cli/call/notify.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/show/io.h"
#include "cli/show/say.h"
#include "spawn/run.h"

enum { SECONDS = 10, STEP_MS = 50, NOT_TRUSTED = 126, NOT_STARTED = 127 };

/* The command line's, which makes requests for one policy. */
static const char *program;
static struct tc_writers program_writers;

/* ---- the program ---- */

static int check_program(const char *path, struct tc_failure *failure)
{
    static const char hint[] = "name an executable file that only you or root can write";
    struct stat st;
    bool found = stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
    if (path[0] != '/')
        return tc_failure_set(failure, TOOLCAGE_EUSAGE, "write its absolute path",
                              "--notify %s is not an absolute path", path);
    if (!found)
        return tc_failure_set(failure, TOOLCAGE_ENOT_FOUND, hint,
                              "--notify %s is not an executable file", path);
    if ((st.st_uid != geteuid() && st.st_uid != 0) || (st.st_mode & (S_IWGRP | S_IWOTH)))
        return tc_failure_set(failure, TOOLCAGE_EUNTRUSTED, hint,
                              "--notify %s can be changed by other users", path);
    return tc_secret_check(path, program_writers, failure);
}

int tc_notify_use(const char *path, bool queues, struct tc_writers writers,
                  struct tc_failure *failure)
{
    if (!path)
        return 0;
    if (!queues)
        return tc_failure_set(failure, TOOLCAGE_EUSAGE, "add --queue",
                              "--notify is about requests in the queue of approvals");
    program_writers = writers;
    if (check_program(path, failure))
        return -1;
    program = path;
    return 0;
}

/* ---- the request ---- */

static void put_string(FILE *out, const char *key, const char *value)
{
    (void)fprintf(out, ",\"%s\":", key);
    tc_cli_json_string(out, value);
}

void tc_notify_put(FILE *out, const struct tc_queued *q)
{
    (void)fprintf(out, "{\"id\":\"%s\",\"created\":%" PRId64 ",\"expires\":%" PRId64, q->id,
                  q->created, q->expires);
    put_string(out, "asker", q->asker);
    put_string(out, "digest", q->digest);
    (void)fprintf(out, ",\"subject\":%s}", q->subject);
}

/* The request in a file without a name, to be read from its beginning; -1 with errno. */
static int write_request(const char *id)
{
    struct tc_queued q = {0};
    struct tc_fault fault;
    char *text = NULL;
    size_t size = 0;
    errno = ENOENT;
    FILE *out = tc_queue_find(id, &q, &fault) < 0 ? NULL : open_memstream(&text, &size);
    int fd = out ? memfd_create("toolcage-request", MFD_CLOEXEC) : -1;
    if (out) {
        tc_notify_put(out, &q);
        (void)fputc('\n', out);
    }
    bool whole = out && fclose(out) == 0 && fd >= 0 && tc_cli_write(fd, text, size) == 0 &&
                 lseek(fd, 0, SEEK_SET) == 0;
    free(text);
    tc_queued_done(&q);
    if (whole || fd < 0)
        return fd;
    (void)close(fd);
    return -1;
}

/* ---- running it ---- */

/* This process must not keep the engine's helper alive, or its client waiting. */
static bool let_go(int *input)
{
    int kept = STDERR_FILENO + 1;
    sigset_t none;
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    bool moved = dup2(*input, kept) >= 0 && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0 &&
                 close_range((unsigned)kept + 1, ~0U, 0) == 0;
    *input = kept;
    (void)close(STDIN_FILENO);
    return moved && open("/dev/null", O_RDONLY) == STDIN_FILENO;
}

static _Noreturn void become(int input)
{
    (void)setpgid(0, 0);
    _exit(tc_spawn_turn_into(program, input) == EPERM ? NOT_TRUSTED : NOT_STARTED);
}

/* Waits for its end; after ten seconds it is killed. What it printed is on standard error. */
static void watch(pid_t pid)
{
    const struct timespec step = {.tv_nsec = STEP_MS * 1000000L};
    int status = 0, left = SECONDS * 1000 / STEP_MS;
    pid_t ended = 0;
    while (left-- > 0 && (ended = waitpid(pid, &status, WNOHANG)) == 0)
        (void)nanosleep(&step, NULL);
    if (ended == 0) {
        (void)kill(-pid, SIGKILL);
        (void)kill(pid, SIGKILL);
        tc_cli_say("--notify %s was ended after %d seconds; the request waits all the same",
                   program, SECONDS);
    } else if (ended < 0 || !WIFEXITED(status)) {
        tc_cli_say("--notify %s was killed; the request waits all the same", program);
    } else if (WEXITSTATUS(status) == NOT_STARTED) {
        tc_cli_say("--notify %s could not be started; the request waits all the same", program);
    } else if (WEXITSTATUS(status) == NOT_TRUSTED) {
        tc_cli_say("--notify %s or its interpreter may have been written by a tool, or cannot be "
                   "executed; the request waits all the same",
                   program);
    } else if (WEXITSTATUS(status)) {
        tc_cli_say("--notify %s failed with exit code %d; the request waits all the same", program,
                   WEXITSTATUS(status));
    }
}

/* In a grandchild of the process, which has no child to wait for then. */
static _Noreturn void supervise(int input)
{
    pid_t pid = let_go(&input) ? fork() : -1;
    if (pid == 0)
        become(input);
    if (pid > 0)
        watch(pid);
    else
        tc_cli_say("--notify %s could not be started; the request waits all the same", program);
    _exit(0);
}

static void start(int input)
{
    pid_t pid = fork();
    if (pid == 0) {
        if (fork() == 0)
            supervise(input);
        _exit(0);
    }
    if (pid < 0)
        tc_cli_say("--notify %s could not be started: %s", program, strerror(errno));
    while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

void tc_notify_request(const char *id)
{
    _autofailure_ struct tc_failure failure = {0};
    if (!program)
        return;
    if (check_program(program, &failure)) {
        tc_cli_say("--notify is not started: %s",
                   failure.error ? toolcage_error_message(failure.error) : failure.message);
        return;
    }
    _autofd_ int input = write_request(id);
    if (input < 0)
        tc_cli_say("--notify %s is not started: %s", program, strerror(errno));
    else
        start(input);
}
