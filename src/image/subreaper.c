/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The subreaper of a build. A bootstrap has children that chroot, mount and ignore signals for a
 * while; orphans become children of the subreaper, so that it can kill all of them. It also holds
 * its parent's fds: a working directory of the store stays locked while a process still writes to
 * it. */
#include "image/run.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"

enum { GRACE_US = 10000000, FAILED = 127 };

struct subreaper {
    pid_t program; /* also its process group */
    int status;
    bool ended;
    sigset_t heard;
};

/* Signals ignored by nohup stay ignored. */
static void choose_signals(sigset_t *ret)
{
    static const int signals[] = {SIGINT, SIGHUP};
    struct sigaction is;
    (void)sigemptyset(ret);
    (void)sigaddset(ret, SIGCHLD);
    (void)sigaddset(ret, SIGTERM);
    for (size_t i = 0; i < TC_COUNT(signals); i++)
        if (sigaction(signals[i], NULL, &is) == 0 && is.sa_handler != SIG_IGN)
            (void)sigaddset(ret, signals[i]);
}

/* Reaps all exited children; false: none is left. */
static bool reap_children(struct subreaper *k)
{
    int status = 0;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        if (pid == k->program) {
            k->status = status;
            k->ended = true;
        }
    return pid == 0;
}

/* False: a signal requests the end. */
static bool wait_for_program(struct subreaper *k)
{
    int signal = SIGCHLD;
    while (reap_children(k), !k->ended && (signal == SIGCHLD || signal < 0))
        signal = sigwaitinfo(&k->heard, NULL);
    return k->ended;
}

static void wait_for_end(struct subreaper *k)
{
    const struct timespec step = {.tv_sec = 1};
    int64_t until = tc_now_us() + GRACE_US;
    while (reap_children(k), !k->ended && tc_now_us() < until)
        (void)sigtimedwait(&k->heard, NULL, &step);
}

/* Kills the direct children, including adopted orphans. */
static void kill_children(void)
{
    FILE *list = fopen("/proc/thread-self/children", "re");
    int pid;
    while (list && fscanf(list, "%d", &pid) == 1)
        (void)kill(pid, SIGKILL);
    if (list)
        (void)fclose(list);
}

/* Children of a killed process become direct children, so this repeats until none is left. */
static void end_all(struct subreaper *k)
{
    enum { STEP_NS = 5000000, STEPS = 2000 };
    (void)kill(-k->program, SIGTERM);
    wait_for_end(k);
    for (int i = 0; i < STEPS && reap_children(k); i++) {
        (void)kill(-k->program, SIGKILL);
        kill_children();
        (void)nanosleep(&(struct timespec){.tv_nsec = STEP_NS}, NULL);
    }
}

_Noreturn static void end_as(int status)
{
    sigset_t all;
    if (!WIFSIGNALED(status))
        _exit(WIFEXITED(status) ? WEXITSTATUS(status) : FAILED);
    (void)sigfillset(&all);
    (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); /* the core dump is the program's */
    (void)signal(WTERMSIG(status), SIG_DFL);
    (void)sigprocmask(SIG_UNBLOCK, &all, NULL);
    (void)raise(WTERMSIG(status));
    _exit(FAILED);
}

_Noreturn static void start(void (*become)(const void *ud), const void *ud)
{
    sigset_t none;
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    become(ud);
    _exit(FAILED);
}

_Noreturn void tc_subreaper_run(pid_t parent, void (*become)(const void *ud), const void *ud)
{
    struct subreaper k = {.program = -1};
    choose_signals(&k.heard);
    if (sigprocmask(SIG_SETMASK, &k.heard, NULL) < 0 ||
        prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0 ||
        prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0) < 0 || getppid() != parent)
        _exit(FAILED);
    k.program = fork();
    if (k.program == 0)
        start(become, ud);
    if (k.program < 0)
        _exit(FAILED);
    (void)setpgid(k.program, 0); /* the program does this, too: whichever is first */
    if (!wait_for_program(&k))
        end_all(&k);
    end_as(k.status);
}
