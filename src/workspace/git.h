/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Verifies repository files that git trusts: loose objects, packs and indexes. A tool wrote them,
 * so they are parsed only in the process that collects changes. An object's id is the SHA-1 (40
 * digits) or SHA-256 (64) of its type, size and content: "blob 12", a NUL and 12 bytes. If an id
 * had other content, git would check out a file that was never reviewed. */
#ifndef TC_WORKSPACE_GIT_H
#define TC_WORKSPACE_GIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    TC_OBJECT_MAX = 128 << 20,     /* inflated bytes of a loose object */
    TC_PACK_OBJECT_MAX = 32 << 20, /* bytes of an object or of a delta */
    TC_PACK_DEPTH_MAX = 256,       /* deltas in a chain; git makes 50 */
};

struct tc_bytes {
    const unsigned char *at;
    size_t size;
};

/* A big-endian number of four bytes. */
static inline uint32_t tc_bytes_number(const unsigned char *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* Takes bytes from a budget; false when it is used up. */
static inline bool tc_bytes_spend(int64_t *left, size_t bytes)
{
    *left -= (int64_t)bytes;
    return *left >= 0;
}

/* Is `id`, of `size` bytes, the id of this type and content? */
bool tc_object_is(const char *type, struct tc_bytes content, const unsigned char *id, size_t size);

/* Is `sum`, of `size` bytes, the checksum of the content? */
bool tc_object_sum(struct tc_bytes content, const unsigned char *sum, size_t size);

/* Does the loose object read from `fd` have this hexadecimal id? Also false if it is truncated,
 * followed by other bytes, larger than TC_OBJECT_MAX, or exceeds `*left`, the bytes that may still
 * be read and inflated in this call. */
bool tc_object_matches(int fd, const char *id, int64_t *left);

/* Does the content read from `fd` have this SHA-256? Limited only by `*left`. */
bool tc_object_hashes(int fd, const char *digits, int64_t *left);

/* Does each object of the pack's index hash to its id? `hash`: bytes of an id, 20 or 32. `reverse`:
 * the reverse index, which must be right, too; NULL: none. `*left`: bytes that may still be read
 * and inflated. */
bool tc_pack_sound(struct tc_bytes pack, struct tc_bytes index, const struct tc_bytes *reverse,
                   size_t hash, int64_t *left);

/* Does the index of a work tree hide no change from `git status` and `git diff`? Its checksum is
 * right, each cached tree has the id of its entries (git commits that id without checking it), no
 * entry is marked as unchanged or skipped, and no extension marks other files so. False for
 * versions other than 2 and 3. `left` as above. */
bool tc_index_sound(struct tc_bytes index, int64_t *left);

#endif
