/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The two records of one call, if the log is undamaged from the first of them to the second. */
#ifndef TC_AUDIT_EVIDENCE_H
#define TC_AUDIT_EVIDENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tc_audit_proof {
    char *text; /* the record, without its newline; owned. NULL: the log has none */
    size_t length;
    uint64_t seq;
    char hash[72]; /* as the record has it, which is that of its text */
};

struct tc_audit_evidence {
    struct tc_audit_proof decision, result; /* the records `run` and `result` */
    bool refused;                           /* the call has the record `refused` instead */
    const char *fault;                      /* what is damaged (static text); NULL: nothing … */
    char segment[27];                       /* … and where */
    uint64_t line;
};

/* A place in a log. */
struct tc_audit_place {
    char segment[27]; /* empty: the beginning of the log */
    int64_t at;       /* after the last whole record at that time */
};

/* Where the log ends now. 0, or -1 with errno. */
int tc_audit_end(int dir, struct tc_audit_place *ret);

/* Reads a log to its end. Every record from the decision to the result must have the right hash and
 * follow the one before it; a call may have only one decision and one result. (A log that keeps a
 * limited size may have lost the decision.) 0, also with a fault;
 * or -1 with errno. Call tc_audit_evidence_done() in any case. */
int tc_audit_evidence(int dir, const char *call, struct tc_audit_evidence *ret);
/* The same from a place where the log ended before the call's decision; `line` of a fault counts
 * from there. */
int tc_audit_evidence_since(int dir, const char *call, const struct tc_audit_place *since,
                            struct tc_audit_evidence *ret);
void tc_audit_evidence_done(struct tc_audit_evidence *evidence);

#endif
