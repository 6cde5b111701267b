/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The granted paths of a cage: opens them on the host, checks them, and makes detached mounts of
 * them. Also hides or protects names below them. How a process enters the mounts (cage/) and how
 * copies are made (workspace/) is not done here. Only one thread at a time uses the data of a cage.
 */
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

/* ---- one for each helper ---- */

struct tc_idmap;

/* The user for whom the paths are mounted. Written before a second thread exists, except for the id
 * maps. */
struct tc_tree_host {
    bool privileged; /* the host's root: cages get leased ids and id-mapped mounts */
    uid_t uid;       /* the caller's */
    gid_t gid;
    struct tc_idmap *idmaps;
    size_t idmap_count;
    int mask_file, mask_dir; /* O_PATH: unreadable objects to mount over denied names */
};

extern struct tc_tree_host tc_tree_host;

/* idmap.c */
/* Returns a user namespace fd for id-mapped mounts of files with this owner, which the caller
 * closes; -1 with errno. Thread-safe. */
int tc_tree_idmap(struct tc_tree_host *host, uid_t file_uid, gid_t file_gid, uid_t cage_id);
/* Reaps the child processes that held the user namespaces. */
void tc_tree_reap_holders(struct tc_tree_host *host);

/* ---- one cage ---- */

/* A denied name that is hidden by a mask (a mount over the name), not by an overlay. The object
 * under the mask at the start is recorded, to check at the end that the mask is still in place. */
struct tc_masked {
    const struct tc_deny *deny;
    /* O_PATH of the granted directory, borrowed, and of the directory that holds the object; -1:
     * there was no object */
    int tree, parent;
    bool writable;    /* without an object: the tool could have created it */
    const char *name; /* relative to the tree */
    struct tc_file_id id;
};

/* A path below the item that git's configuration names. */
struct tc_obeyed {
    const char *relative;
    struct tc_obeyed *next;
};

/* A file of the policy, below a writable tree. */
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
    struct tc_file_id point; /* its mount point inside a writable item; dev 0: none */
    /* For a single writable file: `fd` is the host's directory that holds it, `copy` the private
     * one. */
    const char *name;      /* in the cage's directory; NULL: not a single file */
    const char *host_name; /* in the host's directory */
    struct tc_file_id id;  /* of the file; dev 0: it does not exist yet */
    bool part;             /* the file is inside a writable tree, and is committed with the tree */
    /* A private directory for single writable files; the tool writes to `copy`. */
    bool single_dir;
    int layers;   /* storage of an overlay over `fd`; -1: none */
    bool on_disk; /* the layer is in the state directory, limited by the disk alone */
    bool near;    /* and on the mount of `fd`: a rename commits an entry of `copy` */
    struct tc_guarded *guarded;
    const struct tc_steering *steering; /* the plan's */
    const char *context;                /* the host path of a writable directory; else NULL */
    struct tc_obeyed *obeyed;
    const char *learned; /* the directory whose repositories were read last, with a slash */
};

/* The state of the granted paths of one cage, at cage->trees. The code that creates the cage sets
 * the first three. */
struct tc_trees {
    struct tc_tree_host *host;
    uid_t id;       /* leased id that owns the tool's private files; (uid_t)-1: none */
    bool unmounted; /* the cage has no namespaces, so nothing can be mounted */
    /* files below this path are resolved, but the cage has them already; NULL: none */
    const char *standing;
    struct tc_provenance provenance;
    struct tc_arena arena;
    int *fds; /* closed when the cage is released */
    size_t fd_count;
    struct tc_item *items;
    size_t item_count;
    struct tc_init_mount *mounts;
    size_t mount_count;
    int storage; /* root of the private tmpfs; -1: none. The cage's creator may set it */
    bool remote; /* closing a granted path may block, because its file system is not local */
    struct tc_file_id *guarded; /* the policy's files */
    size_t guarded_count;
    struct tc_masked *masked;
    size_t masked_count;
    bool beside; /* some of `masked` are in a read-only tree, which has a mount below it, so no
                    overlay */
    struct tc_buf mountinfo; /* of the helper, once it was read */
    const char *asked;       /* path of the tree that `locked` describes, see names.c; NULL: none */
    int locked;
};

/* The initial value. */
#define TC_TREES_NEW ((struct tc_trees){.host = &tc_tree_host, .id = (uid_t)-1, .storage = -1})

/* own.c */
/* Call before paths are resolved; borrows the plan's list of paths that tools can write. */
void tc_trees_open(struct tc_trees *t, const struct tc_plan *plan);
/* Keeps an fd until the cage is released; returns the fd, or -1 when fd is -1 or memory ran out. */
int tc_tree_keep(struct tc_trees *t, int fd);
/* Adds a mount for the first process; NULL: out of memory. */
struct tc_init_mount *tc_tree_mount(struct tc_trees *t, int fd, const char *path,
                                    enum tc_landlock_kind rights);

/* Adds a mount of an unreadable object over the path. NULL with errno. */
struct tc_init_mount *tc_tree_mask(struct tc_trees *t, bool directory, const char *path);

/* The helper's /proc/self/mountinfo, read once; NULL with errno. */
const char *tc_trees_mounts(struct tc_trees *t);

/* Makes the private /tmp, if there is none yet, and adds its mount. */
int tc_tree_storage(struct tc_cage *cage);
/* Makes an empty tmpfs with these limits; -1 with errno. */
int tc_tree_tmp(const struct tc_limits *limits);
/* Gives the file to the tool's id. 0, or -1 with errno. */
int tc_tree_own(const struct tc_trees *t, int dirfd, const char *name);
/* A directory in private storage, owned by the tool's id and kept by the cage; -1 with errno. */
int tc_tree_own_directory(struct tc_trees *t, int storage, const char *at);
/* Makes the upper and the work directory of an overlay (tree/mount.h) in private storage. The upper
 * one, or -1 with errno. */
int tc_tree_layer(struct tc_trees *t, int storage);

/* granted.c */
/* Sorts the items in the order of mounting: parents first. */
void tc_tree_sort(struct tc_trees *t);
/* Does the cage itself provide this path, so that nothing of the host may be mounted there? */
bool tc_tree_reserved(const struct tc_plan *plan, const char *path);
/* Is this path, or a directory above it, denied? */
bool tc_tree_denied(const struct tc_plan *plan, const char *path);
/* The deepest granted directory strictly above this path; NULL: none. */
struct tc_item *tc_tree_holder(const struct tc_trees *t, const char *path);
/* Does the tool work on a copy or an overlay of this item? */
bool tc_tree_copied(const struct tc_plan *plan, const struct tc_item *item);
/* Writes a failure that names the granted path between `before` and `after`. Returns -1. */
int tc_tree_refuse(struct tc_cage *cage, const struct tc_mount *m, int errnum, const char *hint,
                   const char *before, const char *after);

/* The same for a path that reaches its place below another granted directory only through a
 * symbolic link; names the real path. */
int tc_tree_refuse_link(struct tc_cage *cage, const struct tc_item *item);

int tc_tree_resolve(struct tc_cage *cage);
/* single_file.c: single writable files. Call after the storage was made and before the root. */
int tc_tree_single_files(struct tc_cage *cage);
/* Writes a failure of a single writable file. Returns -1. */
int tc_single_file_fail(struct tc_cage *cage, const struct tc_item *item, int errnum,
                        const char *before, const char *after);
/* Makes a mount point in the private directory of a single file. 0, or -1. */
int tc_single_file_point(const struct tc_trees *t, const struct tc_item *single_dir,
                         const char *relative, bool directory);
/* kernelfs.c */
/* Is this a file system that shows the kernel, like /proc? 1, 0, or -1 with errno. */
int tc_tree_kernel_fs(int fd);
/* May access to this file system block on another host or on a process? True for all but the
 * well-known local file systems. */
bool tc_tree_remote_fs(int fd);
/* Can no mount of this /proc/PID/mountinfo block on another host or on a process? */
bool tc_tree_mounts_local(const char *mountinfo);
/* The first mount below the item, except kernel file systems, by its path relative to the item;
 * owned, NULL: none. 0, or -1 with errno. */
int tc_tree_mount_below(const struct tc_item *item, const char *mounts, char **ret);
/* Is anything mounted below that directory? 1, 0, or -1 with errno. */
int tc_trees_mounted_below(struct tc_trees *t, int fd);
/* Covers the file systems that show the kernel and are mounted below a granted directory. `mounts`:
 * the text of mountinfo. 0, or -1 with errno. */
int tc_tree_cover_kernel(struct tc_cage *cage, const struct tc_item *item, const char *mounts);
int tc_tree_hide(struct tc_cage *cage);
int tc_tree_steering(struct tc_cage *cage, const struct tc_item *item);
/* guard.c */
/* Finds the policy's files below writable paths, so that they can be protected, or refuses the
 * call. Called after the grants are resolved. */
int tc_tree_guard(struct tc_cage *cage);
/* Is this path in the item a file of the policy? */
bool tc_tree_guards(const struct tc_item *item, const char *relative);
/* Is a file of the policy below this path? */
bool tc_tree_guards_below(const struct tc_item *item, const char *relative);
/* Is this a file of the policy, under any name? */
bool tc_tree_guards_id(const struct tc_trees *t, int dirfd, const char *name, ino_t ino);
/* git_config.c */
/* Appends what the text of a configuration file names, unchanged: directories of hooks, and
 * included files. False: out of memory. */
bool tc_git_config_read(const char *text, size_t length, struct tc_strv *hooks,
                        struct tc_strv *includes);
/* Is this path at or below one that a repository's configuration names? */
bool tc_item_obeyed(const struct tc_item *item, const char *relative);
/* The next three read the configuration of git repositories, and remember the paths that it names.
 * 0, or -1: out of memory. */
/* Of the repository in one directory of the item. */
int tc_item_learn(struct tc_trees *t, struct tc_item *item, const char *directory);
/* Of the repositories in the item's directory and in all directories above it. */
int tc_item_learn_around(struct tc_trees *t, struct tc_item *item);
/* Of the repositories in the directories between the item and a changed path. The last directory is
 * cached. */
int tc_item_learn_above(struct tc_trees *t, struct tc_item *item, const char *relative);
/* database.c: if the file is an SQLite database whose newest changes are only in a file next to it,
 * the suffix of that file's name ("-wal", "-journal"); else NULL. Static. */
const char *tc_tree_companion(int dirfd, const char *name);
/* show.c */
/* The detached mount of an item, kept by the cage; -1 with the failure written. */
int tc_tree_show(struct tc_cage *cage, const struct tc_item *item, int fd);
enum tc_landlock_kind tc_tree_rights(const struct tc_plan *plan, const struct tc_item *item);
int tc_tree_rebind(struct tc_cage *cage, const struct tc_item *item, int fd, const char *path,
                   bool writable);

/* Closes all fds of tc_tree_keep(), which may be called again afterwards. */
void tc_trees_release(struct tc_trees *t);
/* away.c */
/* Closes the same fds on a thread that may block, when all other processes have closed their
 * copies: waits up to ten seconds for processes that were cloned meanwhile, and for file systems
 * that are unmounted. */
void tc_trees_put_away(struct tc_trees *t);
/* Call before the first tc_trees_put_away(). */
void tc_trees_know_holders(void);
/* Frees everything else; accepts zeroed memory with fds. */
void tc_trees_done(struct tc_trees *t);

#endif
