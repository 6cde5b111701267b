/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The process backend inside the helper: what it keeps for the helper's life, and what it keeps for
 * one cage. */
#ifndef TC_PROCESS_PROCESS_H
#define TC_PROCESS_PROCESS_H

#include <sys/stat.h>

#include "backend/backend.h"
#include "backend/process/box.h"
#include "base/arena.h"
#include "linux/cgroup.h"
#include "linux/ids.h"
#include "linux/resolve.h"

enum { TC_SHELF_PLACES = 8 };

/* ---- host.c: once a helper
 * ----------------------------------------------------------------------- */

struct tc_idmap {
    uid_t file_uid, cage_uid;
    gid_t file_gid, cage_gid;
    int fd;
    pid_t carrier; /* a dying child of ours, or -1 */
};

struct tc_process_host {
    bool ready;
    bool privileged; /* root: cages get leased ids and id-mapped mounts */
    uid_t uid;       /* the caller's */
    gid_t gid;
    int landlock_abi;
    struct tc_ids ids;
    struct tc_idmap *idmaps;
    size_t idmap_count;
    struct tc_cgroups *cgroups;
    bool swept; /* leftovers of dead helpers were looked for */
    /* A tmpfs at a place where no grant leads: prepared roots stand on it, and beside them an
     * unreadable file and directory to put over denied names. */
    int shelf;
    int mask_file, mask_dir; /* O_PATH */
};

/* Enters the helper's own mount namespace (an ordinary caller's: with a user namespace around it),
 * once. 0, or -1 with the failure written. */
int tc_process_host_get(struct tc_outcome *outcome, struct tc_process_host **ret);
/* The same when it was entered already, else NULL. */
struct tc_process_host *tc_process_host_opened(void);
/* A user namespace descriptor for id-mapped mounts of files with this owner; borrowed; -1 with
 * errno. */
int tc_process_idmap(struct tc_process_host *host, uid_t file_uid, gid_t file_gid, uid_t cage_id);
/* Reaps the children that carried them; they died long before a call ends. */
void tc_process_reap_carriers(struct tc_process_host *host);

/* ---- root.c: prepared roots
 * ---------------------------------------------------------------------- */

/* What a root must contain beside the system directories: mount points and made files. */
struct tc_root_point {
    const char *path; /* clean, absolute */
    bool directory;
};

struct tc_root_spec {
    const struct tc_plan *plan; /* SYSTEM, COPY and FILE mounts are built in */
    const struct tc_root_point *points;
    size_t point_count;
    uid_t uid; /* for passwd and group */
    gid_t gid;
};

/* Builds a root that has no mount points yet, for the first call that fits. */
void tc_root_ahead(int shelf, const struct tc_root_spec *spec);
/* A detached, read-only copy of a root; built once for each different spec. -1 with *ret_step. */
int tc_root_open(int shelf, const struct tc_root_spec *spec, const char **ret_step);

/* ---- one cage
 * ------------------------------------------------------------------------------------- */

/* A denied name below a writable tree: what was there at the start, to see whether the mask still
 * stands at the end. */
struct tc_masked {
    const struct tc_deny *deny;
    int tree, parent; /* O_PATH of the granted directory, borrowed, and of the one that holds it */
    const char *name; /* relative to the tree */
    struct tc_file_id id;
};

/* One granted path, resolved. */
struct tc_item {
    const struct tc_mount *mount;
    const char *path; /* in the cage */
    int fd;           /* O_PATH, on the host */
    bool directory, writable;
    int copy;  /* copy mode: root of the private copy; else -1 */
    uid_t uid; /* owner on the host */
    gid_t gid;
    struct tc_file_id point; /* its mount point inside a writable item; dev 0: it has none */
};

/* What tells one state of a file from another. */
struct tc_version {
    uint64_t inode, size;
    unsigned mode;
    struct statx_timestamp mtime, ctime;
};

/* One entry of a copied workspace, when it was copied. */
struct tc_copied {
    const struct tc_item *item;
    const char *relative;
    struct tc_version copy, host;
};

struct tc_process_cage {
    struct tc_process_host *host;
    struct tc_arena arena;
    struct tc_resolver resolver;
    uid_t id; /* leased; (uid_t)-1: none */
    struct tc_cgroup *group;
    struct tc_item *items;
    size_t item_count;
    struct tc_box_mount *mounts;
    size_t mount_count;
    struct tc_copied *copied;
    size_t copied_count;
    struct tc_masked *masked;
    size_t masked_count;
    int storage; /* root of the private tmpfs */
    struct tc_box box;
    int *fds; /* everything else to close */
    size_t fd_count;
    int report; /* our end */
    int child_report;
    int pidfd;
    pid_t pid;
    int listener;
    int refused; /* notifications answered with a refusal */
    bool ready, reaped, exit_seen;
    int64_t child_cpu_us, max_rss;
    int64_t seen_cpu_us;     /* the last sample */
    struct timespec started; /* real time, for changes */
    pid_t collector;         /* gathers changes; 0: none */
    int collector_fd, changes_fd;
};

#define TC_PRIV(cage) ((struct tc_process_cage *)(cage)->priv)

/* Keeps a descriptor until the cage goes; returns it, or -1 when fd is -1 or memory ran out. */
int tc_process_keep(struct tc_process_cage *p, int fd);

/* prepare.c, trees.c, names.c */
/* Before the first call: what it will need whatever it is. */
void tc_process_ahead(void);
int tc_process_prepare(struct tc_cage *cage);
int tc_process_resolve(struct tc_cage *cage);
int tc_process_trees(struct tc_cage *cage);
/* Is this path denied, by its own name or one above? */
bool tc_process_denied(const struct tc_plan *plan, const char *path);
/* kernelfs.c: is this a view of the kernel, like /proc? Covers those that are mounted below a
 * granted directory, by the text of mountinfo. */
bool tc_process_kernel_fs(int fd);
int tc_process_cover_kernel(struct tc_cage *cage, const struct tc_item *item, const char *mounts);
/* Does the tool work on a copy of this item? */
bool tc_process_copied(const struct tc_plan *plan, const struct tc_item *item);
int tc_process_hide(struct tc_cage *cage);
int tc_process_steering(struct tc_cage *cage, const struct tc_item *item);
int tc_process_argv(struct tc_cage *cage);
int tc_process_limits(struct tc_cage *cage);
struct tc_box_mount *tc_process_mount(struct tc_process_cage *p, int fd, const char *path,
                                      enum tc_landlock_kind rights);
int tc_process_rebind(struct tc_cage *cage, const struct tc_item *item, int fd, const char *path,
                      bool writable);
/* spawn.c */
int tc_process_start(struct tc_cage *cage);
int tc_process_event(struct tc_cage *cage);
void tc_process_reap(struct tc_cage *cage);
/* notify.c */
void tc_process_notify(struct tc_cage *cage);
/* changes.c */
int tc_process_collect(struct tc_cage *cage, bool commit);
void tc_process_collected(struct tc_cage *cage);
/* probe.c */
int tc_process_probe(struct tc_outcome *outcome);
/* enforce.c */
int tc_process_enforced(struct tc_cage *cage);

#endif
