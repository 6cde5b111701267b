/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What a process inherits through exec and a cage must not have from whoever calls: a realtime host
 * would make realtime tools, one with a small RLIMIT_FSIZE tools that die of it, one that ignores
 * SIGPIPE tools that never end. All of it is put right once, in the helper, so that it costs no
 * call anything.
 *
 * Only towards less for the cage, or towards what any fresh process has: a hard limit is somebody's
 * decision and stays, and so does what makes a host modest (nice, batch, idle, its processors). */
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
    STACK = 8 << 20, /* unlimited would change how memory is laid out */
    LOCKED =
        8 << 20, /* the kernel's default; some hosts have no bound, and locking is not paging */
    SLACK_NS = 50000,
    IO_WHO_PROCESS = 1,
    IO_CLASS_SHIFT = 13,
    IO_REALTIME = 1,
};

/* libc keeps two signals to itself and refuses to speak of them; what is ignored stays so through
 * exec all the same. */
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

/* Blocked and not ignored: what is ignored stays so through exec, and a cage sets its own mask. A
 * file too large is an error of the write then, not our end. */
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

/* Under a realtime policy a tool could hold a processor for itself; and version 1 control groups
 * take no realtime process, so no cage could be made at all. */
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

/* The soft value is what the host had in mind for itself; up to the hard one anybody may go. Of
 * what lets a process rise above others, a cage has nothing. */
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
    (void)personality(PER_LINUX); /* a host under a debugger has no address randomisation */
    (void)umask(0022);
}
