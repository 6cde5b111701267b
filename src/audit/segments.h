/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The files of an audit log: a directory of segments. A segment is named after the time at which it
 * was begun, and has one record a line; the next one continues its chain of records. Whoever writes
 * holds a lock on the directory. */
#ifndef TC_AUDIT_SEGMENTS_H
#define TC_AUDIT_SEGMENTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "audit/line.h"
#include "base/clock.h"
#include "base/strv.h"

enum { TC_SEGMENT_FILE_SIZE = TC_ULID_SIZE + 6 };

/* "01JD….jsonl" */
void tc_segment_file(const char *segment, char out[TC_SEGMENT_FILE_SIZE]);
/* The segments in their order. -1 with errno. */
int tc_segments_list(int dir, struct tc_strv *ret);
/* Opens one, a regular file; `flags` as for open(2). -1 with errno. */
int tc_segment_open(int dir, const char *segment, int flags);

/* Called with each line, without its newline. A line that is longer than TC_AUDIT_LINE_MAX is
 * passed with its beginning and a length above that. False: stop. */
typedef bool tc_segment_line_fn(void *context, const char *line, size_t length);
/* Reads the complete lines from the offset `from` on. Returns the offset after the last one, or -1
 * with errno. *ret_cut: bytes without a newline follow it. */
int64_t tc_segment_each(int fd, int64_t from, tc_segment_line_fn *fn, void *context, bool *ret_cut);

/* The end of a segment. */
struct tc_segment_end {
    struct tc_audit_line last;
    int64_t size; /* of its whole lines */
    int64_t cut;  /* bytes after them, which a killed writer left */
};
/* Reads the end. NULL, or what is wrong (static text). */
const char *tc_segment_end(int fd, struct tc_segment_end *ret);
/* Has it a whole line, or more bytes than its first one can have? Else a writer was killed in that.
 */
bool tc_segment_has_line(int fd);
/* Reads the first record. NULL, or what is wrong (static text). */
const char *tc_segment_first(int fd, struct tc_audit_line *ret);

/* The members of an "open", which begins each segment. */
struct tc_segment_open {
    char segment[TC_ULID_SIZE];
    uint64_t from;              /* the first record that was kept when the segment was begun … */
    char after[TC_DIGEST_SIZE]; /* … and its `prev` */
};
void tc_segment_write_open(const struct tc_segment_open *open, struct tc_buf *members);
/* False: it is another record. */
bool tc_segment_read_open(const struct tc_audit_line *line, struct tc_segment_open *ret);

#endif
