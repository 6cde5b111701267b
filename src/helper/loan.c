/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "helper/loan.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "helper/deliver.h"
#include "helper/job.h"

enum { IDLE_US = 30000000 };

/* ---- the page and the clock ---- */

static bool make_page(struct tc_job_loan *l, const struct tc_cage_loan *of)
{
    l->memory = memfd_create("toolcage-loan", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (l->memory < 0 || ftruncate(l->memory, sizeof(*l->page)) < 0 ||
        fcntl(l->memory, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
        return false;
    void *page = mmap(NULL, sizeof(*l->page), PROT_READ | PROT_WRITE, MAP_SHARED, l->memory, 0);
    if (page == MAP_FAILED)
        return false;
    l->page = page;
    l->page->made_us = of->made_us;
    l->page->calls = of->calls;
    l->page->owner = of->owner;
    return true;
}

static bool make_clock(struct tc_running *j)
{
    j->loan.clock = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    return j->loan.clock >= 0 && tc_job_watch(j, TC_ROLE_CLOCK, j->loan.clock, EPOLLIN);
}

void tc_loan_done(struct tc_running *j)
{
    struct tc_job_loan *l = &j->loan;
    (void)tc_job_watch(j, TC_ROLE_CLOCK, -1, 0);
    if (l->page)
        (void)munmap(l->page, sizeof(*l->page));
    if (l->memory >= 0)
        (void)close(l->memory);
    if (l->clock >= 0)
        (void)close(l->clock);
    *l = (struct tc_job_loan){.memory = -1, .clock = -1};
}

/* ---- lending ---- */

/* As the call's answer, beside which it is. */
static int send(struct tc_running *j)
{
    const int fds[] = {[TC_LOAN_TALK] = j->cage.loan.talk,
                       [TC_LOAN_ROOT] = j->cage.loan.root,
                       [TC_LOAN_TMP] = j->cage.loan.tmp,
                       [TC_LOAN_PAGE] = j->loan.memory,
                       [TC_LOAN_CLOCK] = j->loan.clock};
    const struct tc_message lent = {.kind = TC_MESSAGE_LENT};
    struct tc_wire w = TC_WIRE_PUT_INIT;
    w.out.max = sizeof(lent) + TC_MESSAGE_BYTES_MAX;
    tc_buf_add(&w.out, &lent, sizeof(lent));
    tc_outcome_visit(&w, &j->outcome);
    _autobuf_ struct tc_buf packet = w.out;
    if (w.failed || packet.failed)
        return -1;
    return tc_send_now(j->socket, packet.data, packet.len, fds, TC_COUNT(fds));
}

/* The worker has left its ends already. */
static void answer(struct tc_running *j)
{
    struct tc_stream *streams[] = {&j->outcome.out, &j->outcome.err};
    j->outcome.wall_us = tc_now_us() - (j->running_us ? j->running_us : j->started_us);
    tc_job_drain(j);
    for (size_t i = 0; i < TC_COUNT(streams); i++)
        tc_output_finish(&j->output[i], 0, streams[i]);
    tc_job_judge(j, j->cage.works->usage(&j->cage));
}

void tc_loan_tell(struct tc_running *j)
{
    const struct tc_loan_page *page = j->loan.page;
    struct tc_cage_loan *loan = &j->cage.loan;
    /* first: what was told before it is there then */
    loan->serial = tc_loan_serial(atomic_load(&page->word));
    loan->begun_us = atomic_load(&page->begun_us);
    loan->told_us = atomic_load(&page->told_us);
}

static void take_back(struct tc_running *j, const struct tc_handed_end *end)
{
    j->cage.returned = end;
    tc_job_hear(j);
}

void tc_loan_begin(struct tc_running *j)
{
    const struct tc_handed_end end = j->cage.loan.end;
    if (make_page(&j->loan, &j->cage.loan) && make_clock(j)) {
        answer(j);
        int sent = send(j);
        tc_outcome_drop_call(&j->outcome); /* for the calls of the loan */
        if (sent == 0) {
            for (size_t i = 0; i < TC_COUNT(j->output); i++)
                tc_output_done(&j->output[i]);
            j->loan.idle_at_us = tc_now_us() + IDLE_US;
            j->end_at_us = j->cage.look_at_us = 0;
            return;
        }
    }
    tc_loan_done(j);
    take_back(j, &end);
}

/* ---- while it is lent ---- */

bool tc_loan_is_idle(const struct tc_running *j)
{
    return j->loan.page && tc_loan_state(atomic_load(&j->loan.page->word)) == TC_LOAN_FREE;
}

bool tc_loan_claim(struct tc_running *j, int64_t serial)
{
    int64_t runs = tc_loan_word(serial, TC_LOAN_BUSY), over = tc_loan_word(serial, TC_LOAN_OVER);
    return !j->loan.page || atomic_compare_exchange_strong(&j->loan.page->word, &runs, over);
}

/* Looks as often as at a call of its own, and at its end. */
static void look_again(const struct tc_job_loan *l, int64_t now, int64_t end_at)
{
    int64_t next = l->wanted_us > now ? l->wanted_us : now + TC_LOAN_LOOK_US;
    (void)tc_loan_arm(l->page, l->clock, end_at && end_at < next ? end_at : next);
}

void tc_loan_look(struct tc_running *j)
{
    struct tc_loan_page *page = j->loan.page;
    int64_t timeout_ms = j->plan.limits.timeout_ms, now = tc_now_us();
    uint64_t times;
    if (read(j->loan.clock, &times, sizeof(times)) < 0 || j->kill_at_us)
        return;
    atomic_store(&page->armed_us, 0);
    int64_t word = atomic_load(&page->word);
    if (tc_loan_state(word) != TC_LOAN_BUSY)
        return;
    j->running_us = atomic_load(&page->begun_us);
    int64_t end_at = timeout_ms ? j->running_us + tc_us_of_ms(timeout_ms) : 0;
    if (end_at && now >= end_at) {
        if (tc_loan_claim(j, tc_loan_serial(word)))
            tc_job_expire(j);
        return;
    }
    j->loan.idle_at_us = now + IDLE_US;
    tc_job_hear(j);
    if (j->ended || j->kill_at_us)
        return;
    look_again(&j->loan, now, end_at);
}

void tc_loan_tick(struct tc_running *j, int64_t now)
{
    struct tc_loan_page *page = j->loan.page;
    if (!page || j->ended || j->kill_at_us || now < j->loan.idle_at_us)
        return;
    int64_t word = atomic_load(&page->word), used = atomic_load(&page->begun_us);
    j->loan.idle_at_us = now + IDLE_US;
    if (used + IDLE_US > now)
        j->loan.idle_at_us = used + IDLE_US;
    else if (tc_loan_state(word) == TC_LOAN_FREE &&
             atomic_compare_exchange_strong(&page->word, &word,
                                            tc_loan_word(tc_loan_serial(word), TC_LOAN_OVER)))
        tc_job_end(j);
}

/* Copied before it is judged: the library could go on writing. */
void tc_loan_return(struct tc_running *j)
{
    if (!j->loan.page || j->ended || j->kill_at_us)
        return;
    const struct tc_handed_end end = j->loan.page->end;
    j->running_us = atomic_load(&j->loan.page->begun_us);
    take_back(j, &end);
}
