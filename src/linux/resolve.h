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
#include <sys/types.h>

#include "base/strv.h"

struct tc_resolver {
    uid_t caller;                /* whose links are followed, beside root's */
    const struct tc_strv *paths; /* borrowed: what some tool of the policy can write */
    const char *more;            /* borrowed: what others could, each with its NUL */
    size_t more_len;
    bool learned; /* which directories these are: known from the first link on */
    struct tc_file_id {
        dev_t dev;
        ino_t ino;
    } * writable;
    size_t writable_count;
};

/* Of the host paths in `writable`, which stay the caller's, missing ones count for nothing. They
 * are looked up when it matters: there may be hundreds, and few ways lead through a link. */
void tc_resolver_init(struct tc_resolver *r, uid_t caller, const struct tc_strv *writable);
/* Besides, of those of which each has its NUL. Borrowed as well; hundreds of them cost a call
 * nothing until a link is met. */
void tc_resolver_also(struct tc_resolver *r, const char *paths, size_t length);
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

/* Where no link is on the way or at its end; the path is absolute. A descriptor (O_PATH), or -1. */
int tc_resolve_plain(const char *path);

/* What procfs calls it, into `real` (PATH_MAX bytes). 0, or -1 with errno; EXDEV: it lies outside
 * of our root. */
int tc_resolve_name(int fd, char *real);

/* Does this errno of the function below say that nothing is there, or something else on the way? */
static inline bool tc_resolve_gone(int errnum)
{
    return errnum == ENOENT || errnum == ENOTDIR || errnum == ELOOP;
}

/* A descriptor beneath an open directory, never through any link: for values that a model chose. */
int tc_resolve_beneath(int dirfd, const char *relative);

/* The same of the very object, which may be a link. */
int tc_resolve_object(int dirfd, const char *relative);

/* The text of a link, owned. NULL with errno; it may lead anywhere, and need not be text. */
char *tc_link_target(int dirfd, const char *name);

#endif
