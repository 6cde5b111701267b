/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A record of the audit log: one line, a JSON object. It begins with the hash of the record before
 * it and its number, and ends with its own hash, that of all its bytes before `,"hash"`:
 *
 *   {"prev":"sha256:…","seq":7,"kind":"run","time":"…",…,"hash":"sha256:…"} */
#ifndef TC_AUDIT_LINE_H
#define TC_AUDIT_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/digest.h"

/* LINE_MAX: bytes of a record. HEAD_SIZE: its beginning, which has the members of an "open". */
enum { TC_AUDIT_LINE_MAX = 1 << 20, TC_AUDIT_KIND_SIZE = 16, TC_AUDIT_HEAD_SIZE = 512 };

/* The `prev` of the first record of a log. */
extern const char tc_audit_nothing[TC_DIGEST_SIZE];

struct tc_audit_line {
    char prev[TC_DIGEST_SIZE], hash[TC_DIGEST_SIZE];
    uint64_t seq; /* its number in the log, from 0 */
    char kind[TC_AUDIT_KIND_SIZE];
    char rest[TC_AUDIT_HEAD_SIZE]; /* what follows the kind, from its comma on; cut to this size */
};

/* Begins a record; the writer adds members. */
void tc_audit_line_begin(struct tc_buf *line, const char *prev, uint64_t seq, const char *kind);
/* Ends the record with its hash, which is also stored in `hash`, and a newline. */
void tc_audit_line_end(struct tc_buf *line, char hash[TC_DIGEST_SIZE]);
/* Reads a record (without its newline). NULL, or what is wrong with it (static text). */
const char *tc_audit_line_read(const char *text, size_t length, struct tc_audit_line *ret);
/* Is its hash that of its text? NULL, or what is wrong. */
const char *tc_audit_line_check(const char *text, size_t length, const struct tc_audit_line *line);

#endif
