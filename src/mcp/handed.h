/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The other end of tc_secret_hand_over(): how a program of ours takes what the command line hands
 * to it. */
#ifndef TC_MCP_HANDED_H
#define TC_MCP_HANDED_H

#include <jansson.h>

/* The JSON text of at most `most` bytes behind descriptor `fd`, which is closed; the text, which
 * may hold keys, is wiped. Owned; NULL where there is none. */
json_t *tc_handed_config(int fd, size_t most);

#endif
