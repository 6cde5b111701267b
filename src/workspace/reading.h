/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Reads a changed file once: digest and bytes come from the same read, so they agree even if
 * another process writes to the file. Follows no link, does not block on pipes or devices, and is
 * limited for each file and for the call. Runs in the collector. */
#ifndef TC_WORKSPACE_READING_H
#define TC_WORKSPACE_READING_H

#include <stddef.h>

#include "linux/walk.h"

enum {
    TC_CONTENT_FILE_MAX = 256 << 10, /* a larger file is returned without its bytes */
    TC_CONTENT_CALL_MAX = 1 << 20,   /* returned bytes of all files of a call */
};

/* The totals of one call. */
struct tc_reader {
    int64_t hashed; /* bytes */
    int64_t most;   /* limit of `hashed`; 0: the usual one */
    bool refused;   /* a file exceeded that limit */
    size_t kept;
    char *room; /* buffer for one file; NULL: not needed yet */
};

struct tc_reading {
    char *sha256;  /* hex; NULL: not a regular file, too large for the call, or unreadable */
    char *content; /* NULL: not wanted, or too large; an empty file has content, too */
    int64_t bytes; /* how many bytes were read */
    bool no_memory;
};

/* Opens the file that the walk saw; -1: its name now belongs to another file or to none. */
int tc_reading_open(const struct tc_walk_entry *e);
/* Reads the entry; `keep`: returns its bytes, too. */
void tc_reading_make(struct tc_reader *reader, const struct tc_walk_entry *e, bool keep,
                     struct tc_reading *ret);
void tc_reading_done(struct tc_reading *reading);
void tc_reader_done(struct tc_reader *reader);

#endif
