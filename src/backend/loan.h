/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A worker on loan. The helper has made one that serves call after call of one grant, which sees
 * nothing of the host; the library may hand it calls itself, without asking the helper each time.
 * The worker's cage, its limits and its end stay the helper's: it watches the processes, the time
 * and the memory as if one call lasted on, and looks here for which call that is.
 *
 * The page is shared by library and helper, and by nobody else: no worker ever sees it. Both trust
 * what the other writes as far as they trust its messages. */
#ifndef TC_BACKEND_LOAN_H
#define TC_BACKEND_LOAN_H

#include <stdatomic.h>
#include <stdint.h>
#include <sys/timerfd.h>

#include "base/handed_end.h"

/* What becomes of the worker, and the call that it serves or served last, in one word. It changes
 * by compare-and-swap alone: of a call that begins or ends, and a helper that ends it or lets go of
 * a worker which nobody uses, one succeeds; and what the helper has found of one call is never done
 * to the next. */
enum { TC_LOAN_FREE, TC_LOAN_BUSY, TC_LOAN_OVER, TC_LOAN_STATES };

static inline int64_t tc_loan_word(int64_t serial, int state)
{
    return serial * TC_LOAN_STATES + state;
}

static inline int tc_loan_state(int64_t word)
{
    return (int)(word % TC_LOAN_STATES);
}

static inline int64_t tc_loan_serial(int64_t word)
{
    return word / TC_LOAN_STATES;
}

struct tc_loan_page {
    _Atomic int64_t word;     /* calls are numbered from 1, by the library, each but once */
    _Atomic int64_t begun_us; /* when it began */
    _Atomic int64_t told_us;  /* processor time of the calls before it, in the worker's words */
    /* When the helper will look next; past: it will not. Who says that a call begins reads this
     * afterwards, and the helper, when it looks, makes it past before it reads the word: one sees
     * the other. */
    _Atomic int64_t armed_us;
    struct tc_handed_end end; /* of the call with which the loan goes back */
    /* the helper's words, written before the library has the page */
    int64_t made_us; /* when the worker was made */
    int64_t calls;   /* that it may still serve */
    int64_t owner;   /* of its streams; -1: the caller itself */
};

/* What comes with the message that says so. The last is a clock that the helper waits for. */
enum tc_loan_fd {
    TC_LOAN_TALK,
    TC_LOAN_ROOT,
    TC_LOAN_TMP,
    TC_LOAN_PAGE,
    TC_LOAN_CLOCK,
    TC_LOAN_FDS
};

/* While a call runs the helper looks this often, as at any other; while none does, never. */
enum { TC_LOAN_LOOK_US = 100000 };

/* The helper is to look then, by the clock that both have; 0, or -1 with errno. */
static inline int tc_loan_arm(struct tc_loan_page *page, int clock, int64_t us)
{
    enum { MILLION = 1000000, THOUSAND = 1000 };
    const struct itimerspec when = {
        .it_value = {.tv_sec = us / MILLION, .tv_nsec = us % MILLION * THOUSAND}};
    atomic_store(&page->armed_us, us);
    return timerfd_settime(clock, TFD_TIMER_ABSTIME, &when, NULL);
}

#endif
