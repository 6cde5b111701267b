/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Detects out-of-memory inside jansson, so that no incomplete message is sent.
 *
 * jansson does not always report a failed allocation: text that it writes then lacks a piece, and
 * text that it reads is reported as invalid JSON. After the first failure no message may be sent.
 */
#ifndef TC_MCP_MEMORY_H
#define TC_MCP_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Monitors all jansson allocations of this program from now on. */
void tc_mcp_memory_watch(void);
/* Has an allocation failed? */
bool tc_mcp_starved(void);

/* A text written through a stream, like open_memstream(). But open_memstream() drops what it cannot
 * store without reporting it; this one fails. */
struct tc_text {
    FILE *out; /* unbuffered, so `length` is always up to date */
    char *bytes;
    size_t length, size;
    bool failed;
};

/* False: out of memory, and tc_text_finish() must not be called. The struct must not move. */
bool tc_text_begin(struct tc_text *text);
/* The whole text with a NUL, owned by the caller. NULL: memory ran out now or earlier. */
char *tc_text_finish(struct tc_text *text);

#endif
