/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Reads, restores and removes what recorded calls started with. */
#ifndef TC_INPUTS_READER_H
#define TC_INPUTS_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Opens and locks the store of this user, `alone` to remove objects. -1 with errno; EWOULDBLOCK:
 * another program has the lock. */
int tc_stored_open(bool alone);
/* May be -1. */
void tc_stored_close(int store);

/* The bytes of an object with a NUL, owned; NULL with errno: ENOENT: it is not there, EBADMSG: it
 * was changed, EFBIG: it has more than 64 MiB. */
char *tc_stored_bytes(int store, const char *digest, size_t *ret_length);
/* Are these the bytes of that digest? */
bool tc_stored_is(const char *digest, const void *bytes, size_t length);

/* A private directory for a restored one; zero-initialise with -1 for both fds. */
struct tc_unpacked {
    char *path, *name;
    int parent, own;
};
/* Makes the directory, empty if `digest` is NULL, and removes those that killed programs have left.
 * 0, or -1 with errno; ENOENT: an object is not there, EBADMSG: it was changed, ENOTDIR: there is
 * no place, as the cache cannot be used. Call tc_unpacked_done() in both cases. */
int tc_stored_unpack(int store, const char *digest, struct tc_unpacked *ret);
/* Removes it. */
void tc_unpacked_done(struct tc_unpacked *unpacked);

/* Digests to be kept: directories with all that they name, and others. */
struct tc_stored_kept {
    char **directories, **others;
    size_t directory_count, other_count;
};
/* Removes all other objects from a store that was opened alone. 0 with the bytes that were removed
 * and that are left, or -1 with errno: something may be left. */
int tc_stored_sweep(int store, const struct tc_stored_kept *keep, int64_t *ret_removed,
                    int64_t *ret_left);

#endif
