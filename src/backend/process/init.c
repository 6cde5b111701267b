/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * PID 1 of a cage, after every wall stands. It starts the tool as PID 2, passes signals on, reaps
 * whatever is left to it, and reports the tool's end; when it exits, the kernel ends everything
 * else. It runs under the same filter as the tool and cannot be dumped or traced. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/process/box.h"
#include "base/clock.h"
#include "base/fd.h"

enum { REPORT_FD = 3 };

static void say(int kind, int errnum, int status)
{
    struct tc_report report = {.kind = kind,
                               .stage = TC_BOX_STAGE_FORK,
                               .errnum = errnum,
                               .status = status,
                               .us = tc_now_us()};
    if (tc_send(REPORT_FD, &report, sizeof(report), NULL, 0) < 0)
        _exit(1); /* the helper has gone: nothing may run without it */
}

/* Tries the paths in order, as execvp does: the first that exists and is a program runs. What says
 * more than "not there" is remembered. */
static int execute(const struct tc_box *box)
{
    int worst = ENOENT;
    for (const char *const *path = box->programs; *path; path++) {
        struct stat st;
        if (stat(*path, &st) < 0) {
            worst = errno == EACCES ? EACCES : worst;
            continue;
        }
        if (S_ISDIR(st.st_mode)) {
            worst = EACCES;
            continue;
        }
        /* not execve, which the filter asks the helper about */
        (void)execveat(AT_FDCWD, *path, box->argv, box->envp, 0);
        if (errno != ENOENT || !*(path + 1))
            worst = errno;
        if (errno != EACCES && errno != ENOENT)
            break;
    }
    return worst;
}

static _Noreturn void become_tool(const struct tc_box *box)
{
    sigset_t none;
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)setsid();
    say(TC_REPORT_READY, 0, 0);
    say(TC_REPORT_EXEC_FAILED, execute(box), 0);
    _exit(127);
}

/* Reaps all there is; true once the tool itself has ended. */
static bool reap(pid_t tool, int *status)
{
    bool ended = false;
    pid_t pid;
    int one;
    while ((pid = waitpid(-1, &one, WNOHANG)) > 0) {
        if (pid == tool) {
            *status = one;
            ended = true;
        }
    }
    return ended;
}

/* The deadline is the helper's; but one that is stopped, or held up by a file system that does not
 * answer, must not give the tool more time than that. */
static int wait_signal(const sigset_t *set, int64_t last_us)
{
    if (!last_us)
        return sigwaitinfo(set, NULL);
    int64_t left = last_us - tc_now_us();
    if (left <= 0)
        _exit(1);
    struct timespec patience = {.tv_sec = left / 1000000, .tv_nsec = left % 1000000 * 1000};
    return sigtimedwait(set, NULL, &patience);
}

void tc_box_init(const struct tc_box *box)
{
    sigset_t set;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGCHLD);
    (void)sigaddset(&set, SIGTERM);
    if (sigprocmask(SIG_SETMASK, &set, NULL) < 0)
        _exit(1);
    /* no copy of our memory, which exec would throw away at once; we sleep until that exec */
    pid_t tool = vfork();
    if (tool < 0) {
        say(TC_REPORT_FAILED, errno, 0);
        _exit(1);
    }
    if (tool == 0)
        become_tool(box);
    for (int fd = 0; fd < REPORT_FD; fd++)
        (void)close(fd);
    for (;;) {
        int status = 0, sig = wait_signal(&set, box->last_us);
        if (sig == SIGTERM)
            (void)kill(-1, SIGTERM);
        if (reap(tool, &status)) {
            say(TC_REPORT_EXITED, 0, status);
            _exit(0);
        }
    }
}
