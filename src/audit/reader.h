/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Reads an audit log, also while calls write to it. */
#ifndef TC_AUDIT_READER_H
#define TC_AUDIT_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The path of this user's log, owned. NULL: no home is known, or out of memory. */
char *tc_audit_path(void);
/* Opens a log's directory. `own`: it must be writable by the caller alone. -1 with errno. */
int tc_audit_open(const char *path, bool own);

/* How far each segment has been read; initialise with zeros and the directory. */
struct tc_audit_cursor {
    int dir; /* borrowed */
    struct tc_audit_part {
        char segment[27];
        int64_t at;
    } * parts;
    size_t count;
};

/* Called with each record, a JSON object without its newline. False: stop. */
typedef bool tc_audit_record_fn(void *context, const char *record, size_t length);
/* Reads the records that were added since the last time, segment by segment. Damaged ones are
 * passed on, too. 0, or -1 with errno. */
int tc_audit_read(struct tc_audit_cursor *cursor, tc_audit_record_fn *fn, void *context);
/* Lets a new cursor begin so many bytes before the end of the log, in the middle of a record
 * usually: its rest is passed on as a damaged one. *ret_cut: the log is longer. 0, or -1 with
 * errno.
 */
int tc_audit_tail(struct tc_audit_cursor *cursor, int64_t most, bool *ret_cut);
void tc_audit_cursor_done(struct tc_audit_cursor *cursor);

#endif
