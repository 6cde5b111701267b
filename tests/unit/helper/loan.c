/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A worker on loan, seen from the helper: when it looks, what it believes, when it ends the loan.
 * What the rest of a job would do is only counted here. */
#include "helper/loan.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "helper/job.h"
#include "helper/protocol.h"
#include "test.h"

static struct {
    int heard, expired, ended;
    bool returned, copied;
    struct tc_handed_end end;
} seen;

void tc_job_hear(struct tc_running *job)
{
    seen.heard++;
    seen.returned = job->cage.returned != NULL;
    seen.copied = !job->loan.page || job->cage.returned != &job->loan.page->end;
    if (seen.returned)
        seen.end = *job->cage.returned;
}

void tc_job_expire(struct tc_running *job)
{
    seen.expired++;
}

void tc_job_end(struct tc_running *job)
{
    seen.ended++;
}

void tc_job_drain(struct tc_running *job)
{
}

void tc_job_judge(struct tc_running *job, const char *counter)
{
}

static const char *use_nothing(struct tc_cage *cage)
{
    return NULL;
}

/* A job whose cage has just lent what it has, and the library's end of its socket. */
static struct {
    struct tc_loop loop;
    struct tc_running job;
    int library;
} s;

static int set_up(void **state)
{
    static const struct tc_works works = {.usage = use_nothing};
    int pair[2], talk[2];
    memset(&seen, 0, sizeof(seen));
    if (tc_loop_open(&s.loop) < 0 ||
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0 ||
        pipe2(talk, O_CLOEXEC) < 0)
        return -1;
    s.job = (struct tc_running){
        .loop = &s.loop, .socket = pair[0], .loan = {.memory = -1, .clock = -1}};
    for (size_t i = 0; i < TC_ROLES; i++)
        s.job.sources[i].fd = -1;
    s.job.cage.works = &works;
    s.job.outcome.failure.clause = -1;
    s.job.plan.limits.timeout_ms = 5000;
    s.job.cage.loan = (struct tc_cage_loan){
        .talk = talk[0], .root = talk[1], .tmp = talk[1], .calls = 7, .owner = -1, .end.code = 3};
    s.library = pair[1];
    return 0;
}

static int tear_down(void **state)
{
    tc_loan_done(&s.job);
    tc_outcome_done(&s.job.outcome);
    (void)close(s.job.cage.loan.talk);
    (void)close(s.job.cage.loan.root);
    if (s.job.socket >= 0)
        (void)close(s.job.socket);
    if (s.library >= 0)
        (void)close(s.library);
    (void)close(s.loop.epoll);
    return 0;
}

/* As the library does it, whose number it has. */
static int64_t begin_call(int64_t begun_us)
{
    static int64_t calls;
    struct tc_loan_page *page = s.job.loan.page;
    atomic_store(&page->begun_us, begun_us);
    atomic_store(&page->word, tc_loan_word(++calls, TC_LOAN_BUSY));
    return calls;
}

static void end_call(int64_t serial)
{
    atomic_store(&s.job.loan.page->word, tc_loan_word(serial, TC_LOAN_FREE));
}

/* The library's clock comes now. */
static void look(void)
{
    assert_int_equal(tc_loan_arm(s.job.loan.page, s.job.loan.clock, 1), 0);
    tc_loan_look(&s.job);
}

static void what_is_lent_is_told(void **state)
{
    union {
        struct tc_message message;
        char bytes[sizeof(struct tc_message) + TC_MESSAGE_BYTES_MAX];
    } in;
    int fds[TC_LOAN_FDS];
    size_t count = 0;
    tc_loan_begin(&s.job);
    assert_true(tc_recv(s.library, &in, sizeof(in), fds, TC_LOAN_FDS, &count, NULL, NULL, false) >
                (ssize_t)sizeof(in.message));
    assert_int_equal(in.message.kind, TC_MESSAGE_LENT);
    assert_int_equal(count, TC_LOAN_FDS);
    assert_true(tc_loan_is_idle(&s.job));
    assert_int_equal(s.job.loan.page->calls, 7);
    /* who has the page cannot take its ground away from the other */
    assert_int_equal(ftruncate(fds[TC_LOAN_PAGE], 0), -1);
    assert_int_equal(errno, EPERM);
    tc_close_all(fds, count);
    assert_int_equal(seen.heard, 0);
}

static void what_cannot_be_told_is_back(void **state)
{
    (void)close(s.library);
    s.library = -1;
    tc_loan_begin(&s.job);
    assert_null(s.job.loan.page);
    assert_int_equal(seen.heard, 1);
    assert_true(seen.returned);
    assert_int_equal(seen.end.code, 3);
}

static void a_call_ends_at_its_time(void **state)
{
    tc_loan_begin(&s.job);
    int64_t now = tc_now_us();
    look();
    assert_int_equal(seen.heard + seen.expired, 0); /* no call runs */
    begin_call(now);
    look();
    assert_int_equal(seen.heard, 1);
    assert_false(seen.returned);
    int64_t next = atomic_load(&s.job.loan.page->armed_us);
    assert_true(next > now && next <= tc_now_us() + TC_LOAN_LOOK_US);
    do { /* nearer than the next look; again where it was over before we looked */
        seen.expired = 0;
        now = tc_now_us();
        begin_call(now - tc_us_of_ms(4990));
        look();
    } while (tc_now_us() >= now + tc_us_of_ms(10));
    assert_int_equal(seen.expired, 0);
    assert_true(atomic_load(&s.job.loan.page->armed_us) <= now + tc_us_of_ms(10));
    begin_call(now - tc_us_of_ms(5000));
    look();
    assert_int_equal(seen.expired, 1);
    /* from then on it does not end by itself */
    assert_int_equal(tc_loan_state(atomic_load(&s.job.loan.page->word)), TC_LOAN_OVER);
}

/* A library that was held up before it says that its call has begun must not take the clock for one
 * that is still to come. */
static void who_looks_in_vain_says_so(void **state)
{
    tc_loan_begin(&s.job);
    look();
    assert_int_equal(atomic_load(&s.job.loan.page->armed_us), 0);
    assert_int_equal(seen.heard, 0);
}

static void only_the_call_that_runs_is_meant(void **state)
{
    assert_true(tc_loan_claim(&s.job, 0)); /* a call of the helper's own */
    tc_loan_begin(&s.job);
    int64_t first = begin_call(tc_now_us());
    int64_t second = begin_call(tc_now_us());
    assert_false(tc_loan_claim(&s.job, first));
    assert_false(tc_loan_claim(&s.job, 0));
    end_call(second);
    assert_false(tc_loan_claim(&s.job, second));
    int64_t third = begin_call(tc_now_us());
    assert_true(tc_loan_claim(&s.job, third));
    assert_int_equal(atomic_load(&s.job.loan.page->word), tc_loan_word(third, TC_LOAN_OVER));
}

/* The library could write into the page while it is judged. */
static void what_comes_back_is_copied(void **state)
{
    tc_loan_return(&s.job);
    assert_int_equal(seen.heard, 0); /* nothing was lent */
    tc_loan_begin(&s.job);
    begin_call(77);
    s.job.loan.page->end = (struct tc_handed_end){.code = 9, .last = 1};
    tc_loan_return(&s.job);
    assert_true(seen.returned);
    assert_int_equal(seen.end.code, 9);
    assert_true(seen.copied);
    assert_int_equal(s.job.running_us, 77);
    s.job.kill_at_us = 1; /* it is ended already */
    tc_loan_return(&s.job);
    assert_int_equal(seen.heard, 1);
}

static void nobody_keeps_it_unused(void **state)
{
    const int64_t idle = 30000000;
    tc_loan_begin(&s.job);
    int64_t at = s.job.loan.idle_at_us;
    tc_loan_tick(&s.job, at - 1);
    assert_int_equal(seen.ended, 0);
    atomic_store(&s.job.loan.page->begun_us, at - 1000); /* it was used meanwhile */
    tc_loan_tick(&s.job, at);
    assert_int_equal(seen.ended, 0);
    assert_int_equal(s.job.loan.idle_at_us, at - 1000 + idle);
    int64_t serial = begin_call(at - 1000); /* and serves that call still */
    tc_loan_tick(&s.job, at + idle);
    assert_int_equal(seen.ended, 0);
    assert_false(tc_loan_is_idle(&s.job));
    end_call(serial);
    tc_loan_tick(&s.job, at + 3 * idle);
    assert_int_equal(seen.ended, 1);
    /* from then on the library takes it for no call */
    assert_int_equal(atomic_load(&s.job.loan.page->word), tc_loan_word(serial, TC_LOAN_OVER));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_lent_is_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_cannot_be_told_is_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_call_ends_at_its_time, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_looks_in_vain_says_so, set_up, tear_down),
        cmocka_unit_test_setup_teardown(only_the_call_that_runs_is_meant, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_comes_back_is_copied, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nobody_keeps_it_unused, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
