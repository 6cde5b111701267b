/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Git's packs of objects. git reads them before loose objects, so an index that gives an id to
 * other content replaces what a repository has. A pack is sound when each object of its index
 * hashes to its id. Runs in the process that collects changes. */
#ifndef TC_WORKSPACE_PACK_H
#define TC_WORKSPACE_PACK_H

#include "workspace/object.h"

enum {
    TC_PACK_OBJECT_MAX = 32 << 20, /* bytes of an object, or of a difference between two */
    TC_PACK_DEPTH_MAX = 256,       /* differences on the way to an object; git makes 50 */
};

/* Is it sound? `hash`: bytes of an id, 20 or 32. `reverse`: the order of the objects in the pack,
 * which has to be right, too; NULL: there is none. `*left`: bytes that may be read and inflated. */
bool tc_pack_sound(struct tc_bytes pack, struct tc_bytes index, const struct tc_bytes *reverse,
                   size_t hash, int64_t *left);

#endif
