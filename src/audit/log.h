/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Writes the audit log of this user: records are appended and never changed. All programs of the
 * user write one chain of records, one after the other: a writer opens the log for each record, so
 * that it needs no state, and always writes to the log that readers see. */
#ifndef TC_AUDIT_LOG_H
#define TC_AUDIT_LOG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "audit/line.h"
#include "base/error.h"

/* When a record is flushed to the disk. */
enum tc_audit_sync { TC_SYNC_INTERVAL, TC_SYNC_ALWAYS, TC_SYNC_NONE };

struct tc_audit_options {
    enum tc_audit_sync sync;
    _Atomic int64_t *synced_us; /* for INTERVAL: when the program flushed last; 0: never */
    int64_t keep;               /* bytes of all segments; older ones are removed. 0: all are kept */
    const char *anchor;         /* a file that gets the hash of each record, too; NULL: none */
    int64_t segment;            /* bytes after which a segment is complete; 0: 32 MiB */
};

/* Appends one record; `members` are those of a JSON object. Threads, forks and other programs may
 * write at the same time. 0, or a negative code: the log has no part of the record. */
int tc_audit_append(const struct tc_audit_options *options, const char *kind,
                    const struct tc_buf *members, struct toolcage_error **err);

#endif
