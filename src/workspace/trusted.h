/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Verifies files of a repository that git trusts and writes in normal work (TC_STEERS_WRITTEN), as
 * far as possible: loose objects and packs must hash to their ids, packed references must not
 * replace objects. Where a person reviews the changes the index is never accepted, because a review
 * does not show what it stages: git can rebuild it from a commit. Runs in the process that collects
 * changes. */
#ifndef TC_WORKSPACE_TRUSTED_H
#define TC_WORKSPACE_TRUSTED_H

#include <limits.h>

#include "base/strv.h"
#include "linux/walk.h"

enum {
    TC_TRUSTED_MAX = 1 << 30,       /* bytes read and inflated in a call */
    TC_TRUSTED_PACK_MAX = 128 << 20 /* bytes of a pack */
};

struct tc_trusted {
    int64_t left; /* what remains of TC_TRUSTED_MAX */
    /* the verified packs, without ".pack": a commit moves their files away one by one */
    struct tc_strv sound;
    bool unreviewed; /* no person reviews the changes first: a verified index is accepted */
};

/* Was the content verified against its name? False for names without a check, files that are too
 * large, and anything but regular files. */
bool tc_trusted_check(struct tc_trusted *t, const struct tc_walk_entry *e);

/* Is a file with this name, one that git trusts (TC_STEERS_WRITTEN), the index of a work tree? */
bool tc_trusted_index(const char *relative);

/* Does a file of this name hold objects that other objects may need? */
bool tc_trusted_holds(const char *relative);

#endif
