/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * When the isolation of a backend was last tried on this host (`toolcage doctor --prove`), and what
 * of the host it depended on then: the kernel, this boot, its security modules and settings. */
#ifndef TC_PROOF_PROOF_H
#define TC_PROOF_PROOF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tc_proof {
    int64_t at; /* seconds of real time */
    int attacks, stopped;
};

/* Before the attacks: forgets the record, and returns what the isolation depends on, owned; NULL
 * with errno. */
char *tc_proof_begin(const char *backend);
/* After them, if none came through: records that the host was like this all the time. 0, or -1 with
 * errno; ESTALE: it changed meanwhile. Borrows. */
int tc_proof_record(const char *backend, const char *host, const struct tc_proof *proof);

/* The record, if the host is as it was then: 0. Else -1; `why` names a fact that has
 * changed, or is "" if there is no record. */
int tc_proof_find(const char *backend, struct tc_proof *ret, char *why, size_t size);

#endif
