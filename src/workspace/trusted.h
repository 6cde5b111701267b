/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Files of a repository that git trusts and writes all day (TC_STEERS_WRITTEN): what a tool left
 * under these names is checked, as far as it can be: loose objects and packs hash to their ids, and
 * packed references replace no object. The index is never verified: git makes it anew from a
 * commit. Runs in the process that collects changes. */
#ifndef TC_WORKSPACE_TRUSTED_H
#define TC_WORKSPACE_TRUSTED_H

#include <limits.h>

#include "linux/walk.h"

enum {
    TC_TRUSTED_MAX = 1 << 30,       /* bytes read and inflated in a call */
    TC_TRUSTED_PACK_MAX = 128 << 20 /* bytes of a pack */
};

struct tc_trusted {
    int64_t left;        /* of TC_TRUSTED_MAX */
    char pack[PATH_MAX]; /* the last that was checked, without ".pack"; "": none */
    bool sound;
    bool bind; /* the tool has written to the host's files themselves */
};

/* Was its content checked, and is it what its name says? False for all that has no check, is too
 * large, or is no regular file. */
bool tc_trusted_check(struct tc_trusted *t, const struct tc_walk_entry *e);

/* Is it the index of a repository with a work tree? */
bool tc_trusted_index(const char *relative);

/* Does a file of this name hold objects that others may need? */
bool tc_trusted_holds(const char *relative);

#endif
