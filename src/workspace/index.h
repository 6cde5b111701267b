/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * An index of git, as it is: does it hide something from `git status` and `git diff`? */
#ifndef TC_WORKSPACE_INDEX_H
#define TC_WORKSPACE_INDEX_H

#include "workspace/object.h"

/* Its checksum is right, each tree that it caches has the id of its entries (git commits that id
 * without looking at them), no entry is marked as one not to be compared with its file, and no
 * extension says so of other files. Of versions 2 and 3, with ids of SHA-1 or SHA-256; of others
 * nothing is known. `left` is what may still be read and hashed in this call, in bytes. */
bool tc_index_sound(struct tc_bytes index, int64_t *left);

#endif
