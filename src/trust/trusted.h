/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Reads the user's record of trusted policies: lines "sha256:… /canonical/path" in the file "trust"
 * of the state directory. */
#ifndef TC_TRUST_TRUSTED_H
#define TC_TRUST_TRUSTED_H

#include <stdbool.h>

/* The start of the line for `path` in the record's text, or NULL. */
const char *tc_trusted_line(const char *text, const char *path);
/* Is this the digest on the line? */
bool tc_trusted_digest(const char *line, const char *digest);
/* Does the user's record trust this digest for the canonical path? False if it cannot be read. */
bool tc_trusted(const char *path, const char *digest);
/* The record's path, owned; NULL: there is none. */
char *tc_trusted_place(void);

#endif
