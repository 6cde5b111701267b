/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Half a message must not leave where memory is lacking.
 *
 * jansson does not always say that it got no memory: a text that it writes then lacks a piece, and
 * one that it reads is said to be no JSON. From the first time on nothing more may be said. */
#ifndef TC_MCP_MEMORY_H
#define TC_MCP_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* From here on jansson's allocations are looked at, for the whole program. */
void tc_mcp_memory_watch(void);
/* Was there one without memory? */
bool tc_mcp_starved(void);

/* A text being written through a stream, as by open_memstream(); but that one loses what it finds
 * no memory for without a word. */
struct tc_text {
    FILE *out; /* unbuffered: `length` is what was written so far */
    char *bytes;
    size_t length, size;
    bool failed;
};

/* False: no memory, and there is nothing to finish. The record must stay in its place. */
bool tc_text_begin(struct tc_text *text);
/* All of it, ended by NUL and owned by the caller; NULL: no memory, now or while it was written. */
char *tc_text_finish(struct tc_text *text);

#endif
