/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The record of trusted policies: lines "sha256:… /canonical/path" in
 * $XDG_STATE_HOME/toolcage/trust, readable and writable by its owner only. The digest is the
 * compiled policy's: another meaning asks again, another comment does not. */
#ifndef TC_CLI_TRUST_H
#define TC_CLI_TRUST_H

#include "cli/failure.h"

enum tc_trust { TC_TRUST_NEVER, TC_TRUST_CHANGED, TC_TRUST_YES };

/* 0 with the answer, or -1 with the failure (then nothing is trusted). */
int tc_trust_check(const char *path, const char *digest, enum tc_trust *ret,
                   struct tc_failure *failure);
/* Records the digest for the path in place of an older one; NULL: forgets the path. 0 or -1. */
int tc_trust_set(const char *path, const char *digest, struct tc_failure *failure);

#endif
