/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Cage-wide limits that the helper must check: CPU time and shared memory are sampled, the kernel
 * announces OOM kills, and full storage, which many tools clean up before they end, is sampled. */
#include <errno.h>
#include <poll.h>

#include "base/clock.h"
#include "base/fd.h"
#include "cage/cage.h"
#include "cage/pool.h"
#include "workspace/workspace.h"

enum {
    SAMPLE_US = 100000,   /* interval of samples */
    UNSEEN_MAX = 10,      /* consecutive failed samples that end the call */
    DISK_FIRST_US = 5000, /* the first sample of the private storage */
    DISK_LEAST_US = 1000, /* the shortest interval between these samples */
    OOM_FIRST_US =
        1000, /* interval of checks for an OOM kill; doubles up to OOM_LAST_US: 1 s in all */
    OOM_LAST_US = 512000
};

/* ---- CPU time ---- */

/* Is the cage's PID 1 alive? In a container it appears late, and the helper may learn of its end
 * late; until then the pid may belong to another process, which must not be sampled. */
static bool is_there(const struct tc_process_cage *p)
{
    struct pollfd first = {.fd = p->child.first_pidfd, .events = POLLIN};
    return !(p->ops && p->ops->apart) || (first.fd >= 0 && poll(&first, 1, 0) == 0);
}

int64_t tc_limits_cpu_us(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    struct tc_cgroup_usage usage = {.cpu_us = -1};
    if (cage->over || p->child.reaped)
        return p->child.cpu_us;
    if (!is_there(p))
        return p->seen_cpu_us;
    if (p->group) {
        tc_cgroup_sample(p->group);
        tc_cgroup_usage(p->group, &usage);
    }
    int64_t now = usage.cpu_us >= 0 ? usage.cpu_us : tc_sample_cpu(tc_process_first(p));
    now -= now < 0 ? 0 : p->earlier_cpu_us;
    p->seen_cpu_us = now > p->seen_cpu_us ? now : p->seen_cpu_us;
    return now < 0 && !is_there(p) ? p->seen_cpu_us : now;
}

static int fail_unseen(struct tc_cage *cage, int errnum)
{
    bool full = errnum == EMFILE || errnum == ENFILE;
    return tc_cage_fail(
        cage,
        TC_WHY_ERRNO(TOOLCAGE_EUNENFORCEABLE, "limits", "cpu_time", errnum,
                     full ? "raise this process's limits (ulimit -n)"
                          : "mount /proc without hidepid, or give the caller a cgroup"),
        TC_CLAUSE_LIMIT_CPU_TIME, "the call's CPU time can no longer be read");
}

/* Compares the CPU time with the limit. If it cannot be read UNSEEN_MAX times in a row, the call
 * fails, because the limit is not enforced. */
static void sample_cpu(struct tc_cage *cage)
{
    struct tc_looks *looks = &TC_PRIV(cage)->looks;
    int64_t used = tc_limits_cpu_us(cage);
    int errnum = errno;
    if (used < 0) {
        tc_reserve_open();
        used = tc_limits_cpu_us(cage);
        (void)tc_reserve_close();
    }
    if (used > tc_us_of_ms(cage->plan->limits.cpu_time_ms))
        cage->limit = "cpu_time";
    looks->unseen = used < 0 ? looks->unseen + 1 : 0;
    if (looks->unseen >= UNSEEN_MAX)
        (void)fail_unseen(cage, errnum);
}

/* ---- memory ---- */

/* Is shared memory limited neither by a cgroup nor by a userspace kernel, so that it must be
 * sampled? */
static bool is_sampled(const struct tc_process_cage *p)
{
    bool bounded = p->group && p->group_limits.memory;
    return !bounded && !(p->ops && p->ops->sentry);
}

int64_t tc_limits_segments(const struct tc_cage *cage)
{
    const struct tc_process_cage *p = TC_PRIV(cage);
    const struct tc_limits *l = &cage->plan->limits;
    /* PID 1 runs under the tool's filter: a call that the policy denies fails there, too, and would
     * be reported as the tool's denial */
    bool can = !tc_strv_has(&cage->plan->syscalls_deny, "shmctl");
    return l->memory_any && can && is_sampled(p) ? l->memory : 0;
}

/* The bytes of memory that the cage's processes share now; 0 if the kernel limits shared memory. */
static int64_t shared_bytes(struct tc_cage *cage)
{
    const struct tc_process_cage *p = TC_PRIV(cage);
    if (cage->over || p->child.reaped || !is_sampled(p) || !is_there(p))
        return 0;
    int64_t seen = tc_sample_shared(tc_process_first(p), cage->plan->limits.memory);
    return seen > p->child.segments ? seen : p->child.segments;
}

/* Has the kernel killed a process of the cage for memory? cgroup v1 notifies only once, when memory
 * runs out: before the kernel has killed a process, and perhaps it need not. So this checks for one
 * second. */
static void look_for_kill(struct tc_cage *cage)
{
    struct tc_looks *looks = &TC_PRIV(cage)->looks;
    looks->oom_at_us = 0;
    if (tc_cgroup_oomed(TC_PRIV(cage)->group)) {
        cage->limit = "memory";
    } else if (looks->oom_wait_us < OOM_LAST_US) {
        looks->oom_wait_us = looks->oom_wait_us ? 2 * looks->oom_wait_us : OOM_FIRST_US;
        looks->oom_at_us = tc_now_us() + looks->oom_wait_us;
    }
}

/* Did the kernel announce that memory has run out? */
static bool is_told(const struct tc_looks *looks)
{
    struct pollfd ready = {.fd = looks->oom_fd, .events = (short)looks->oom_events};
    return looks->oom_fd >= 0 && poll(&ready, 1, 0) > 0;
}

/* ---- storage ---- */

/* The next sample is due when the storage can be full, or later and later while nothing is written.
 * A tool that fills it and cleans up faster is missed. */
static void sample_storage(struct tc_cage *cage)
{
    struct tc_looks *looks = &TC_PRIV(cage)->looks;
    int64_t fills = tc_workspace_fills_us(&TC_PRIV(cage)->trees);
    int64_t wait = fills == looks->fills_us ? 2 * looks->disk_wait_us : fills;
    wait = wait < DISK_LEAST_US ? DISK_LEAST_US : wait;
    looks->disk_wait_us = wait < SAMPLE_US ? wait : SAMPLE_US;
    looks->fills_us = fills;
    looks->filled = fills == 0;
    looks->disk_at_us = looks->filled ? 0 : tc_now_us() + looks->disk_wait_us;
}

/* ---- schedule ---- */

static void set_time(struct tc_cage *cage)
{
    const struct tc_looks *looks = &TC_PRIV(cage)->looks;
    cage->look_at_us =
        tc_sooner(tc_sooner(looks->oom_at_us, looks->sample_at_us), looks->disk_at_us);
}

int tc_limits_begin(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    const struct tc_limits *l = &cage->plan->limits;
    p->looks = (struct tc_looks){.oom_fd = -1};
    if (l->cpu_time_ms || l->memory_any)
        p->looks.sample_at_us = tc_now_us() + SAMPLE_US;
    if (tc_workspace_fills_us(&p->trees) < INT64_MAX)
        p->looks.disk_at_us = tc_now_us() + DISK_FIRST_US;
    if (p->group)
        p->looks.oom_fd = tc_cgroup_oom_fd(p->group, &p->looks.oom_events);
    set_time(cage);
    return tc_events_add(cage, p->looks.oom_fd, p->looks.oom_events);
}

static void sample(struct tc_cage *cage)
{
    const struct tc_limits *l = &cage->plan->limits;
    if (l->memory_any && shared_bytes(cage) > l->memory)
        cage->limit = "memory";
    else if (l->cpu_time_ms)
        sample_cpu(cage);
}

void tc_limits_look(struct tc_cage *cage)
{
    struct tc_looks *looks = &TC_PRIV(cage)->looks;
    int64_t now = cage->look_at_us ? tc_now_us() : 0;
    if (is_told(looks)) {
        looks->oom_wait_us = 0;
        look_for_kill(cage);
    } else if (looks->oom_at_us && now >= looks->oom_at_us) {
        look_for_kill(cage);
    }
    if (looks->sample_at_us && now >= looks->sample_at_us) {
        if (cage->running)
            sample(cage);
        /* sampling many processes may take at most a tenth of the loop's time */
        looks->sample_at_us = now + SAMPLE_US + 9 * (tc_now_us() - now);
    }
    if (looks->disk_at_us && now >= looks->disk_at_us) {
        if (cage->running)
            sample_storage(cage);
        else
            looks->disk_at_us = now + DISK_FIRST_US;
    }
    set_time(cage);
}

/* Reads the CPU time before PID 1 ends: the kernel then kills the other processes, and no process
 * reaps them, so their CPU time would be lost. */
void tc_limits_end(struct tc_cage *cage)
{
    (void)tc_limits_cpu_us(cage);
    struct tc_looks *looks = &TC_PRIV(cage)->looks;
    looks->sample_at_us = looks->oom_at_us = looks->disk_at_us = 0;
    cage->look_at_us = 0;
}
