/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The arguments of a call, for the person who approves it: all of them, harmless for a terminal, in
 * lines that no value can imitate and that hide nothing beyond the right edge. */
#ifndef TC_AGENT_SHOWN_H
#define TC_AGENT_SHOWN_H

#include <jansson.h>

/* "  name: value", and below it "  | " in front of each line of a text, "  : " where one goes on.
 * Owned; NULL without memory. */
char *tc_shown_arguments(json_t *arguments, size_t width);

#endif
