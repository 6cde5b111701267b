/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The record of trusted policies: lines "sha256:… /canonical/path" in
 * $XDG_STATE_HOME/toolcage/trust, readable and writable by its owner only. The digest is the
 * compiled policy's, so a changed comment does not need a new approval. trusted/DIGEST in the same
 * directory stores the policy's text, to display later changes. */
#ifndef TC_CLI_CALL_TRUST_H
#define TC_CLI_CALL_TRUST_H

#include "cli/show/failure.h"

enum tc_trust { TC_TRUST_NEVER, TC_TRUST_CHANGED, TC_TRUST_YES };

/* 0 with the answer, or -1 with the failure (then nothing is trusted). */
int tc_trust_check(const char *path, const char *digest, enum tc_trust *ret,
                   struct tc_failure *failure);
/* Records the digest for the path and replaces an older one; NULL: removes the path. `text` is the
 * policy file's content, stored for a later comparison; NULL: not stored. 0 or -1. */
int tc_trust_set(const char *path, const char *digest, const char *text,
                 struct tc_failure *failure);

/* The trusted digest for `path`; NULL: none, or the record cannot be read. *ret_text is the stored
 * text, or NULL; it is unverified until its digest is compared. Both owned. */
char *tc_trust_last(const char *path, char **ret_text);

/* Is `given` a policy digest: all digits or at least the first 32, with or without "sha256:"? */
bool tc_trust_is_digest(const char *given);
bool tc_trust_matches(const char *given, const char *digest);

/* The shell command that trusts exactly this digest; `digest` NULL: the current content. Owned,
 * NULL if memory is exhausted. */
char *tc_trust_command(const char *path, const char *digest);

#endif
