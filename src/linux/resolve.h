/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Host paths to file descriptors, component by component, so that no other process can change
 * the meaning of a path between the decision and the mount. Links are followed only in
 * directories that belong to root or the caller and that no tool can write; from the first
 * writable directory on a link is an error. */
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
    /* Creation time in ns, because inode numbers are reused. 0: the file system does not have
     * it. */
    int64_t born;
};

/* The identity of the file at `path` (links followed), or of the fd `fd` if `path` is "". 0, or
 * -1 with errno. */
int tc_file_identify(int fd, const char *path, struct tc_file_id *ret);

struct tc_resolver {
    uid_t caller; /* whose links are followed, in addition to root's */
    /* Adds the files and directories that tools can write (tc_resolver_add, tc_resolver_add_id).
     * Called at the first link: there may be hundreds of writable paths, and few paths contain a
     * link. 0, or -1 with errno: no link is followed. */
    int (*learn)(struct tc_resolver *r, const void *context);
    const void *context; /* borrowed, for learn */
    bool learned;
    struct tc_file_id *writable;
    size_t writable_count;
};

void tc_resolver_init(struct tc_resolver *r, uid_t caller,
                      int (*learn)(struct tc_resolver *r, const void *context),
                      const void *context);
/* Adds the file at the absolute path; a missing one adds nothing. 0, or -1 with errno. */
int tc_resolver_add(struct tc_resolver *r, const char *path);
int tc_resolver_add_id(struct tc_resolver *r, const struct tc_file_id *id);
void tc_resolver_done(struct tc_resolver *r);

/* An O_PATH fd of an absolute path. -1 with errno; ELOOP for a link that is not followed, and
 * then `where` (PATH_MAX bytes) names the component that stopped the walk. */
int tc_resolve(struct tc_resolver *r, const char *path, char *where);
/* Also returns the directory that contains the last component, whose name is then in `where`; -1
 * in *ret_dir for "/". For files: a path that ends in ".." has no such directory. */
int tc_resolve_in(struct tc_resolver *r, const char *path, char *where, int *ret_dir);

/* The path (PATH_MAX bytes) without links, which are followed as above. 1: the file exists; 0:
 * it does not, and `real` is where it would be; -1 with errno. */
int tc_resolve_links(struct tc_resolver *r, const char *path, char *real);

/* Can a tool write the file at the absolute path, or a directory or link on the way to it? 1:
 * yes, or the path contains a link that is not followed; 0: no; -1 with errno: the walk failed
 * before it met such a place (ENOENT: the file does not exist). */
int tc_resolve_writable(struct tc_resolver *r, const char *path);

/* An O_PATH fd of an absolute path that contains no link and does not end in one, or -1. */
int tc_resolve_plain(const char *path);

/* The path of an fd as procfs reports it, into `real` (PATH_MAX bytes). 0, or -1 with errno;
 * EXDEV: it is outside our root. */
int tc_resolve_name(int fd, char *real);

/* Does this errno of a look-up without links mean that the file is missing or a component is not
 * a directory? */
static inline bool tc_resolve_gone(int errnum)
{
    return errnum == ENOENT || errnum == ENOTDIR || errnum == ELOOP;
}

/* An fd beneath an open directory, never through any link: for values that a model chose. */
int tc_resolve_beneath(int dirfd, const char *relative);

/* The same for the directory that contains `relative`. */
int tc_resolve_parent(int dirfd, const char *relative);

/* tc_resolve_beneath() without following a link at the end: the fd may be of a link. */
int tc_resolve_object(int dirfd, const char *relative);

/* The text of a link, owned. NULL with errno; the target is unchecked and need not be UTF-8. */
char *tc_link_target(int dirfd, const char *name);

#endif
