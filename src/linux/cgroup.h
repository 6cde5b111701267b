/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Cgroups, independent of policy: one interface to version 2, version 1 and hosts that have both. A
 * group serves one call at a time.
 *
 * Version 2 gives a fresh leaf into which a cage is cloned (CLONE_INTO_CGROUP); one leaf is made in
 * advance. Version 1 cannot clone into a group, and counts in it cannot be reset: the clone enters
 * the group itself, and an empty group is reused.
 *
 * Single-threaded, except for tc_cgroups_sweep(), which another thread may call meanwhile: it
 * reads only members that do not change after opening. No directory is searched for or made
 * before the first call that needs it. */
#ifndef TC_LINUX_CGROUP_H
#define TC_LINUX_CGROUP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

enum tc_cgroup_controller {
    TC_CGROUP_MEMORY,
    TC_CGROUP_PIDS,
    TC_CGROUP_CPU,     /* shares of CPUs */
    TC_CGROUP_CPUACCT, /* CPU time used; always available with version 2 */
    TC_CGROUP_CONTROLLERS,
};

struct tc_cgroups;
struct tc_cgroup;

struct tc_cgroup_limits {
    int64_t memory;     /* bytes, private tmpfs already added; 0: unlimited */
    int64_t pids;       /* 0: unlimited */
    int64_t cpus_milli; /* thousandths of a CPU; 0: unlimited */
};

/* Is there any limit? */
static inline bool tc_cgroup_limits_any(const struct tc_cgroup_limits *limits)
{
    return limits->memory || limits->pids || limits->cpus_milli;
}

/* Usage since the take; -1: unknown. */
struct tc_cgroup_usage {
    int64_t cpu_us;
    int64_t memory_peak;
    int64_t pids_peak;
    int64_t oom_kills;
    int64_t pids_refused;
};

/* Whether one controller works on this host. Strings live as long as the tc_cgroups. */
struct tc_cgroup_state {
    const char *mechanism; /* "cgroup v2", "cgroup v1", or NULL: it does not work */
    const char *reason;    /* why not */
    const char *fix;
};

/* Finds where this process may make groups; makes none. mounts: contents of
 * /proc/self/mountinfo, or NULL: the file is read. 0, or negative with *err if memory is
 * exhausted. On a host without cgroups it succeeds, too, and each controller has a reason. */
int tc_cgroups_open(const char *mounts, struct tc_cgroups **ret, struct toolcage_error **err);
/* Kills and removes every group made here. NULL is fine. */
void tc_cgroups_close(struct tc_cgroups *cgroups);
struct tc_cgroup_state tc_cgroups_describe(const struct tc_cgroups *cgroups,
                                           enum tc_cgroup_controller controller);
bool tc_cgroups_has(const struct tc_cgroups *cgroups, enum tc_cgroup_controller controller);
/* Removes groups of dead owners; returns the number of removed directories. From any thread. */
unsigned tc_cgroups_sweep(struct tc_cgroups *cgroups);

/* A group with the limits set. TOOLCAGE_EUNENFORCEABLE, with reason and fix, when a limit's
 * controller does not work. The caller gives it back with tc_cgroup_give(). */
int tc_cgroup_take(struct tc_cgroups *cgroups, const struct tc_cgroup_limits *limits,
                   struct tc_cgroup **ret, struct toolcage_error **err);
/* Sets other limits, while processes are in the group. 0, or -1 with errno. */
int tc_cgroup_limit(struct tc_cgroup *group, const struct tc_cgroup_limits *limits);
/* Returns the group after the call: NULL always. A group that cannot be proven empty is
 * discarded: its processes are killed, its directories removed now or at the close. */
struct tc_cgroup *tc_cgroup_give(struct tc_cgroup *group);

/* For CLONE_INTO_CGROUP; -1 with version 1: then the clone must enter it. Borrowed. */
int tc_cgroup_fd(const struct tc_cgroup *group);
/* Moves a process into the group, in every hierarchy; 0, or -1 with errno. */
int tc_cgroup_join(struct tc_cgroup *group, pid_t pid);

/* Moves the calling thread into a version 1 group; its process must have no other thread. 0, or -1
 * with errno. */
int tc_cgroup_enter(const struct tc_cgroup *group);

/* A file descriptor that signals an out-of-memory kill, and the epoll events to wait for; -1
 * when there is none (no memory limit). Borrowed. */
int tc_cgroup_oom_fd(const struct tc_cgroup *group, uint32_t *ret_events);
/* Call when that fd is ready: drains it. Has any process been killed for memory since the take? */
bool tc_cgroup_oomed(struct tc_cgroup *group);
/* Samples the number of processes and threads, for pids_peak where the kernel does not count it. */
void tc_cgroup_sample(struct tc_cgroup *group);
void tc_cgroup_usage(struct tc_cgroup *group, struct tc_cgroup_usage *ret);
/* Kills all processes in the group; 0, or -1 with errno. */
int tc_cgroup_kill(struct tc_cgroup *group);

#endif
