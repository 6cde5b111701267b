/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Cgroups, version 1: one hierarchy per controller, some of them mounted together. Counters
 * cannot be reset (except the memory peak), so a call's usage is a difference. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/strv.h"
#include "linux/cgroup_impl.h"

/* A group is not reused if more than this stays charged after its pages were reclaimed. */
enum { RESIDUE_MAX = 1 << 20 };

/* Why kernel or mount cannot provide one controller, or NULL. */
static void find_one(struct tc_cgroups *cgroups, enum tc_cgroup_controller c)
{
    const struct tc_cgroup_place *place = &cgroups->places.v1[c];
    const char *name = tc_cgroup_controller_name(c);
    const char *barrier =
        !place->own ? "the cgroup of this process is not visible" : tc_cgroup_barrier(place->own);
    cgroups->state[c] = (struct tc_cgroup_state){.mechanism = "cgroup v1"};
    if (!place->mount)
        tc_cgroups_unusable(
            cgroups, c, tc_format("the kernel offers no %s controller", name),
            tc_format("mount the cgroup2 file system, or boot with cgroup_enable=%s", name));
    else if (barrier)
        tc_cgroups_unusable(
            cgroups, c, tc_format("%s (%s)", barrier, place->own ? place->own : place->mount),
            tc_format(
                "run as root, or let root make a writable group for this user "
                "below %s and start the host in it; in a container, mount the groups writable",
                place->mount));
}

static bool swap_unaccounted(const struct tc_cgroups *cgroups)
{
    _autofd_ int dir =
        open(cgroups->places.v1[TC_CGROUP_MEMORY].own, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return !cgroups->unswapped && faccessat(dir, "memory.memsw.limit_in_bytes", F_OK, 0) != 0;
}

static void v1_find(struct tc_cgroups *cgroups)
{
    for (int c = 0; c < TC_CGROUP_CONTROLLERS; c++) {
        find_one(cgroups, c);
        free(cgroups->base[c]);
        cgroups->base[c] = NULL;
        if (!cgroups->state[c].mechanism)
            continue;
        cgroups->base[c] = strdup(cgroups->places.v1[c].own);
        if (!cgroups->base[c])
            tc_cgroups_unusable(cgroups, c, NULL, NULL);
    }
    if (cgroups->state[TC_CGROUP_MEMORY].mechanism && swap_unaccounted(cgroups))
        tc_cgroups_unusable(cgroups, TC_CGROUP_MEMORY,
                            strdup("swap space is in use and the kernel does not account for it"),
                            strdup("boot with swapaccount=1, or turn swap off (swapoff -a)"));
}

/* Several controllers, such as cpu and cpuacct, may be one mount: the first owns the directory. */
static bool shared_with_earlier(const struct tc_cgroups *cgroups, int c)
{
    for (int earlier = 0; earlier < c; earlier++) {
        if (cgroups->base[earlier] && tc_streq(cgroups->base[earlier], cgroups->base[c]))
            return true;
    }
    return false;
}

/* Every hierarchy costs time in every call, and calls with a share of CPUs are rare. */
static bool is_needed(const struct tc_cgroups *cgroups, const struct tc_cgroup_limits *limits,
                      int c)
{
    bool shared = shared_with_earlier(cgroups, TC_CGROUP_CPUACCT);
    return cgroups->base[c] && !shared_with_earlier(cgroups, c) &&
           (c != TC_CGROUP_CPU || limits->cpus_milli || shared);
}

/* Our directories are made with the first group that needs them. */
static int v1_start(struct tc_cgroups *cgroups, const char **ret_what)
{
    return (void)cgroups, (void)ret_what, 0;
}

static int open_own(struct tc_cgroups *cgroups, int c)
{
    _autofd_ int base = open(cgroups->base[c], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (base < 0 || (cgroups->make_dir(base, cgroups->name) < 0 && errno != EEXIST))
        return -1;
    cgroups->own[c] = openat(base, cgroups->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return cgroups->own[c] < 0 ? -1 : flock(cgroups->own[c], LOCK_EX | LOCK_NB);
}

/* Signals an out-of-memory kill. Obsolete, but the only way in version 1. */
static int watch_oom(struct tc_cgroup *group)
{
    int dir = group->dirs[TC_CGROUP_MEMORY];
    group->oom_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    group->oom_file = openat(dir, "memory.oom_control", O_RDONLY | O_CLOEXEC);
    if (group->oom_fd < 0 || group->oom_file < 0)
        return -1;
    _autofree_ char *text = tc_format("%d %d", group->oom_fd, group->oom_file);
    return text ? tc_write_file(dir, "cgroup.event_control", text) : -1;
}

static int v1_make(struct tc_cgroup *group, const char **ret_what)
{
    struct tc_cgroups *cgroups = group->owner;
    for (int c = 0; c < TC_CGROUP_CONTROLLERS; c++) {
        if (!is_needed(cgroups, &group->limits, c))
            continue;
        *ret_what = cgroups->base[c];
        if (cgroups->own[c] < 0 && open_own(cgroups, c) < 0)
            return -1;
        if (cgroups->make_dir(cgroups->own[c], group->name) < 0)
            return -1;
        group->dirs[c] = openat(cgroups->own[c], group->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (group->dirs[c] < 0)
            return -1;
    }
    *ret_what = "memory.oom_control";
    return group->dirs[TC_CGROUP_MEMORY] >= 0 ? watch_oom(group) : 0;
}

/* The directory with a controller's files. */
static int dir_of(const struct tc_cgroup *group, int c)
{
    const struct tc_cgroups *cgroups = group->owner;
    if (group->dirs[c] >= 0 || !cgroups->base[c])
        return group->dirs[c];
    for (int earlier = 0; earlier < c; earlier++) {
        if (cgroups->base[earlier] && tc_streq(cgroups->base[earlier], cgroups->base[c]))
            return group->dirs[earlier];
    }
    return -1;
}

/* memory <= memory + swap must hold at every moment: the order depends on the direction. */
static int limit_memory(struct tc_cgroup *group)
{
    static const char plain[] = "memory.limit_in_bytes", both[] = "memory.memsw.limit_in_bytes";
    int dir = group->dirs[TC_CGROUP_MEMORY];
    if (!group->taken)
        group->residue = tc_cgroup_number(dir, "memory.usage_in_bytes", NULL);
    if (group->residue < 0)
        return -1;
    int64_t limit = group->limits.memory ? group->limits.memory + group->residue : 0;
    bool accounted = faccessat(dir, both, F_OK, 0) == 0;
    if (!accounted && errno != ENOENT)
        return -1;
    bool raising = accounted && (!limit || tc_cgroup_number(dir, both, NULL) < limit);
    if (raising && tc_cgroup_put(dir, both, limit, "-1") < 0)
        return -1;
    if (tc_cgroup_put(dir, plain, limit, "-1") < 0)
        return -1;
    if (accounted && !raising && tc_cgroup_put(dir, both, limit, "-1") < 0)
        return -1;
    return group->taken ? 0 : tc_write_file(dir, "memory.max_usage_in_bytes", "0");
}

static int limit_cpu(int dir, int64_t cpus_milli)
{
    /* the kernel accepts no quota below a millisecond, so small shares get a long period */
    bool tiny = cpus_milli && cpus_milli < 10;
    /* no quota while the period changes: their ratio must be legal at every moment */
    if (tc_write_file(dir, "cpu.cfs_quota_us", "-1") < 0 ||
        tc_cgroup_put(dir, "cpu.cfs_period_us", tiny ? 1000000 : 100000, "") < 0)
        return -1;
    return tc_cgroup_put(dir, "cpu.cfs_quota_us", cpus_milli * (tiny ? 1000 : 100), "-1");
}

static int v1_limit(struct tc_cgroup *group, const char **ret_what)
{
    int pids = dir_of(group, TC_CGROUP_PIDS), cpu = dir_of(group, TC_CGROUP_CPU);
    const struct tc_cgroup_limits *limits = &group->limits;
    *ret_what = "memory.limit_in_bytes";
    if (group->dirs[TC_CGROUP_MEMORY] >= 0 && limit_memory(group) < 0)
        return -1;
    *ret_what = "pids.max";
    if (pids >= 0 && tc_cgroup_put(pids, "pids.max", limits->pids, "max") < 0)
        return -1;
    *ret_what = "cpu.cfs_quota_us";
    errno = ENOENT;
    return cpu >= 0 ? limit_cpu(cpu, limits->cpus_milli) : limits->cpus_milli ? -1 : 0;
}

static void v1_count(const struct tc_cgroup *group, struct tc_cgroup_counters *ret)
{
    int64_t ns = tc_cgroup_number(dir_of(group, TC_CGROUP_CPUACCT), "cpuacct.usage", NULL);
    int pids = dir_of(group, TC_CGROUP_PIDS);
    *ret = (struct tc_cgroup_counters){
        .cpu_us = ns < 0 ? -1 : ns / 1000,
        .oom_kills =
            tc_cgroup_number(group->dirs[TC_CGROUP_MEMORY], "memory.oom_control", "oom_kill"),
        .pids_refused = tc_cgroup_number(pids, "pids.events", "max"),
        .pids_peak = tc_cgroup_number(pids, "pids.peak", NULL),
    };
}

static int64_t v1_peak(const struct tc_cgroup *group)
{
    int64_t peak =
        tc_cgroup_number(group->dirs[TC_CGROUP_MEMORY], "memory.max_usage_in_bytes", NULL);
    if (peak < 0)
        return -1;
    return peak > group->residue ? peak - group->residue : 0;
}

static int v1_kill(struct tc_cgroup *group)
{
    /* With a pids limit of 0, a fork bomb cannot outrun the killing. The next call sets its own
     * limit. */
    int pids = dir_of(group, TC_CGROUP_PIDS);
    if (pids >= 0)
        (void)tc_write_file(pids, "pids.max", "0");
    for (int c = 0; c < TC_CGROUP_CONTROLLERS; c++) {
        if (group->dirs[c] >= 0 && tc_cgroup_kill_procs(group->dirs[c]) < 0)
            return -1;
    }
    return 0;
}

static bool v1_drain(struct tc_cgroup *group)
{
    uint64_t count;
    return read(group->oom_fd, &count, sizeof(count)) == sizeof(count);
}

static bool v1_clean(struct tc_cgroup *group)
{
    for (int c = 0; c < TC_CGROUP_CONTROLLERS; c++) {
        if (group->dirs[c] >= 0 && !tc_cgroup_empty(group->dirs[c]))
            return false;
    }
    /* unreaped zombies are in no list of processes, but count against the limit */
    int pids = dir_of(group, TC_CGROUP_PIDS);
    int64_t living = pids < 0 ? 0 : tc_cgroup_number(pids, "pids.current", NULL);
    if (living != 0)
        return false;
    int dir = group->dirs[TC_CGROUP_MEMORY];
    if (dir < 0)
        return true;
    if (tc_write_file(dir, "memory.force_empty", "0") < 0)
        return false;
    int64_t left = tc_cgroup_number(dir, "memory.usage_in_bytes", NULL);
    return left >= 0 && left <= RESIDUE_MAX;
}

static bool v1_drop(struct tc_cgroup *group)
{
    bool gone = true;
    for (int c = 0; c < TC_CGROUP_CONTROLLERS; c++) {
        if (group->owner->own[c] < 0)
            continue;
        bool removed = group->owner->remove_dir(group->owner->own[c], group->name) == 0;
        gone = gone && (removed || errno == ENOENT);
    }
    return gone;
}

const struct tc_cgroup_version tc_cgroup_v1 = {
    .mechanism = "cgroup v1",
    .find = v1_find,
    .start = v1_start,
    .make = v1_make,
    .limit = v1_limit,
    .count = v1_count,
    .peak = v1_peak,
    .kill = v1_kill,
    .drain = v1_drain,
    .clean = v1_clean,
    .drop = v1_drop,
    .oom_events = EPOLLIN,
};
