/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What a backend is, in two halves. The front lives in the library and only decides: which clauses the
 * backend can enforce at all, and the plan for a grant. The works live in the helper and only do. Both are
 * named by the same word; src/backend/fronts.c and src/backend/works.c are the only lists of them. */
#ifndef TC_BACKEND_BACKEND_H
#define TC_BACKEND_BACKEND_H

#include "backend/outcome.h"
#include "backend/plan.h"
#include "base/error.h"

enum { TC_BACKEND_NO_BOUNDARY = 1 }; /* flags: enforces nothing, and every result says so */

/* ---- the front (library) ------------------------------------------------------------------------ */

struct tc_front {
    const char *name, *summary;
    int flags;
    tc_clauses provides; /* which clauses it can enforce on a machine that has everything */
    /* grant -> plan; pure. Fills *ret (zeroed); the caller frees it with tc_plan_done also on failure. */
    int (*lower)(const struct tc_grant *grant, struct tc_plan *ret, struct toolcage_error **err);
};

/* By name, or NULL. */
const struct tc_front *tc_front_find(const char *name);
/* The index-th, or NULL past the end. */
const struct tc_front *tc_front_at(size_t index);
/* "process, fake, …" of all fronts; owned. */
char *tc_front_names(void);

/* ---- the works (helper) ------------------------------------------------------------------------- */

struct tc_works;

/* One cage. The supervisor owns the record; a backend keeps its own state behind `priv`. */
struct tc_cage {
    const struct tc_works *works;
    const struct tc_plan *plan;
    struct tc_outcome *outcome; /* denials, enforcement, timings and failures are written here */
    void *priv;
    int stdin_fd;  /* in: read end for the tool, or -1 (then it reads end-of-file); start() takes it */
    int out_fd;    /* out: read end of the tool's standard output, non-blocking */
    int err_fd;    /* out: the same of standard error */
    int exit_fd;   /* out: readable when the tool and everything it started has ended */
    int notify_fd; /* out: a descriptor the backend wants served by works->notify, or -1 */
    int oom_fd;    /* out: readable when the kernel killed for memory, or -1 */
};

/* Absent slots get defaults at registration, so nobody tests for NULL. Each returns 0, or -1 after
 * filling cage->outcome->failure. None blocks for long: waiting is the supervisor's. */
struct tc_works {
    const char *name;
    /* Which clauses work on this machine: one tc_probe a clause into outcome->probes. */
    int (*probe)(struct tc_outcome *outcome);
    /* plan -> cage: everything that can be done before the call's own bytes are needed. */
    int (*prepare)(struct tc_cage *cage);
    /* Runs the tool; fills the descriptors. READY has been seen when it returns 0. */
    int (*start)(struct tc_cage *cage);
    /* Something is ready on notify_fd. Does a bounded share of work. */
    void (*notify)(struct tc_cage *cage);
    /* Asks the tool to end (kill = false: SIGTERM to the tool), or ends the whole cage at once. */
    void (*signal)(struct tc_cage *cage, bool kill);
    /* The exit descriptor became readable: exit code or signal into the outcome. */
    void (*reap)(struct tc_cage *cage);
    /* Processor time used so far by the whole cage in microseconds, -1 when unknown. */
    int64_t (*cpu_us)(struct tc_cage *cage);
    /* After the end: usage, and which limits' counters moved (outcome->limit when one explains a failure). */
    void (*usage)(struct tc_cage *cage);
    /* After the end: changed files into the outcome; commits a copied workspace when `commit` says so. */
    void (*collect)(struct tc_cage *cage, bool commit);
    /* Everything gone, whatever had been built; NULL-safe for half-built cages. */
    void (*destroy)(struct tc_cage *cage);
};

const struct tc_works *tc_works_find(const char *name);
const struct tc_works *tc_works_at(size_t index);

/* Writes cage->outcome->failure (status too) and returns -1: the one way in which works fail. */
int tc_cage_fail(struct tc_cage *cage, const struct tc_why *why, int clause, const char *fmt, ...) TC_PRINTF(4, 5);

#endif
