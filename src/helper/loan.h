/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A job whose worker the library has on loan. It goes on as if its call did: what watches the cage,
 * bounds it and ends it stays. Which call it is stands in the page that both share. */
#ifndef TC_HELPER_LOAN_H
#define TC_HELPER_LOAN_H

#include <stdbool.h>
#include <stdint.h>

struct tc_running;

struct tc_job_loan {
    struct tc_loan_page *page; /* NULL: there is none */
    int memory, clock;
    int64_t idle_at_us; /* when to see whether anybody still uses it */
    int64_t wanted_us;  /* when the cage wants to be looked at again; past: as usual */
};

/* To the cage: which call its worker serves. */
void tc_loan_tell(struct tc_running *job);
/* The cage has lent its worker: answers the call, and tells the library. Where it cannot be told,
 * the worker is back, and the job ends as every other. */
void tc_loan_begin(struct tc_running *job);
/* The library's clock has come: is the call that runs at its end, or over a limit? */
void tc_loan_look(struct tc_running *job);
/* Nobody may have used it for long; then it ends. */
void tc_loan_tick(struct tc_running *job, int64_t now_us);
/* The library gives it back. */
void tc_loan_return(struct tc_running *job);
/* Does no call run? */
bool tc_loan_is_idle(const struct tc_running *job);
/* Is this the call that runs? Then it does not come to its end by itself any more. Always true of a
 * job that has lent nothing. */
bool tc_loan_claim(struct tc_running *job, int64_t serial);
void tc_loan_done(struct tc_running *job);

#endif
