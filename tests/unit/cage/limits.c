/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Limits that are looked after, with counters that are made here: when is looked, what is found,
 * and what comes of counters that cannot be read. */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "cage/cage.h"

static struct {
    int64_t cpu_us, shared;
    int samples;
    int oom_fd;
    bool oomed;
    int64_t fills_us;
    int storage_samples;
    struct tc_plan plan;
    struct tc_outcome outcome;
    struct tc_process_cage priv;
    struct tc_cage cage;
} the;

/* ---- what it looks at ---- */

int64_t tc_sample_cpu(pid_t pid)
{
    (void)pid;
    the.samples++;
    errno = EMFILE;
    return the.cpu_us;
}

int64_t tc_sample_shared(pid_t pid, int64_t limit)
{
    (void)pid, (void)limit;
    return the.shared;
}

int tc_cgroup_oom_fd(const struct tc_cgroup *group, uint32_t *ret_events)
{
    (void)group;
    *ret_events = EPOLLIN;
    return the.oom_fd;
}

bool tc_cgroup_oomed(struct tc_cgroup *group)
{
    uint64_t count;
    (void)group;
    (void)!read(the.oom_fd, &count, sizeof(count));
    return the.oomed;
}

void tc_cgroup_sample(struct tc_cgroup *group)
{
    (void)group;
}

void tc_cgroup_usage(struct tc_cgroup *group, struct tc_cgroup_usage *ret)
{
    (void)group, (void)ret;
}

int64_t tc_workspace_fills_us(const struct tc_trees *t)
{
    (void)t;
    the.storage_samples++;
    return the.fills_us;
}

int tc_tree_keep(struct tc_trees *trees, int fd)
{
    (void)trees;
    return fd;
}

/* Of failures the first one says why. */
int tc_cage_fail(struct tc_cage *cage, const struct tc_why *why, int clause, const char *fmt, ...)
{
    (void)fmt;
    cage->outcome->failure.code = why->code;
    cage->outcome->failure.errnum = why->errnum;
    cage->outcome->failure.clause = clause;
    return -1;
}

/* ---- the tests ---- */

static struct tc_cage *begin(int64_t cpu_time_ms, bool memory_any, bool grouped)
{
    the.plan.limits =
        (struct tc_limits){.cpu_time_ms = cpu_time_ms, .memory_any = memory_any, .memory = 1000};
    the.priv.group = grouped ? (struct tc_cgroup *)&the : NULL;
    the.cage.priv = &the.priv;
    the.cage.plan = &the.plan;
    the.cage.outcome = &the.outcome;
    the.cage.running = true;
    assert_int_equal(tc_events_open(&the.cage), 0);
    assert_int_equal(tc_limits_begin(&the.cage), 0);
    return &the.cage;
}

/* As its supervisor does, for so long. */
static void watch(struct tc_cage *cage, int64_t us)
{
    for (int64_t until = tc_now_us() + us; tc_now_us() < until;) {
        struct epoll_event ready;
        bool told = epoll_wait(cage->event_fd, &ready, 1, 1) > 0;
        if (told || (cage->look_at_us && tc_now_us() >= cage->look_at_us))
            tc_limits_look(cage);
    }
}

static void tell(void)
{
    const uint64_t one = 1;
    assert_int_equal(write(the.oom_fd, &one, sizeof(one)), sizeof(one));
}

static int set_up(void **state)
{
    (void)state;
    memset(&the, 0, sizeof(the));
    the.fills_us = INT64_MAX;
    the.oom_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return the.oom_fd < 0;
}

static int tear_down(void **state)
{
    (void)state;
    return close(the.oom_fd) + close(the.cage.event_fd);
}

static void without_a_limit_nobody_looks(void **state)
{
    (void)state;
    struct tc_cage *cage = begin(0, false, false);
    assert_int_equal(cage->look_at_us, 0);
    tc_limits_look(cage);
    assert_int_equal(the.samples, 0);
}

static void processor_time_is_sampled(void **state)
{
    (void)state;
    struct tc_cage *cage = begin(50, false, false);
    the.cpu_us = 50000;
    watch(cage, 250000);
    assert_in_range(the.samples, 1, 3);
    assert_null(cage->limit);
    the.cpu_us = 50001;
    watch(cage, 150000);
    assert_string_equal(cage->limit, "cpu_time");
}

static void a_limit_that_nobody_can_read_is_a_failure(void **state)
{
    (void)state;
    struct tc_cage *cage = begin(50, false, false);
    the.cpu_us = -1;
    watch(cage, 500000);
    assert_int_equal(the.outcome.failure.code, 0);
    watch(cage, 1000000);
    assert_int_equal(the.outcome.failure.code, TOOLCAGE_EUNENFORCEABLE);
    assert_int_equal(the.outcome.failure.errnum, EMFILE);
    assert_int_equal(the.outcome.failure.clause, TC_CLAUSE_LIMIT_CPU_TIME);
    assert_null(cage->limit);
}

static void shared_memory_is_sampled(void **state)
{
    (void)state;
    struct tc_cage *cage = begin(0, true, false);
    the.shared = 1000;
    watch(cage, 150000);
    assert_null(cage->limit);
    the.priv.child.segments = 1001;
    watch(cage, 150000);
    assert_string_equal(cage->limit, "memory");
}

static void killed_cage_is_not_sampled(void **state)
{
    (void)state;
    struct tc_cage *cage = begin(50, true, true);
    tell();
    tc_limits_look(cage);
    tc_limits_end(cage);
    assert_int_equal(the.samples, 1);
    assert_int_equal(cage->look_at_us, 0);
    the.cpu_us = 1000000;
    watch(cage, 150000);
    assert_null(cage->limit);
}

static void a_kill_is_seen_that_comes_after_its_announcement(void **state)
{
    (void)state;
    struct tc_cage *cage = begin(0, false, true);
    assert_int_equal(cage->look_at_us, 0);
    tell();
    watch(cage, 20000);
    assert_null(cage->limit);
    assert_true(cage->look_at_us > 0);
    the.oomed = true;
    watch(cage, 100000);
    assert_string_equal(cage->limit, "memory");
}

static void memory_that_turned_up_ends_nothing(void **state)
{
    (void)state;
    struct tc_cage *cage = begin(0, false, true);
    tell();
    watch(cage, 1200000);
    assert_null(cage->limit);
    assert_int_equal(cage->look_at_us, 0); /* nobody looks for ever */
}

/* A tool that removes what it could not write leaves nothing to see at the end. */
static void full_storage_is_remembered(void **state)
{
    (void)state;
    the.fills_us = 16000;
    struct tc_cage *cage = begin(0, false, false);
    watch(cage, 20000);
    assert_false(the.priv.looks.filled);
    the.fills_us = 0;
    watch(cage, 40000);
    assert_true(the.priv.looks.filled);
    the.fills_us = 16000;
    watch(cage, 20000);
    assert_true(the.priv.looks.filled);
    assert_null(cage->limit);
    assert_int_equal(cage->look_at_us, 0);
}

static void unused_storage_is_sampled_rarely(void **state)
{
    (void)state;
    the.fills_us = 2000;
    struct tc_cage *cage = begin(0, false, false);
    watch(cage, 600000);
    assert_in_range(the.storage_samples, 3, 15);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(without_a_limit_nobody_looks),
        CASE(processor_time_is_sampled),
        CASE(a_limit_that_nobody_can_read_is_a_failure),
        CASE(shared_memory_is_sampled),
        CASE(killed_cage_is_not_sampled),
        CASE(a_kill_is_seen_that_comes_after_its_announcement),
        CASE(memory_that_turned_up_ends_nothing),
        CASE(full_storage_is_remembered),
        CASE(unused_storage_is_sampled_rarely),
    };
    return cmocka_run_group_tests_name("cage limits", tests, NULL, NULL);
}
