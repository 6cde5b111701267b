/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The output of a program that the operator named. */
#ifndef TC_CALL_RESULT_OUTPUT_H
#define TC_CALL_RESULT_OUTPUT_H

#include <stddef.h>

#include "base/buf.h"

/* Starts the program at `path` as spawn/spawn.h says, with nothing to read and this process's
 * standard error, and adds what it prints to `out` until it has ended with 0. NULL, or why not
 * (static; errno is 0 or says more). After `limit_ms` it is killed. The host receives no SIGCHLD,
 * and its wait(-1) does not find this child. */
const char *tc_output_of(const char *path, char *const argv[], int limit_ms, struct tc_buf *out);

/* The media type of a file that a tool made: what its name says, if its first bytes do not say
 * otherwise; for names that say nothing, what the bytes say. `content` NULL: they are not known,
 * and the name alone has to do. Static text. Bytes are compared and never parsed, because whoever
 * wrote them may be hostile. */
const char *tc_mime_of(const char *path, const char *content, size_t len);

#endif
