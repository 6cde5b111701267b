/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What cgroup.c shares with its two versions and their tests. */
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

/* From the texts of /proc/self/cgroup and /proc/self/mountinfo. false: out of memory. */
bool tc_cgroup_places_parse(const char *groups, const char *mounts, struct tc_cgroup_places *ret);
void tc_cgroup_places_done(struct tc_cgroup_places *places);

/* "memory", "pids", "cpu", "cpuacct" */
const char *tc_cgroup_controller_name(enum tc_cgroup_controller controller);
/* Is the word in the list of words parted by any character of `separators`? */
bool tc_cgroup_has_word(const char *list, const char *separators, const char *word);

/* ---- cgroup.c ---- */

/* What a version counts for one group, as absolute values; -1: unknown. */
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
    bool taken, stale;    /* stale: to be removed as soon as the kernel lets it */
    struct tc_cgroup_limits limits;
    struct tc_cgroup_counters start;
    int64_t residue;      /* v1: bytes charged before the call, by the resident */
    int64_t pids_sampled; /* highest sample since the take */
    pid_t resident;       /* 0: none */
    tc_cgroup_discard discard;
    void *userdata;
};

struct tc_cgroup_version {
    const char *mechanism;
    /* Fills cgroups->state and the directory to make ours in; makes nothing. */
    void (*find)(struct tc_cgroups *cgroups);
    /* Makes our directories. -1 with errno and *ret_what naming the file. */
    int (*start)(struct tc_cgroups *cgroups, const char **ret_what);
    /* Makes a group, opens its directories. As above. */
    int (*make)(struct tc_cgroup *group, const char **ret_what);
    int (*limit)(struct tc_cgroup *group, const char **ret_what);
    void (*count)(const struct tc_cgroup *group, struct tc_cgroup_counters *ret);
    int64_t (*peak)(const struct tc_cgroup *group); /* of memory since the take; -1: unknown */
    int (*kill)(struct tc_cgroup *group);
    bool (*drain)(struct tc_cgroup *group); /* the out-of-memory descriptor */
    /* Ready for another call? false: discard it. */
    bool (*clean)(struct tc_cgroup *group);
    /* Removes the group's directories; false while the kernel refuses. */
    bool (*drop)(struct tc_cgroup *group);
    uint32_t oom_events;
};

extern const struct tc_cgroup_version tc_cgroup_v1, tc_cgroup_v2;

struct tc_cgroups {
    struct tc_cgroup_places places;
    const struct tc_cgroup_version *version; /* NULL: none works here */
    struct tc_cgroup_state state[TC_CGROUP_CONTROLLERS];
    char *texts[TC_CGROUP_CONTROLLERS * 2]; /* owned reasons and fixes */
    char *base[TC_CGROUP_CONTROLLERS];      /* where our directory goes; v2: only the first */
    int own[TC_CGROUP_CONTROLLERS];         /* our directories, once started */
    char name[64];                          /* of our directories: toolcage-PID-STARTTIME-BOOT */
    bool started;
    unsigned serial;
    struct tc_cgroup *groups; /* all that exist: taken, free, stale */
    /* seams for a fake tree: directories there do not fill and empty themselves */
    int (*make_dir)(int dirfd, const char *name);
    int (*remove_dir)(int dirfd, const char *name);
    bool unswapped; /* no swap space is configured */
};

/* As tc_cgroups_open, from given texts. */
int tc_cgroups_open_texts(const char *groups, const char *mounts, struct tc_cgroups **ret,
                          struct toolcage_error **err);

/* Says that a controller does not work. Texts are formatted by the caller, taken (NULL: no memory).
 */
void tc_cgroups_unusable(struct tc_cgroups *cgroups, enum tc_cgroup_controller controller,
                         char *reason, char *fix);
/* The first number in a small file of a group, or of the line that starts with `key`; -1 when there
 * is none. */
int64_t tc_cgroup_number(int dir, const char *file, const char *key);
/* Writes a number, or `unlimited` for 0. 0, or -1 with errno. */
int tc_cgroup_put(int dir, const char *file, int64_t value, const char *unlimited);
/* Kills all in dir/cgroup.procs but `spare`, until none is left or it stops helping. */
int tc_cgroup_kill_procs(int dir, pid_t spare);
/* Is nothing in dir/cgroup.procs but `spare`? */
bool tc_cgroup_empty(int dir, pid_t spare);
/* Why a directory cannot be used to make groups in: a static text, or NULL when it can. */
const char *tc_cgroup_barrier(const char *dir);

#endif
