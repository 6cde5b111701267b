/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Messages as lines. Reads and writes happen only when poll() reports the fd as ready, so neither
 * blocks although the fds are in blocking mode: the mode is shared with other processes. */
#ifndef TC_MCP_LINES_H
#define TC_MCP_LINES_H

#include <stdbool.h>
#include <stddef.h>

#include "mcp/rescue.h"

enum { TC_LINE_MAX = 8 << 20 };

struct tc_lines {
    char *text;
    size_t length, size, taken;
    bool skipping;           /* discards the rest of a line that was too long */
    bool skipped;            /* has discarded it */
    struct tc_rescue rescue; /* of that line */
};

enum tc_line { TC_LINE_NONE, TC_LINE_WHOLE, TC_LINE_TOO_LONG, TC_LINE_SKIPPED };

/* One read(2): 1 when bytes arrived, 0 at the end, -1 with errno. */
int tc_lines_read(struct tc_lines *lines, int fd);
/* Adds bytes that were read elsewhere. False: out of memory. */
bool tc_lines_add(struct tc_lines *lines, const char *bytes, size_t length);
/* The next complete line without its newline, borrowed until the next read. TOO_LONG is returned
 * once per line, as soon as its length is known, and SKIPPED at its end: then `rescue` has read all
 * of it. */
enum tc_line tc_lines_next(struct tc_lines *lines, const char **ret, size_t *ret_length);
void tc_lines_done(struct tc_lines *lines);

struct tc_outbox {
    char *text;
    size_t length, size, sent;
};

/* Adds text and a newline. False: out of memory, nothing was added. */
bool tc_outbox_add(struct tc_outbox *box, const char *text, size_t length);
size_t tc_outbox_pending(const struct tc_outbox *box);
/* One write(2): 0, or -1 with errno. */
int tc_outbox_write(struct tc_outbox *box, int fd);
void tc_outbox_done(struct tc_outbox *box);

#endif
