/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Reading a changed file, once: its digest and its bytes are of the same reading, so that they
 * agree whoever writes to the file meanwhile. Never through a link, never waiting for a pipe or a
 * device, and bounded for each file and for the call. Runs in the collector. */
#ifndef TC_WORKSPACE_READING_H
#define TC_WORKSPACE_READING_H

#include <stddef.h>

#include "linux/walk.h"

enum {
    TC_CONTENT_FILE_MAX = 256 << 10, /* bytes of a file that are kept; else none of it is */
    TC_CONTENT_CALL_MAX = 1 << 20,   /* of all files of a call */
};

/* What the files of one call took so far. */
struct tc_reader {
    int64_t hashed; /* bytes */
    int64_t most;   /* that are; 0: as many as in any call */
    bool refused;   /* a file, for that */
    size_t kept;
    char *room; /* for one file; NULL: not yet needed */
};

struct tc_reading {
    char *sha256;  /* hex; NULL: no regular file, too much for the call, or it cannot be read */
    char *content; /* NULL: not wanted, or left out for its size; an empty file has one, too */
    int64_t bytes; /* how many were read */
    bool no_memory;
};

/* The file that the walk saw, or -1: another one, or no file, took its name since. */
int tc_reading_open(const struct tc_walk_entry *e);
/* Reads the entry; `keep`: its bytes, too. */
void tc_reading_make(struct tc_reader *reader, const struct tc_walk_entry *e, bool keep,
                     struct tc_reading *ret);
void tc_reading_done(struct tc_reading *reading);
void tc_reader_done(struct tc_reader *reader);

#endif
