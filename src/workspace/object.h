/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * An object of git is what its id says: "blob 12", a NUL and 12 bytes, hashed by SHA-1 (an id of 40
 * digits) or SHA-256 (64). Where another content stands under the id, git checks out what nobody
 * reviewed. Reads what a tool wrote, so only in the process that collects changes. */
#ifndef TC_WORKSPACE_OBJECT_H
#define TC_WORKSPACE_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TC_OBJECT_MAX = 128 << 20 }; /* inflated bytes of a loose object */

struct tc_bytes {
    const unsigned char *at;
    size_t size;
};

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

#endif
