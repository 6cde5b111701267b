/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Whether something in this user's state was put there by toolcage: a seal is the HMAC-SHA256 of a
 * text that says what it is, under a key that lies beside it and that nobody else can read. */
#ifndef TC_STATE_SEAL_H
#define TC_STATE_SEAL_H

#include <stdbool.h>

#include "base/digest.h"

/* The seal of the text; makes the key of the directory `dir` where there is none. False: errno. */
bool tc_seal(const char *dir, const char *text, char out[TC_DIGEST_SIZE]);
/* Is it that? `seal` is TC_DIGEST_SIZE - 1 characters, ended or not. */
bool tc_seal_holds(const char *dir, const char *text, const char *seal);

/* A regular file of this user's that nobody else can write; no link. -1 with errno. */
int tc_open_own(const char *path, int flags);

#endif
