/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Internals that cgroup.c shares with its two versions and their tests. */
#ifndef TC_LINUX_CGROUP_IMPL_H
#define TC_LINUX_CGROUP_IMPL_H

#include "linux/cgroup.h"

/* ---- cgroup_places.c ---- */

struct tc_cgroup_place {
    char *mount; /* mount point of the hierarchy; NULL: not mounted */
    char *own;   /* directory of this process's group in it; NULL: not below the mount */
};

struct tc_cgroup_places {
    struct tc_cgroup_place v1[TC_CGROUP_CONTROLLERS];
    struct tc_cgroup_place v2;
};

/* From the contents of /proc/self/cgroup and /proc/self/mountinfo. false: out of memory. */
bool tc_cgroup_places_parse(const char *groups, const char *mounts, struct tc_cgroup_places *ret);
void tc_cgroup_places_done(struct tc_cgroup_places *places);

/* "memory", "pids", "cpu", "cpuacct" */
const char *tc_cgroup_controller_name(enum tc_cgroup_controller controller);
/* Is the word in the list, whose words are separated by any character of `separators`? */
bool tc_cgroup_has_word(const char *list, const char *separators, const char *word);

/* ---- cgroup.c ---- */

/* Counters of one group, as absolute values; -1: unknown. */
struct tc_cgroup_counters {
    int64_t cpu_us, oom_kills, pids_refused, pids_peak;
};

struct tc_cgroup {
    struct tc_cgroups *owner;
    struct tc_cgroup *next;
    char name[16];
    int dirs[TC_CGROUP_CONTROLLERS]; /* v2: only the first; v1: -1 where missing or the same as
                                        another */
    int oom_fd, oom_file; /* v1: eventfd and the file it watches; v2: memory.events, -1 */
    bool taken, stale;    /* stale: remove as soon as the kernel allows it */
    bool limited;         /* limits were written; false: it has the kernel's, which are none */
    struct tc_cgroup_limits limits;
    struct tc_cgroup_counters start;
    int64_t residue;      /* v1: bytes charged before the call */
    int64_t pids_sampled; /* highest sample since the take */
};

struct tc_cgroup_version {
    const char *mechanism;
    /* Fills cgroups->state and the directory to make our groups in; makes nothing. */
    void (*find)(struct tc_cgroups *cgroups);
    /* Makes our directories. -1 with errno and *ret_what naming the file. */
    int (*start)(struct tc_cgroups *cgroups, const char **ret_what);
    /* Makes a group, opens its directories. As above. */
    int (*make)(struct tc_cgroup *group, const char **ret_what);
    int (*limit)(struct tc_cgroup *group, const char **ret_what);
    void (*count)(const struct tc_cgroup *group, struct tc_cgroup_counters *ret);
    int64_t (*peak)(const struct tc_cgroup *group); /* of memory since the take; -1: unknown */
    int (*kill)(struct tc_cgroup *group);
    bool (*drain)(struct tc_cgroup *group); /* the out-of-memory fd */
    /* Ready for another call? false: discard it. */
    bool (*clean)(struct tc_cgroup *group);
    /* Removes the group's directories; false when the kernel refuses. */
    bool (*drop)(struct tc_cgroup *group);
    uint32_t oom_events;
};

extern const struct tc_cgroup_version tc_cgroup_v1, tc_cgroup_v2;

struct tc_cgroups {
    struct tc_cgroup_places places;
    const struct tc_cgroup_version *version; /* NULL: none works here */
    struct tc_cgroup_state state[TC_CGROUP_CONTROLLERS];
    char *texts[TC_CGROUP_CONTROLLERS * 2]; /* owned reasons and fixes */
    char *base[TC_CGROUP_CONTROLLERS];      /* parent of our directory; v2: only the first */
    int own[TC_CGROUP_CONTROLLERS];         /* our directories, once started */
    char name[64];                          /* of our directories: toolcage-PID-STARTTIME-BOOT */
    bool started;
    unsigned serial;
    struct tc_cgroup *groups; /* all that exist: taken, free, stale */
    /* hooks for a fake tree in tests: its directories do not fill and empty themselves */
    int (*make_dir)(int dirfd, const char *name);
    int (*remove_dir)(int dirfd, const char *name);
    bool unswapped; /* no swap space is configured */
};

/* As tc_cgroups_open, from the given file contents. */
int tc_cgroups_open_texts(const char *groups, const char *mounts, struct tc_cgroups **ret,
                          struct toolcage_error **err);

/* Marks a controller as not working. The strings are formatted by the caller and taken (NULL: no
 * memory). */
void tc_cgroups_unusable(struct tc_cgroups *cgroups, enum tc_cgroup_controller controller,
                         char *reason, char *fix);
/* The first number in a small file of a group, or of its line that starts with `key`; -1 when
 * there is none. */
int64_t tc_cgroup_number(int dir, const char *file, const char *key);
/* Writes a number, or `unlimited` for 0. 0, or -1 with errno. */
int tc_cgroup_put(int dir, const char *file, int64_t value, const char *unlimited);
/* Kills all processes in dir/cgroup.procs, until none is left or no progress is
 * made. */
int tc_cgroup_kill_procs(int dir);
/* Is dir/cgroup.procs empty? */
bool tc_cgroup_empty(int dir);
/* Why no groups can be made in a directory: a static string, or NULL when they can. */
const char *tc_cgroup_barrier(const char *dir);

#endif
