/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The record of trusted policies: lines "sha256:… /canonical/path" in
 * $XDG_STATE_HOME/toolcage/trust, readable and writable by its owner only. The digest is the
 * compiled policy's: another meaning asks again, another comment does not. Beside the record, in
 * trusted/DIGEST, lie the texts: so that a change can be shown. */
#ifndef TC_CLI_CALL_TRUST_H
#define TC_CLI_CALL_TRUST_H

#include "cli/show/failure.h"

enum tc_trust { TC_TRUST_NEVER, TC_TRUST_CHANGED, TC_TRUST_YES };

/* 0 with the answer, or -1 with the failure (then nothing is trusted). */
int tc_trust_check(const char *path, const char *digest, enum tc_trust *ret,
                   struct tc_failure *failure);
/* Records the digest for the path in place of an older one; NULL: forgets the path. `text`, what
 * the policy file holds, is kept for a later comparison; NULL: not. 0 or -1. */
int tc_trust_set(const char *path, const char *digest, const char *text,
                 struct tc_failure *failure);

/* The digest that is trusted at `path`; NULL: none, or the record cannot be read. *ret_text is the
 * text that was kept with it, or NULL: a hint, until its digest was compared. Both owned. */
char *tc_trust_last(const char *path, char **ret_text);

/* Is `given` this digest: all of it, or its first 32 digits or more, with or without "sha256:"? */
bool tc_trust_is_digest(const char *given);
bool tc_trust_matches(const char *given, const char *digest);

/* The command that trusts exactly this, as a shell reads it; `digest` NULL: whatever is there.
 * Owned, NULL without memory. */
char *tc_trust_command(const char *path, const char *digest);

#endif
