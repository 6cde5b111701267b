/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The granted paths of a cage: found on the host as descriptors, judged, and made into mounts; and
 * what must not show below them. Knows nothing of how a process gets there, nor of copies. All of
 * one cage is used by one thread at a time. */
#ifndef TC_TREE_TREE_H
#define TC_TREE_TREE_H

#include <stddef.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/strv.h"
#include "plan/backend.h"
#include "provenance/provenance.h"
#include "tree/mount.h"

/* ---- once a helper ---- */

struct tc_idmap;

/* Whom everything is shown for. Filled before there is a second thread, but for the id maps. */
struct tc_tree_host {
    bool privileged; /* the machine's root: cages get leased ids and id-mapped mounts */
    uid_t uid;       /* the caller's */
    gid_t gid;
    struct tc_idmap *idmaps;
    size_t idmap_count;
    int mask_file, mask_dir; /* O_PATH: unreadable, to put over denied names */
};

extern struct tc_tree_host tc_tree_host;

/* idmap.c */
/* A user namespace descriptor for id-mapped mounts of files with this owner; the caller's; -1 with
 * errno. From any thread. */
int tc_tree_idmap(struct tc_tree_host *host, uid_t file_uid, gid_t file_gid, uid_t cage_id);
/* Reaps the children that carried them. */
void tc_tree_reap_holders(struct tc_tree_host *host);

/* ---- one cage ---- */

/* A denied name that no overlay hides: what was there at the start, to see whether the mask still
 * stands at the end. */
struct tc_masked {
    const struct tc_deny *deny;
    /* O_PATH of the granted directory, borrowed, and of the one that holds it; -1: nothing was
     * there */
    int tree, parent;
    const char *name; /* relative to the tree */
    struct tc_file_id id;
};

/* What git's configuration names, below the item. */
struct tc_obeyed {
    const char *relative;
    struct tc_obeyed *next;
};

/* A file that the policy is made from, below a writable tree. */
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
    int copy;  /* root of the private copy, when there is one; -1: none */
    uid_t uid; /* owner on the host */
    gid_t gid;
    struct tc_file_id point; /* its mount point inside a writable item; dev 0: it has none */
    /* A writable file alone: `fd` is the host's directory that holds it, `copy` the private one. */
    const char *name;      /* in the cage's directory; NULL: not a file alone */
    const char *host_name; /* in the host's */
    struct tc_file_id id;  /* of the file; dev 0: it is not there yet */
    bool part;             /* in a writable tree, and comes back with that */
    /* A private directory for such files: `copy` is what can be written in it. */
    bool single_dir;
    int layers; /* storage of an overlay over `fd`; -1: there is none */
    struct tc_guarded *guarded;
    const struct tc_steering *steering; /* the plan's */
    const char *context; /* of a writable directory: where on the host it is; else NULL */
    struct tc_obeyed *obeyed;
    const char *learned; /* the directory that was last looked at for that, with a slash */
};

/* The state of this room for one cage, at cage->trees. Who makes the cage sets the first three. */
struct tc_trees {
    struct tc_tree_host *host;
    uid_t id;       /* leased, for what is the tool's own; (uid_t)-1: none */
    bool unmounted; /* it will have no namespaces, so nothing can be mounted over anything */
    /* what lies below is looked up like the rest, and stands in the cage already; NULL: nothing */
    const char *standing;
    struct tc_provenance provenance;
    struct tc_arena arena;
    int *fds; /* to close when the cage goes */
    size_t fd_count;
    struct tc_item *items;
    size_t item_count;
    struct tc_init_mount *mounts;
    size_t mount_count;
    int storage; /* root of the private tmpfs; -1: none. Who makes the cage may bring it */
    bool remote; /* a granted path is of a file system that may make whoever lets go of it wait */
    struct tc_file_id *guarded; /* the policy's files */
    size_t guarded_count;
    struct tc_masked *masked;
    size_t masked_count;
    bool beside;             /* some of them in a tree that is only read, beside a mount */
    struct tc_buf mountinfo; /* of the helper, once it was asked for */
    const char *asked;       /* the tree of which `locked` was found, see names.c; NULL: none yet */
    int locked;
};

/* What a new one is. */
#define TC_TREES_NEW ((struct tc_trees){.host = &tc_tree_host, .id = (uid_t)-1, .storage = -1})

/* own.c */
/* Before paths are looked up; what the plan says that tools can write stays the plan's. */
void tc_trees_open(struct tc_trees *t, const struct tc_plan *plan);
/* Keeps a descriptor until the cage goes; returns it, or -1 when fd is -1 or memory ran out. */
int tc_tree_keep(struct tc_trees *t, int fd);
/* One more mount for its first process; NULL: no memory. */
struct tc_init_mount *tc_tree_mount(struct tc_trees *t, int fd, const char *path,
                                    enum tc_landlock_kind rights);

/* One more that lets nobody see what is at the path. NULL with errno. */
struct tc_init_mount *tc_tree_mask(struct tc_trees *t, bool directory, const char *path);

/* The helper's /proc/self/mountinfo as it was when first asked for; NULL with errno. */
const char *tc_trees_mounts(struct tc_trees *t);

/* The private /tmp, made if there is none yet. */
int tc_tree_storage(struct tc_cage *cage);
/* An empty one of these limits; -1 with errno. */
int tc_tree_tmp(const struct tc_limits *limits);
/* Makes it the tool's. 0, or -1 with errno. */
int tc_tree_own(const struct tc_trees *t, int dirfd, const char *name);
/* A directory in private storage that is the tool's, kept by the cage; -1 with errno. */
int tc_tree_own_directory(struct tc_trees *t, int storage, const char *at);

/* granted.c */
/* Parents first, as they are mounted. */
void tc_tree_sort(struct tc_trees *t);
/* A place of the cage's own, where nothing of the host may be shown? */
bool tc_tree_reserved(const char *path);
/* Is this path denied, by its own name or one above? */
bool tc_tree_denied(const struct tc_plan *plan, const char *path);
/* The granted directory that holds this path most closely, strictly above it; NULL: none. */
struct tc_item *tc_tree_holder(const struct tc_trees *t, const char *path);
/* Does the tool work on a copy or an overlay of this item? */
bool tc_tree_copied(const struct tc_plan *plan, const struct tc_item *item);
/* A failure that names a granted path; `before` and `after` stand around it. Returns -1. */
int tc_tree_refuse(struct tc_cage *cage, const struct tc_mount *m, int errnum, const char *hint,
                   const char *before, const char *after);

int tc_tree_resolve(struct tc_cage *cage);
/* single_file.c: files that are granted writable by themselves. After the storage and before the
 * root.
 */
int tc_tree_single_files(struct tc_cage *cage);
/* A failure of such a file. Returns -1. */
int tc_single_file_fail(struct tc_cage *cage, const struct tc_item *item, int errnum,
                        const char *before, const char *after);
/* Makes a mount point in one of their directories. 0, or -1. */
int tc_single_file_point(const struct tc_trees *t, const struct tc_item *single_dir,
                         const char *relative, bool directory);
/* kernelfs.c: is this a view of the kernel, like /proc? 1, 0, or -1 with errno. Covers those that
 * are mounted below a granted directory, by the text of mountinfo. */
int tc_tree_kernel_fs(int fd);
/* May it wait for another machine or for a program? Everything but the well-known local ones. */
bool tc_tree_remote_fs(int fd);
/* Does no mount of a /proc/PID/mountinfo wait for another machine or for a process? */
bool tc_tree_mounts_local(const char *mountinfo);
/* The first file system of another kind that is mounted below the item, by its path relative to
 * that; owned, NULL: none. 0, or -1 with errno. */
int tc_tree_mount_below(const struct tc_item *item, const char *mounts, char **ret);
/* Is anything mounted below that directory, of whatever kind? 1, 0, or -1 with errno. */
int tc_trees_mounted_below(struct tc_trees *t, int fd);
int tc_tree_cover_kernel(struct tc_cage *cage, const struct tc_item *item, const char *mounts);
int tc_tree_hide(struct tc_cage *cage);
int tc_tree_steering(struct tc_cage *cage, const struct tc_item *item);
/* guard.c: where the files of the policy lie below what may be written, or a refusal. After the
 * grants are resolved. */
int tc_tree_guard(struct tc_cage *cage);
/* Is that one of them? Or are there some below? By any name? */
bool tc_tree_guards(const struct tc_item *item, const char *relative);
bool tc_tree_guards_below(const struct tc_item *item, const char *relative);
bool tc_tree_guards_id(const struct tc_trees *t, int dirfd, const char *name, ino_t ino);
/* git_config.c */
/* What the text of one file of configuration names, as it stands there: directories of hooks, and
 * other such files. False: out of memory. */
bool tc_git_config_read(const char *text, size_t length, struct tc_strv *hooks,
                        struct tc_strv *includes);
/* Is it, or is it in, what the configuration of a repository names? */
bool tc_item_obeyed(const struct tc_item *item, const char *relative);
/* Looks at a repository that may be in this directory of the item; in the item and those above it;
 * in those between the item and what changed, of which the last are known. 0, or -1: no memory. */
int tc_item_learn(struct tc_trees *t, struct tc_item *item, const char *directory);
int tc_item_learn_around(struct tc_trees *t, struct tc_item *item);
int tc_item_learn_above(struct tc_trees *t, struct tc_item *item, const char *relative);
/* show.c */
/* The detached mount of one item, kept by the cage; -1 with the failure written. */
int tc_tree_show(struct tc_cage *cage, const struct tc_item *item, int fd);
enum tc_landlock_kind tc_tree_rights(const struct tc_plan *plan, const struct tc_item *item);
int tc_tree_rebind(struct tc_cage *cage, const struct tc_item *item, int fd, const char *path,
                   bool writable);

/* Closes all that is kept; more may be kept afterwards. */
void tc_trees_release(struct tc_trees *t);
/* away.c */
/* The same when nobody else holds it any more, by a thread that may wait: up to ten seconds for
 * processes that were cloned meanwhile, and for the file systems that go with it. */
void tc_trees_put_away(struct tc_trees *t);
/* Before there is anything that could be put away. */
void tc_trees_know_holders(void);
/* Frees the rest; fine for one that is zero but for its descriptors. */
void tc_trees_done(struct tc_trees *t);

#endif
