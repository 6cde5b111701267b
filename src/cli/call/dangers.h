/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A tool chooses what it touches and what it is refused: what is dangerous in a policy that was
 * made of that is said beside it. */
#ifndef TC_CLI_CALL_DANGERS_H
#define TC_CLI_CALL_DANGERS_H

struct toolcage_policy;

/* One line and a hint on standard error for each finding of `after`, a TOML policy called `name`,
 * that `before` (NULL: there was none) does not have; `least` is "note" for all of them, "error"
 * for the worst. */
void tc_dangers_tell(const char *name, const char *before, const char *after, const char *least);

/* The same for every finding of a compiled policy: no comment of its file silences one. */
void tc_dangers_of(const struct toolcage_policy *policy);

#endif
