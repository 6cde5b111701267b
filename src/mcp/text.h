/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A text being written through a stream, as by open_memstream(); but that one loses what it finds
 * no memory for without a word, and half a message must not leave. */
#ifndef TC_MCP_TEXT_H
#define TC_MCP_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

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
