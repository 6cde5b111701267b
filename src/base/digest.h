/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * SHA-256 with libmd. */
#ifndef TC_BASE_DIGEST_H
#define TC_BASE_DIGEST_H

#include <sha2.h>
#include <stdbool.h>
#include <stddef.h>

enum { TC_DIGEST_SIZE = 7 + 64 + 1 }; /* "sha256:" + hex + NUL */

void tc_digest(const void *bytes, size_t len, char out[TC_DIGEST_SIZE]);
/* Finishes an incremental context. */
void tc_digest_finish(SHA2_CTX *ctx, char out[TC_DIGEST_SIZE]);

/* Is it "sha256:" and 64 lower-case digits? */
bool tc_digest_valid(const char *text);

#endif
