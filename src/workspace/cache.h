/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Which changes a review sums up and a plain yes leaves out. The tool chose their names, so a name
 * is not enough: what would do something once it is on the host is looked at by a person. */
#ifndef TC_WORKSPACE_CACHE_H
#define TC_WORKSPACE_CACHE_H

#include "linux/walk.h"
#include "workspace/workspace.h"

struct tc_cache_change {
    const char *relative, *kind;
    unsigned mode, was_mode; /* type and rights now, and before; 0: nothing was there */
};

/* How much of its name makes it a cache; 0: it is none. Whether it steers the host or meets newer
 * work there is not known here. */
size_t tc_cache_of(const struct tc_strv *patterns, const struct tc_cache_change *change);

/* Of an entry of a private workspace, of which only `kind` and `was_mode` are given, and why it
 * stays away. What was judged when the call ended is not judged again. */
size_t tc_cache_entry(const struct tc_cage *cage, const struct tc_item *item,
                      const struct tc_walk_entry *e, const struct tc_cache_change *change,
                      const char *held);

#endif
