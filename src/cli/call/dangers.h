/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Prints the dangerous parts of a policy that was generated from a tool's accesses and denials: the
 * tool influences both. */
#ifndef TC_CLI_CALL_DANGERS_H
#define TC_CLI_CALL_DANGERS_H

struct toolcage_policy;

/* Prints one line and a hint on standard error for each finding in `after`, a TOML policy called
 * `name`, that is not in `before` (NULL: none). `least`: "note" prints all, "error" only the worst.
 * */
void tc_dangers_tell(const char *name, const char *before, const char *after, const char *least);

/* The same for all findings of a compiled policy: comments in its file silence none. */
void tc_dangers_of(const struct toolcage_policy *policy);

#endif
