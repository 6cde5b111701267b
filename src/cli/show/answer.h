/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The answer to one access, for a person: allowed or not, by which words of the policy, and what
 * holds it here. */
#ifndef TC_CLI_SHOW_ANSWER_H
#define TC_CLI_SHOW_ANSWER_H

#include <stdio.h>

#include "cli/call/setup.h"
#include "cli/show/json.h"

/* `grant` is what toolcage_call_explain_json() says with that access. */
/* Is it allowed, and does something here enforce it? */
bool tc_answer_is_yes(struct tc_slice grant);
void tc_answer_put(FILE *out, const struct tc_setup *setup, const char *access,
                   struct tc_slice grant);

#endif
