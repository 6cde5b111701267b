/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Resets attributes that processes inherit through exec and that cages must not take over from the
 * caller. A realtime caller would lead to realtime tools, a small RLIMIT_FSIZE would kill tools,
 * and an ignored SIGPIPE would keep tools from ending. The helper resets them once, at no cost per
 * call.
 *
 * Each change restricts the cage or restores the default of a new process. Hard limits stay,
 * because they are set on purpose, and so do attributes that lower the caller's priority (nice,
 * batch, idle, CPU affinity). */
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "helper/serve.h"

enum {
    STACK = 8 << 20,  /* an unlimited stack would change the memory layout */
    LOCKED = 8 << 20, /* the kernel's default; some hosts have no limit, and locked memory cannot be
                         swapped */
    SLACK_NS = 50000,
    IO_WHO_PROCESS = 1,
    IO_CLASS_SHIFT = 13,
    IO_REALTIME = 1,
};

/* libc reserves two signals and refuses to set their handlers; if ignored, they stay ignored
 * through exec. */
static void reset_signal(int sig)
{
    const struct {
        void *handler;
        unsigned long flags;
        void *restorer;
        uint64_t mask;
    } standard = {0};
    (void)syscall(SYS_rt_sigaction, sig, &standard, NULL, sizeof(standard.mask));
}

/* Blocked, not ignored: an ignored signal stays ignored through exec, while a cage sets its own
 * mask. With SIGXFSZ blocked, exceeding a file size is an error of the write and does not kill the
 * helper. */
static void reset_signals(void)
{
    sigset_t set;
    for (int sig = 1; sig < NSIG; sig++)
        reset_signal(sig);
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGPIPE);
    (void)sigaddset(&set, SIGXFSZ);
    (void)sigprocmask(SIG_SETMASK, &set, NULL);
}

/* Under a realtime policy a tool could monopolise a CPU. In addition, cgroup v1 accepts no realtime
 * processes, so no cage could be created. */
static void reset_scheduling(void)
{
    const struct sched_param none = {0};
    int policy = sched_getscheduler(0);
    bool modest = policy == SCHED_OTHER || policy == SCHED_BATCH || policy == SCHED_IDLE;
    if (!modest)
        (void)sched_setscheduler(0, SCHED_OTHER, &none);
    if (getpriority(PRIO_PROCESS, 0) < 0)
        (void)setpriority(PRIO_PROCESS, 0, 0);
    if (syscall(SYS_ioprio_get, IO_WHO_PROCESS, 0) >> IO_CLASS_SHIFT == IO_REALTIME)
        (void)syscall(SYS_ioprio_set, IO_WHO_PROCESS, 0, 0);
    (void)prctl(PR_SET_TIMERSLACK, SLACK_NS, 0, 0, 0);
}

/* A soft limit reflects the caller's own needs, and any process may raise it to the hard limit:
 * raised here. Limits that give a process priority over others are lowered. */
static void reset_limits(void)
{
    static const struct {
        rlim_t soft, hard;
        int resource;
    } most[] = {
        {STACK, RLIM_INFINITY, RLIMIT_STACK},
        {LOCKED, LOCKED, RLIMIT_MEMLOCK},
        {0, 0, RLIMIT_NICE},
        {0, 0, RLIMIT_RTPRIO},
    };
    for (int resource = 0; resource < RLIM_NLIMITS; resource++) {
        struct rlimit now;
        if (getrlimit((__rlimit_resource_t)resource, &now) < 0)
            continue;
        rlim_t soft = now.rlim_max;
        for (size_t i = 0; i < TC_COUNT(most); i++) {
            if (most[i].resource != resource)
                continue;
            soft = most[i].soft < soft ? most[i].soft : soft;
            now.rlim_max = most[i].hard < now.rlim_max ? most[i].hard : now.rlim_max;
        }
        now.rlim_cur = soft;
        (void)setrlimit((__rlimit_resource_t)resource, &now);
    }
}

void tc_inherited_reset(void)
{
    reset_signals();
    reset_scheduling();
    reset_limits();
    (void)personality(PER_LINUX); /* a caller in a debugger has address randomisation off */
    (void)umask(0022);
}
