/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Cages that are processes of this machine, inside the helper: what their backends keep for the
 * helper's life, and what they keep for one cage. How the tool is run in it is each backend's. */
#ifndef TC_LOCAL_LOCAL_H
#define TC_LOCAL_LOCAL_H

#include <sys/stat.h>

#include "backend/backend.h"
#include "backend/local/box.h"
#include "base/arena.h"
#include "linux/cgroup.h"
#include "linux/ids.h"
#include "linux/resolve.h"
#include "linux/seccomp_changes.h"
#include "linux/userns.h"

enum { TC_SHELF_PLACES = 8, TC_PORTS_MAX = 8 };

/* ---- host.c: once a helper
 * ----------------------------------------------------------------------- */

struct tc_idmap {
    uid_t file_uid, cage_uid;
    gid_t file_gid, cage_gid;
    int fd;
    struct tc_carrier carrier;
};

struct tc_process_host {
    bool entered, ready;
    bool privileged; /* the machine's root: cages get leased ids and id-mapped mounts */
    uid_t uid;       /* the caller's */
    gid_t gid;
    int landlock_abi;
    int whole; /* can a full cage be built: 0 not known yet, 1, -1 */
    struct tc_ids ids;
    struct tc_idmap *idmaps;
    size_t idmap_count;
    struct tc_cgroups *cgroups;
    /* A tmpfs at a place where no grant leads: prepared roots stand on it, and beside them an
     * unreadable file and directory to put over denied names. */
    int shelf;
    int mask_file, mask_dir; /* O_PATH */
    int mounts;              /* /proc/self/mountinfo, which tells when it changes */
    bool local;              /* what it said last */
};

/* Enters the helper's own mount namespace (an ordinary caller's: with a user namespace around it),
 * once. 0, or -1 with the failure written. */
int tc_process_host_get(struct tc_outcome *outcome, struct tc_process_host **ret);
/* Only that far: processes can be cloned then. */
int tc_process_host_enter(struct tc_outcome *outcome, struct tc_process_host **ret);
/* May looking up a path wait for another machine or for a process? Looks again when something was
 * mounted since. */
bool tc_process_host_local(struct tc_process_host *host);
/* The same when it was entered already, else NULL. */
struct tc_process_host *tc_process_host_opened(void);
/* The same whether it was entered or not: ids and Landlock are known. */
struct tc_process_host *tc_process_host_known(void);
/* A user namespace descriptor for id-mapped mounts of files with this owner; the caller's; -1 with
 * errno. From any thread. */
int tc_process_idmap(struct tc_process_host *host, uid_t file_uid, gid_t file_gid, uid_t cage_id);
/* Reaps the children that carried them. */
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
    bool terminal; /* places for the cage's own devpts, and /dev/tty */
};

/* A prepared root is known by a number that is never used again; 0: none. */

/* Builds one that has no mount points yet, for the first call that fits; 0 when it cannot. */
uint64_t tc_root_ahead(int shelf, const struct tc_root_spec *spec);
/* The root of a spec; built once for each different one. 0 with errno and *ret_step. */
uint64_t tc_root_ready(int shelf, const struct tc_root_spec *spec, const char **ret_step);
/* A detached, read-only copy of it; -1 with errno. */
int tc_root_copy(uint64_t serial);

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

/* A file that the policy is made from, below a writable tree. */
/* What git's configuration names, below the item. */
struct tc_obeyed {
    const char *relative;
    struct tc_obeyed *next;
};

struct tc_guarded {
    const char *relative;
    struct tc_guarded *next;
};

/* One granted path, resolved. */
struct tc_item {
    const struct tc_mount *mount;
    const char *path; /* in the cage */
    int fd;           /* O_PATH, on the host */
    bool directory, writable;
    int copy;  /* root of the private copy; -1: none */
    uid_t uid; /* owner on the host */
    gid_t gid;
    struct tc_file_id point; /* its mount point inside a writable item; dev 0: it has none */
    /* A writable file alone: `fd` is the host's directory that holds it, `copy` the private one. */
    const char *name;      /* in the cage's directory; NULL: not a file alone */
    const char *host_name; /* in the host's */
    struct tc_file_id id;  /* of the file; dev 0: it is not there yet */
    bool part;             /* in a writable tree, and comes back with that */
    /* A private directory for such files: `copy` is what can be written in it. */
    bool drawer;
    int layers; /* storage of an overlay over `fd`; -1: there is none */
    struct tc_guarded *guarded;
    const struct tc_steering *steering; /* the plan's */
    const char *context; /* of a writable directory: where on the host it is; else NULL */
    struct tc_obeyed *obeyed;
    const char *learned; /* the directory that was last looked at for that, with a slash */
};

struct tc_journal;
struct tc_session;
struct tc_proxy;

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

/* What a backend adds to a cage around which it puts a container runtime. */
struct tc_local_form {
    bool sentry; /* a kernel of its own between the tool and ours, which keeps the tool's memory */
    int64_t memory, pids;               /* what the runtime needs of the control group for itself */
    const struct tc_root_point *points; /* of the root, beside those of the grant */
    size_t point_count;
    /* The words for how it holds a clause; "" or NULL: not at all. */
    const char *(*mechanism)(const struct tc_cage *cage, enum tc_clause clause);
};

/* A name of an overlaid workspace, when the call began. */
struct tc_place {
    const struct tc_item *item;
    const char *relative;
    uint64_t inode; /* of a directory; of nothing else */
    dev_t device;
};

struct tc_process_cage {
    struct tc_buf trusted;            /* certificates, from their reading until they are shown */
    const struct tc_local_form *form; /* NULL: a process cage */
    struct tc_process_host *host;
    struct tc_arena arena;
    struct tc_resolver resolver;
    const char *left; /* where the gathering was not; NULL: it was everywhere */
    struct tc_spare
        *spare;       /* the process that becomes this cage; NULL: it is cloned at the start */
    uid_t id;         /* leased; (uid_t)-1: none */
    uid_t spoken_uid; /* what the tool sees, where a runtime stands between */
    gid_t spoken_gid;
    struct tc_cgroup *group;
    struct tc_cgroup_limits group_limits; /* those of the group that was asked for */
    uint64_t root;
    struct tc_item *items;
    size_t item_count;
    struct tc_root_point *points;
    size_t point_count;
    struct tc_box_mount *mounts;
    size_t mount_count;
    bool remote; /* a granted path is of a file system that may make whoever lets go of it wait */
    struct tc_copied *copied;
    size_t copied_count;
    struct tc_place *places;
    size_t place_count;
    int64_t opened_ns, opened_us; /* real and monotonic time before the first look at an overlay */
    struct tc_file_id *guarded;   /* the policy's files */
    size_t guarded_count;
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
    int refused;                        /* notifications answered with a refusal */
    struct tc_seccomp_changes *changes; /* of the profile; in the arena. NULL: none */
    /* of its loopback: ports that were seen listened on, and how often the tables were read */
    uint16_t ports[TC_PORTS_MAX];
    unsigned port_count, port_looks;
    struct tc_watcher
        *watcher; /* whoever serves this cage alone, and has the listener then; NULL: nobody */
    pid_t watcher_pid;
    bool ready, reaped;
    bool shared;      /* no namespaces: Landlock and seccomp alone */
    int64_t asked_us; /* when it was asked to end everything; 0: not yet */
    int64_t child_cpu_us, max_rss;
    int64_t segments;        /* bytes of those that nobody has attached, more than allowed; or 0 */
    int64_t seen_cpu_us;     /* the last sample */
    struct timespec started; /* real time, for changes */
    void *own;               /* of the backend; it frees it */
    pid_t collector;         /* gathers changes; 0: none */
    int collector_fd, changes_fd;
    bool committing;
    int journals;               /* directory of journals; -1: nothing will come back */
    int held;                   /* directory of what waits for a person; -1: nothing will */
    bool overwrite;             /* a person says so of newer work of the host */
    struct tc_journal *journal; /* in the process that commits */
    struct tc_session *session; /* NULL: none */
    struct tc_proxy *proxy;     /* the way out; NULL: there is none */
};

#define TC_PRIV(cage) ((struct tc_process_cage *)(cage)->priv)

/* Keeps a descriptor until the cage goes; returns it, or -1 when fd is -1 or memory ran out. */
int tc_process_keep(struct tc_process_cage *p, int fd);

/* prepare.c, trees.c, names.c */
/* Before the first call: what it will need whatever it is. */
void tc_process_ahead(void);
int64_t tc_process_tick(int64_t now_us);
int tc_process_lease(struct tc_cage *cage);
int tc_local_lease(struct tc_cage *cage, const struct tc_local_form *form);
/* What the maps of a cage's user namespace say. */
void tc_process_set_ids(const struct tc_process_host *host, uid_t id, struct tc_box *box);
int tc_process_prepare(struct tc_cage *cage);
/* What is left of it when the files are there. */
int tc_process_complete(struct tc_cage *cage);
/* filter.c: the system call filter that the plan asks for. */
int tc_process_filter(struct tc_cage *cage);
int tc_process_resolve(struct tc_cage *cage);
void tc_process_sort(struct tc_process_cage *p);
int tc_process_trees(struct tc_cage *cage);
/* A place of the cage's own, where nothing of the host may be shown? */
bool tc_process_reserved(const char *path);
/* A failure that names a granted path; `before` and `after` stand around it. Returns -1. */
int tc_process_refuse(struct tc_cage *cage, const struct tc_mount *m, int errnum, const char *hint,
                      const char *before, const char *after);
/* drawer.c: files that are granted writable by themselves. After the storage and before the root.
 */
int tc_process_drawers(struct tc_cage *cage);
/* A directory in private storage that is the tool's, kept by the cage; -1 with errno. */
int tc_process_own_directory(struct tc_process_cage *p, int storage, const char *at);
/* Makes a mount point in one of their directories. 0, or -1. */
int tc_drawer_point(const struct tc_process_cage *p, const struct tc_item *drawer,
                    const char *relative, bool directory);
/* Is this path denied, by its own name or one above? */
bool tc_process_denied(const struct tc_plan *plan, const char *path);
/* The granted directory that holds this path most closely, strictly above it; NULL: none. */
struct tc_item *tc_process_holder(const struct tc_process_cage *p, const char *path);
/* kernelfs.c: is this a view of the kernel, like /proc? 1, 0, or -1 with errno. Covers those that
 * are mounted below a granted directory, by the text of mountinfo. */
int tc_process_kernel_fs(int fd);
/* May it wait for another machine or for a program? Everything but the well-known local ones. */
bool tc_process_remote_fs(int fd);
/* Does no mount of a /proc/PID/mountinfo wait for another machine or for a process? */
bool tc_process_mounts_local(const char *mountinfo);
/* The first file system of another kind that is mounted below the item, by its path relative to
 * that; owned, NULL: none. 0, or -1 with errno. */
int tc_process_mount_below(const struct tc_item *item, const char *mounts, char **ret);
int tc_process_cover_kernel(struct tc_cage *cage, const struct tc_item *item, const char *mounts);
/* Does the tool work on a copy or an overlay of this item? */
bool tc_process_copied(const struct tc_plan *plan, const struct tc_item *item);
int tc_process_hide(struct tc_cage *cage);
int tc_process_steering(struct tc_cage *cage, const struct tc_item *item);
/* guard.c: where the files of the policy lie below what may be written, or a refusal. After the
 * grants are resolved. */
int tc_process_guard(struct tc_cage *cage);
/* Is that one of them? Or are there some below? By any name? */
bool tc_process_guards(const struct tc_item *item, const char *relative);
bool tc_process_guards_below(const struct tc_item *item, const char *relative);
bool tc_process_guards_id(const struct tc_process_cage *p, int dirfd, const char *name, ino_t ino);
/* obeyed.c: is it, or is it in, what the configuration of a repository names? */
bool tc_item_obeyed(const struct tc_item *item, const char *relative);
/* Looks at a repository that may be in this directory of the item; in the item and those above it;
 * in those between the item and what changed, of which the last are known. 0, or -1: no memory. */
int tc_item_learn(struct tc_process_cage *p, struct tc_item *item, const char *directory);
int tc_item_learn_around(struct tc_process_cage *p, struct tc_item *item);
int tc_item_learn_above(struct tc_process_cage *p, struct tc_item *item, const char *relative);
int tc_process_argv(struct tc_cage *cage);
int tc_process_limits(struct tc_cage *cage);
struct tc_box_mount *tc_process_mount(struct tc_process_cage *p, int fd, const char *path,
                                      enum tc_landlock_kind rights);
int tc_process_rebind(struct tc_cage *cage, const struct tc_item *item, int fd, const char *path,
                      bool writable);
/* spawn.c */
/* Clones a process into a cage's namespaces and the group (NULL: none; then from any thread), where
 * it enters the box. Its pid, or -1 with errno; the descriptor may be there then, too. */
pid_t tc_process_clone(struct tc_cgroup *group, const struct tc_box *box, int *ret_pidfd);
/* A root caller's child waits until its ids exist. 0, or -1 with errno. */
int tc_process_map_ids(pid_t pid, const struct tc_box *box, int report);
int tc_process_start(struct tc_cage *cage);
int tc_process_event(struct tc_cage *cage);
/* Has it a process of its own that serves its notifications? */
bool tc_process_watched(const struct tc_process_cage *p);
void tc_process_reap(struct tc_cage *cage);
/* notify.c */
void tc_process_notify(struct tc_cage *cage);
/* changes.c */
int tc_process_collect(struct tc_cage *cage, bool commit);
void tc_process_collected(struct tc_cage *cage);
/* What was changed in the writable paths, into *found; brings back what was copied. */
void tc_process_gather(struct tc_cage *cage, bool commit, struct tc_outcome *found);
/* Remembers the first place of which a bound kept the gathering out. */
void tc_process_left(struct tc_process_cage *p, const struct tc_item *item, const char *relative);
bool tc_process_uncollect(struct tc_cage *cage);
/* probe.c */
bool tc_process_trial(struct tc_plan *ret);
void tc_process_probe(const struct tc_cage *trial, struct tc_outcome *outcome);
/* shared.c: full cages, or the form without namespaces where the policy says so and nothing else
 * can be built */
int tc_process_choose(struct tc_cage *cage);
int tc_shared_prepare(struct tc_cage *cage);
/* The words for how the form holds a clause; NULL: not at all. */
const char *tc_shared_mechanism(const struct tc_cage *cage, enum tc_clause clause);
/* enforce.c */
int tc_process_enforced(struct tc_cage *cage);

#endif
