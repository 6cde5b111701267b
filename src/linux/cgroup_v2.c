/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Cgroups, version 2: one hierarchy. Our directory is made in the nearest ancestor that may
 * enable controllers for children: a group that contains processes may not (the root may), and
 * the limits of every group above must continue to apply. Each call gets a fresh leaf, so
 * counters need no reset. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/strv.h"
#include "linux/cgroup_impl.h"

/* All files of a leaf are in one directory. */
enum { LEAF = TC_CGROUP_MEMORY };

/* What one directory offers as a base. */
struct offer {
    const char *barrier; /* no group can be made here */
    bool busy;           /* it contains processes, so it cannot enable more controllers */
    bool fixed;          /* we may not write its subtree_control */
    bool present[TC_CGROUP_CONTROLLERS]; /* the controller is available here */
    bool usable[TC_CGROUP_CONTROLLERS];
};

/* Which controllers a file of the directory lists. */
static void read_list(int dir, const char *file, bool ret[TC_CGROUP_CONTROLLERS])
{
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    bool read = tc_read_file(dir, file, &text) == 0 && text.data;
    for (int c = 0; c < TC_CGROUP_CONTROLLERS; c++)
        ret[c] = read && tc_cgroup_has_word(text.data, " \n", tc_cgroup_controller_name(c));
}

static void look_at_group(const char *path, struct offer *ret)
{
    *ret = (struct offer){.barrier = tc_cgroup_barrier(path)};
    _autofd_ int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return;
    /* CLONE_INTO_CGROUP needs the same right as moving a process: write access to cgroup.procs
     * of the common ancestor, which this directory is. */
    if (!ret->barrier && faccessat(dir, "cgroup.procs", W_OK, AT_EACCESS) != 0)
        ret->barrier = "this user may not put processes into groups";
    bool root = faccessat(dir, "cgroup.events", F_OK, 0) != 0;
    ret->busy = !root && !tc_cgroup_empty(dir);
    ret->fixed = faccessat(dir, "cgroup.subtree_control", W_OK, AT_EACCESS) != 0;
    bool handed[TC_CGROUP_CONTROLLERS];
    read_list(dir, "cgroup.controllers", ret->present);
    read_list(dir, "cgroup.subtree_control", handed);
    for (int c = TC_CGROUP_MEMORY; c <= TC_CGROUP_CPU; c++)
        ret->usable[c] =
            !ret->barrier && ret->present[c] && (handed[c] || (!ret->busy && !ret->fixed));
}

static int worth(const struct offer *offer)
{
    return offer->usable[TC_CGROUP_MEMORY] * 4 + offer->usable[TC_CGROUP_PIDS] * 2 +
           offer->usable[TC_CGROUP_CPU];
}

/* The nearest directory, from our group up to the mount, that offers the most controllers. NULL:
 * none offers any, or out of memory; *ret is then the offer of our group. */
static char *choose_base(const struct tc_cgroup_place *place, struct offer *ret)
{
    _autofree_ char *best = NULL, *at = strdup(place->own);
    for (bool own = true; at && tc_path_within(place->mount, at); own = false) {
        struct offer offer;
        look_at_group(at, &offer);
        if (own)
            *ret = offer;
        if (worth(&offer) > (best ? worth(ret) : 0)) {
            *ret = offer;
            free(best);
            best = strdup(at);
        }
        if (tc_streq(at, place->mount))
            break;
        char *up = tc_path_parent(at);
        free(at);
        at = up;
    }
    return TAKE(best);
}

static void refuse_controller(struct tc_cgroups *cgroups, enum tc_cgroup_controller c,
                              const struct offer *offer)
{
    const struct tc_cgroup_place *place = &cgroups->places.v2;
    const char *name = tc_cgroup_controller_name(c), *own = place->own ? place->own : place->mount;
    if (!place->mount)
        tc_cgroups_unusable(cgroups, c, strdup("no cgroup file system is mounted"),
                            strdup("mount -t cgroup2 none /sys/fs/cgroup"));
    else if (!place->own)
        tc_cgroups_unusable(
            cgroups, c,
            tc_format("the cgroup of this process is not visible below %s", place->mount),
            strdup("give the container its own cgroup namespace and mount"));
    else if (offer->barrier)
        tc_cgroups_unusable(
            cgroups, c, tc_format("%s (%s)", offer->barrier, own),
            strdup("start the host in a delegated group: systemd-run --user --scope -p "
                   "Delegate=yes …; in a container, mount the groups writable"));
    else if (!offer->present[c])
        tc_cgroups_unusable(
            cgroups, c, tc_format("the %s controller is not enabled for %s", name, own),
            tc_format("enable it from above: echo +%s > cgroup.subtree_control in each "
                      "parent; with systemd: Delegate=%s",
                      name, name));
    else
        tc_cgroups_unusable(
            cgroups, c,
            tc_format("%s contains processes and so cannot enable the %s controller for children",
                      own, name),
            strdup(
                "start the host in a child group of a delegated one: systemd-run --user --scope -p "
                "Delegate=yes …, or move it to a group below"));
}

static void v2_find(struct tc_cgroups *cgroups)
{
    const struct tc_cgroup_place *place = &cgroups->places.v2;
    struct offer offer = {0};
    for (int c = 0; c < TC_CGROUP_CONTROLLERS; c++) {
        free(cgroups->base[c]);
        cgroups->base[c] = NULL;
    }
    if (place->own)
        cgroups->base[LEAF] = choose_base(place, &offer);
    for (int c = TC_CGROUP_MEMORY; c <= TC_CGROUP_CPU; c++) {
        cgroups->state[c] = (struct tc_cgroup_state){.mechanism = "cgroup v2"};
        if (!cgroups->base[LEAF] || !offer.usable[c])
            refuse_controller(cgroups, c, &offer);
    }
    /* CPU time is counted in every group, without a controller */
    cgroups->state[TC_CGROUP_CPUACCT] = (struct tc_cgroup_state){.mechanism = "cgroup v2"};
    if (!cgroups->base[LEAF])
        refuse_controller(cgroups, TC_CGROUP_CPUACCT, &offer);
}

/* Enables the controllers for the children of `dir`. One write each: a failing one must not
 * block the others. */
static int hand_on(const struct tc_cgroups *cgroups, int dir)
{
    bool handed[TC_CGROUP_CONTROLLERS];
    read_list(dir, "cgroup.subtree_control", handed);
    for (int c = TC_CGROUP_MEMORY; c <= TC_CGROUP_CPU; c++) {
        const char *name = tc_cgroup_controller_name(c);
        if (!cgroups->state[c].mechanism || handed[c])
            continue;
        char text[16] = "+";
        tc_strcopy(text + 1, sizeof(text) - 1, name);
        if (tc_write_file(dir, "cgroup.subtree_control", text) < 0)
            return -1;
    }
    return 0;
}

static int v2_start(struct tc_cgroups *cgroups, const char **ret_what)
{
    *ret_what = cgroups->base[LEAF];
    _autofd_ int base = open(cgroups->base[LEAF], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (base < 0 || hand_on(cgroups, base) < 0)
        return -1;
    if (cgroups->own[LEAF] < 0) {
        if (cgroups->make_dir(base, cgroups->name) < 0 && errno != EEXIST)
            return -1;
        cgroups->own[LEAF] = openat(base, cgroups->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (cgroups->own[LEAF] < 0 || flock(cgroups->own[LEAF], LOCK_EX | LOCK_NB) < 0)
            return -1;
    }
    return hand_on(cgroups, cgroups->own[LEAF]);
}

static int v2_make(struct tc_cgroup *group, const char **ret_what)
{
    struct tc_cgroups *cgroups = group->owner;
    *ret_what = cgroups->base[LEAF];
    if (cgroups->make_dir(cgroups->own[LEAF], group->name) < 0)
        return -1;
    group->dirs[LEAF] = openat(cgroups->own[LEAF], group->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (group->dirs[LEAF] < 0)
        return -1;
    if (!cgroups->state[TC_CGROUP_MEMORY].mechanism)
        return 0;
    *ret_what = "memory.events";
    group->oom_fd = openat(group->dirs[LEAF], "memory.events", O_RDONLY | O_CLOEXEC);
    return group->oom_fd < 0 ? -1 : 0;
}

static int limit_memory(const struct tc_cgroup *group, const char **ret_what)
{
    int dir = group->dirs[LEAF];
    *ret_what = "memory.max";
    if (tc_cgroup_put(dir, "memory.max", group->limits.memory, "max") < 0)
        return -1;
    /* absent where the kernel does not account for swap: then there must be no swap */
    *ret_what = "memory.swap.max";
    if (group->limits.memory && tc_write_file(dir, "memory.swap.max", "0") < 0 &&
        !(errno == ENOENT && group->owner->unswapped))
        return -1;
    *ret_what = "memory.oom.group";
    return tc_write_file(dir, "memory.oom.group", "1");
}

static int limit_cpu(const struct tc_cgroup *group)
{
    int64_t milli = group->limits.cpus_milli;
    if (!milli)
        return tc_write_file(group->dirs[LEAF], "cpu.max", "max 100000");
    /* the kernel accepts no quota below a millisecond, so small shares get a long period */
    bool tiny = milli < 10;
    _autofree_ char *text =
        tc_format("%lld %d", (long long)milli * (tiny ? 1000 : 100), tiny ? 1000000 : 100000);
    return text ? tc_write_file(group->dirs[LEAF], "cpu.max", text) : -1;
}

static int v2_limit(struct tc_cgroup *group, const char **ret_what)
{
    const struct tc_cgroup_state *state = group->owner->state;
    if (state[TC_CGROUP_MEMORY].mechanism && limit_memory(group, ret_what) < 0)
        return -1;
    *ret_what = "pids.max";
    if (state[TC_CGROUP_PIDS].mechanism &&
        tc_cgroup_put(group->dirs[LEAF], "pids.max", group->limits.pids, "max") < 0)
        return -1;
    *ret_what = "cpu.max";
    return state[TC_CGROUP_CPU].mechanism ? limit_cpu(group) : 0;
}

static void v2_count(const struct tc_cgroup *group, struct tc_cgroup_counters *ret)
{
    int dir = group->dirs[LEAF];
    *ret = (struct tc_cgroup_counters){
        .cpu_us = tc_cgroup_number(dir, "cpu.stat", "usage_usec"),
        .oom_kills = tc_cgroup_number(dir, "memory.events", "oom_kill"),
        .pids_refused = tc_cgroup_number(dir, "pids.events", "max"),
        .pids_peak = tc_cgroup_number(dir, "pids.peak", NULL),
    };
}

static int64_t v2_peak(const struct tc_cgroup *group)
{
    return tc_cgroup_number(group->dirs[LEAF], "memory.peak", NULL); /* absent before 5.19 */
}

static int v2_kill(struct tc_cgroup *group)
{
    if (tc_write_file(group->dirs[LEAF], "cgroup.kill", "1") == 0)
        return 0;
    /* Before 5.14. With a pids limit of 0, a fork bomb cannot outrun the killing. */
    (void)tc_write_file(group->dirs[LEAF], "pids.max", "0");
    return tc_cgroup_kill_procs(group->dirs[LEAF]);
}

/* The file counts as changed until it is read; a poll before the first read returns at once. */
static bool v2_drain(struct tc_cgroup *group)
{
    char text[512];
    ssize_t n = pread(group->oom_fd, text, sizeof(text), 0);
    return n < 0; /* other events signal, too: the counters decide, unless they cannot be read */
}

static bool v2_clean(struct tc_cgroup *group)
{
    return false; /* a leaf is used once */
}

static bool v2_drop(struct tc_cgroup *group)
{
    return group->owner->remove_dir(group->owner->own[LEAF], group->name) == 0 || errno == ENOENT;
}

const struct tc_cgroup_version tc_cgroup_v2 = {
    .mechanism = "cgroup v2",
    .find = v2_find,
    .start = v2_start,
    .make = v2_make,
    .limit = v2_limit,
    .count = v2_count,
    .peak = v2_peak,
    .kill = v2_kill,
    .drain = v2_drain,
    .clean = v2_clean,
    .drop = v2_drop,
    .oom_events = EPOLLPRI,
};
