/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Files of a repository that git trusts, checked: loose objects, packs and indexes. Written by a
 * tool, they are read only in the process that collects changes. An object is what its id says:
 * "blob 12", a NUL and 12 bytes, hashed by SHA-1 (an id of 40 digits) or SHA-256 (64). Where
 * another content stands under the id, git checks out what nobody reviewed. */
#ifndef TC_WORKSPACE_GIT_H
#define TC_WORKSPACE_GIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    TC_OBJECT_MAX = 128 << 20,     /* inflated bytes of a loose object */
    TC_PACK_OBJECT_MAX = 32 << 20, /* bytes of an object, or of a difference between two */
    TC_PACK_DEPTH_MAX = 256,       /* differences on the way to an object; git makes 50 */
};

struct tc_bytes {
    const unsigned char *at;
    size_t size;
};

/* Four bytes, the highest first. */
static inline uint32_t tc_bytes_number(const unsigned char *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* May so many bytes still be read or made? */
static inline bool tc_bytes_spend(int64_t *left, size_t bytes)
{
    *left -= (int64_t)bytes;
    return *left >= 0;
}

/* Does this content of a type have the id of `size` bytes? */
bool tc_object_is(const char *type, struct tc_bytes content, const unsigned char *id, size_t size);

/* Are these the bytes that the checksum, of `size` bytes, is of? */
bool tc_object_sum(struct tc_bytes content, const unsigned char *sum, size_t size);

/* Does the loose object that `fd` reads have the id, of hexadecimal digits? False too when that
 * cannot be told: truncated, followed by other bytes, larger than TC_OBJECT_MAX, or more than
 * `*left`, the bytes that may be read and inflated in the rest of the call. */
bool tc_object_matches(int fd, const char *id, int64_t *left);

/* Does `fd` read what hashes to this SHA-256? Bounded by `*left` alone. */
bool tc_object_hashes(int fd, const char *digits, int64_t *left);

/* Is the pack sound: does each object of its index hash to its id? `hash`: bytes of an id, 20
 * or 32. `reverse`: the order of the objects in the pack, which has to be right, too; NULL: there
 * is none.
 * `*left`: bytes that may be read and inflated. */
bool tc_pack_sound(struct tc_bytes pack, struct tc_bytes index, const struct tc_bytes *reverse,
                   size_t hash, int64_t *left);

/* Does an index of a work tree hide nothing from `git status` and `git diff`? Its checksum is
 * right, each tree that it caches has the id of its entries (git commits that id without looking at
 * them), no entry is marked as one not to be compared with its file, and no extension says so of
 * other files. Of versions 2 and 3, with ids of SHA-1 or SHA-256; of others nothing is known.
 * `left` as above. */
bool tc_index_sound(struct tc_bytes index, int64_t *left);

#endif
