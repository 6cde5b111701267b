/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Checks an audit log: every record, the chain of all records, and the anchor. Needs the same
 * memory for any number of records. */
#ifndef TC_AUDIT_VERIFY_H
#define TC_AUDIT_VERIFY_H

#include <stdbool.h>
#include <stdint.h>

/* Called for each fault. `segment` NULL: the log as a whole; `line` from 1, 0: the whole segment.
 */
typedef void tc_audit_fault_fn(void *context, const char *segment, uint64_t line, const char *what);

struct tc_audit_found {
    uint64_t segments, records, faults;
    uint64_t run, refused, results, settle, settled; /* records of these kinds */
    uint64_t anchored;                               /* records that the anchor has */
    bool unfinished; /* a writer was killed in the last record, or is writing it */
    uint64_t after;  /* records after the last one that the anchor has */
};

/* `anchor`: the path of the anchor file; NULL: none. 0, or -1 with errno: the log or the anchor
 * cannot be read. */
int tc_audit_verify(int dir, const char *anchor, tc_audit_fault_fn *fault, void *context,
                    struct tc_audit_found *ret);

#endif
