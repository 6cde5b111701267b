/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Host paths to descriptors, component by component, so that nobody can change the meaning of a
 * path between the decision and the mount. Links are followed only in directories that belong to
 * root or the caller and that no tool can write; from the first writable directory on a link is an
 * error. */
#ifndef TC_LINUX_RESOLVE_H
#define TC_LINUX_RESOLVE_H

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/strv.h"

struct tc_file_id {
    dev_t dev;
    ino_t ino;
    /* When it was created, in ns: an inode number is used again. 0: the file system does not say.
     */
    int64_t born;
};

/* The identity of what `path` names (links followed), or of the descriptor `fd` where it is "".
 * 0, or -1 with errno. */
int tc_file_identify(int fd, const char *path, struct tc_file_id *ret);

struct tc_resolver {
    uid_t caller; /* whose links are followed, beside root's */
    /* Adds the files and directories that tools can write (tc_resolver_add, tc_resolver_add_id).
     * Called when the first link is met: there may be hundreds, and few paths lead through a link.
     * 0, or -1 with errno: no link is followed. */
    int (*learn)(struct tc_resolver *r, const void *context);
    const void *context; /* borrowed, for learn */
    bool learned;
    struct tc_file_id *writable;
    size_t writable_count;
};

void tc_resolver_init(struct tc_resolver *r, uid_t caller,
                      int (*learn)(struct tc_resolver *r, const void *context),
                      const void *context);
/* What the absolute path names now; a path that leads nowhere adds nothing. 0, or -1 with errno. */
int tc_resolver_add(struct tc_resolver *r, const char *path);
int tc_resolver_add_id(struct tc_resolver *r, const struct tc_file_id *id);
void tc_resolver_done(struct tc_resolver *r);

/* An O_PATH descriptor of an absolute path. -1 with errno; ELOOP for a link that is not followed,
 * and then `where` (PATH_MAX bytes) names the component that stopped the walk. */
int tc_resolve(struct tc_resolver *r, const char *path, char *where);
/* Also the directory that held the last component, whose name is in `where` then; -1 in *ret_dir
 * for "/". For files: what ".." led to has no such directory. */
int tc_resolve_in(struct tc_resolver *r, const char *path, char *where, int *ret_dir);

/* The path (PATH_MAX bytes) without the links on its way, which are followed as above. 1: what it
 * names is there; 0: not, and `real` is where it would be; -1 with errno. */
int tc_resolve_links(struct tc_resolver *r, const char *path, char *real);

/* Can a tool write what the absolute path names, or a directory or link on the way to it? 1: yes,
 * or the path leads through a link that is not followed; 0: no; -1 with errno: the walk failed
 * before it met such a place (ENOENT: nothing has that name). */
int tc_resolve_writable(struct tc_resolver *r, const char *path);

/* Where no link is on the way or at its end; the path is absolute. A descriptor (O_PATH), or -1. */
int tc_resolve_plain(const char *path);

/* What procfs calls it, into `real` (PATH_MAX bytes). 0, or -1 with errno; EXDEV: it lies outside
 * of our root. */
int tc_resolve_name(int fd, char *real);

/* Does this errno of a look-up without links say that nothing is there, or something else on the
 * way? */
static inline bool tc_resolve_gone(int errnum)
{
    return errnum == ENOENT || errnum == ENOTDIR || errnum == ELOOP;
}

/* A descriptor beneath an open directory, never through any link: for values that a model chose. */
int tc_resolve_beneath(int dirfd, const char *relative);

/* The same of the directory that holds `relative`. */
int tc_resolve_parent(int dirfd, const char *relative);

/* As tc_resolve_beneath(), of the very object, which may be a link. */
int tc_resolve_object(int dirfd, const char *relative);

/* The text of a link, owned. NULL with errno; it may lead anywhere, and need not be text. */
char *tc_link_target(int dirfd, const char *name);

#endif
