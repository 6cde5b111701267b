/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * After the end of a cage: which limit is named where several were reached, what is noted of the
 * use, whom a signal reaches, and what takes long to let go of. The counters are made here. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "cage/cage.h"

/* ---- linked in the place of kernel and proxy ---- */

static struct {
    struct tc_cgroup_usage group;
    bool full, spent, large;
} counters;

void __wrap_tc_cgroup_usage(struct tc_cgroup *group, struct tc_cgroup_usage *ret);
bool __wrap_tc_workspace_full(const struct tc_trees *t);
bool __wrap_tc_workspace_large(const struct tc_trees *t);
bool __wrap_tc_proxy_spent(const struct tc_cage *cage);

void __wrap_tc_cgroup_usage(struct tc_cgroup *group, struct tc_cgroup_usage *ret)
{
    (void)group;
    *ret = counters.group;
}

bool __wrap_tc_workspace_full(const struct tc_trees *t)
{
    (void)t;
    return counters.full;
}

bool __wrap_tc_workspace_large(const struct tc_trees *t)
{
    (void)t;
    return counters.large;
}

bool __wrap_tc_proxy_spent(const struct tc_cage *cage)
{
    (void)cage;
    return counters.spent;
}

/* ---- a cage ---- */

static struct tc_plan plan;
static struct tc_outcome outcome;

static struct tc_cage cage_of(struct tc_process_cage *p)
{
    struct tc_cage cage = tc_cage_empty(&plan, &outcome);
    *p = (struct tc_process_cage){.trees = TC_TREES_NEW,
                                  .workspace = TC_WORKSPACE_NEW,
                                  .observer = TC_OBSERVER_NEW,
                                  .talk = -1,
                                  .child = {.report = -1, .theirs = -1, .pidfd = -1},
                                  .init = {.talk = -1, .out = -1, .err = -1},
                                  .looks.oom_fd = -1};
    cage.priv = p;
    cage.trees = &p->trees;
    cage.workspace = &p->workspace;
    cage.observer = &p->observer;
    return cage;
}

static int set_up(void **state)
{
    (void)state;
    memset(&counters, 0, sizeof(counters));
    plan = (struct tc_plan){0};
    outcome = (struct tc_outcome){0};
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tc_outcome_done(&outcome);
    return 0;
}

/* The tool's own clock comes first, then the kernel's kills, then what it ran into by itself. */
static void strongest_reached_limit_is_named(void **state)
{
    enum { CPU = 1, MEMORY = 2, DISK = 4, TRANSFER = 8, PIDS = 16, ALL = 32 };
    static const struct {
        int bit;
        const char *name;
    } order[] = {{CPU, "cpu_time"},
                 {MEMORY, "memory"},
                 {DISK, "disk"},
                 {TRANSFER, "transfer"},
                 {PIDS, "pids"}};
    (void)state;
    for (int over = 0; over < ALL; over++) {
        const char *expected = NULL;
        struct tc_process_cage p;
        struct tc_cage cage = cage_of(&p);
        p.group = (struct tc_cgroup *)&counters;
        counters.group = (struct tc_cgroup_usage){.oom_kills = over & MEMORY ? 1 : 0,
                                                  .pids_refused = over & PIDS ? 3 : 0};
        counters.full = over & DISK;
        counters.spent = over & TRANSFER;
        plan.limits.cpu_time_ms = 1000;
        p.child.cpu_us = 999000;
        outcome.signal = over & CPU ? SIGXCPU : SIGKILL;
        for (size_t i = TC_COUNT(order); i-- > 0;)
            if (over & order[i].bit)
                expected = order[i].name;
        const char *limit = tc_local_usage(&cage);
        if (!limit != !expected || (limit && strcmp(limit, expected) != 0))
            fail_msg("%d: %s, not %s", over, limit ? limit : "none", expected ? expected : "none");
    }
}

/* A program that watches its own time ends by this signal; any other may, too. */
static void only_a_spent_time_is_a_cpu_limit(void **state)
{
    static const struct {
        int64_t limit_ms, used_us, signal;
        bool named;
    } rows[] = {{1000, 1000000, SIGXCPU, true},
                {1000, 999000, SIGXCPU, true},
                {1000, 998999, SIGXCPU, false},
                {1000, 2000000, SIGKILL, false},
                {0, 2000000, SIGXCPU, false}};
    (void)state;
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        struct tc_process_cage p;
        struct tc_cage cage = cage_of(&p);
        plan.limits.cpu_time_ms = rows[i].limit_ms;
        p.child.cpu_us = rows[i].used_us;
        outcome.signal = rows[i].signal;
        assert_int_equal(tc_local_usage(&cage) != NULL, rows[i].named);
    }
}

/* Only where this cage bounds the size of files. */
static void sigxfsz_is_a_disk_limit(void **state)
{
    const struct tc_init_limit size = {RLIMIT_FSIZE, {512 << 20, 512 << 20}};
    struct tc_process_cage p;
    struct tc_cage cage = cage_of(&p);
    (void)state;
    outcome.signal = SIGXFSZ;
    assert_null(tc_local_usage(&cage));
    p.init.limits = &size;
    p.init.limit_count = 1;
    assert_string_equal(tc_local_usage(&cage), "disk");
    assert_non_null(strstr(outcome.note, "536870912"));
    outcome.signal = SIGKILL;
    assert_null(tc_local_usage(&cage));
}

/* A tool that removes its files before it fails. */
static void storage_that_was_full_is_a_disk_limit(void **state)
{
    struct tc_process_cage p;
    struct tc_cage cage = cage_of(&p);
    (void)state;
    p.looks.filled = true;
    assert_string_equal(tc_local_usage(&cage), "disk");
}

static void usage_is_this_calls_own(void **state)
{
    static const struct {
        int64_t reaped, earlier, sampled, cpu;
        int64_t group_peak, rss, memory;
    } rows[] = {{5000, 0, 0, 5000, -1, 77, 77},
                {5000, 4000, 0, 1000, 88, 77, 88},
                {5000, 4000, 3000, 3000, 0, 77, 0}};
    (void)state;
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        struct tc_process_cage p;
        struct tc_cage cage = cage_of(&p);
        p.group = (struct tc_cgroup *)&counters;
        counters.group =
            (struct tc_cgroup_usage){.memory_peak = rows[i].group_peak, .pids_peak = 5};
        p.child.cpu_us = rows[i].reaped;
        p.child.max_rss = rows[i].rss;
        p.earlier_cpu_us = rows[i].earlier;
        p.seen_cpu_us = rows[i].sampled;
        assert_null(tc_local_usage(&cage));
        assert_int_equal(outcome.cpu_us, rows[i].cpu);
        assert_int_equal(outcome.memory_peak, rows[i].memory);
        assert_int_equal(outcome.pids_peak, 5);
        p.group = NULL;
        assert_null(tc_local_usage(&cage));
        assert_int_equal(outcome.pids_peak, -1);
    }
}

/* Where the limit counts what a process reserves, a runtime may have given up without using it. */
static void reserved_memory_is_noted_where_it_may_have_ended_the_tool(void **state)
{
    static const struct {
        bool bounded, grouped, group_bounds;
        int signal;
        bool noted;
    } rows[] = {{true, false, false, SIGABRT, true},   {true, false, false, SIGTRAP, true},
                {true, true, false, SIGABRT, true},    {true, true, true, SIGABRT, false},
                {false, false, false, SIGABRT, false}, {true, false, false, SIGSEGV, false},
                {true, false, false, 0, false}};
    (void)state;
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        struct tc_process_cage p;
        struct tc_cage cage = cage_of(&p);
        p.group = rows[i].grouped ? (struct tc_cgroup *)&counters : NULL;
        p.group_limits.memory = rows[i].group_bounds ? 1 << 20 : 0;
        plan.limits.memory_any = rows[i].bounded;
        outcome.signal = rows[i].signal;
        (void)tc_local_usage(&cage);
        if (!outcome.note == rows[i].noted)
            fail_msg("row %zu: %s", i, outcome.note ? outcome.note : "no note");
        tc_outcome_done(&outcome);
        outcome = (struct tc_outcome){0};
    }
}

static pid_t sleeper(void)
{
    (void)signal(SIGHUP, SIG_DFL); /* nohup ignores it */
    (void)signal(SIGTERM, SIG_DFL);
    pid_t pid = fork();
    if (pid == 0) {
        (void)pause();
        _exit(0);
    }
    return pid;
}

/* Once it was reaped its number may be a stranger's. */
static void signals_reach_a_living_first_process_only(void **state)
{
    static const struct {
        bool reaped, at_once;
        int signal; /* 0: none comes */
    } rows[] = {{false, false, SIGTERM}, {false, true, SIGKILL}, {true, true, 0}};
    (void)state;
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        struct tc_process_cage p;
        struct tc_cage cage = cage_of(&p);
        int status = 0;
        p.child.pid = sleeper();
        p.child.reaped = rows[i].reaped;
        assert_true(p.child.pid > 0);
        tc_local_signal(&cage, rows[i].at_once);
        if (!rows[i].signal)
            assert_int_equal(kill(p.child.pid, SIGHUP), 0);
        assert_int_equal(waitpid(p.child.pid, &status, 0), p.child.pid);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), rows[i].signal ? rows[i].signal : SIGHUP);
    }
}

/* The loop never waits for it: first it is asked, then a worker lets go, then the rest is freed. */
static void large_storage_is_released_by_a_worker(void **state)
{
    (void)state;
    for (int remote = 0; remote < 2; remote++) {
        struct tc_process_cage *p = malloc(sizeof(*p));
        assert_non_null(p);
        struct tc_cage cage = cage_of(p);
        counters.large = !remote;
        p->trees.remote = remote;
        assert_false(tc_local_destroy(&cage, TC_BLOCK_NO));
        assert_false(p->released);
        assert_false(tc_local_destroy(&cage, TC_BLOCK_YES));
        assert_true(p->released);
        assert_true(tc_local_destroy(&cage, TC_BLOCK_NO));
        assert_null(cage.priv);
        assert_null(cage.trees);
        assert_true(tc_local_destroy(&cage, TC_BLOCK_NO)); /* of nothing */
    }
    struct tc_process_cage *small = malloc(sizeof(*small));
    assert_non_null(small);
    struct tc_cage cage = cage_of(small);
    counters.large = false;
    assert_true(tc_local_destroy(&cage, TC_BLOCK_NO));
    assert_null(cage.priv);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(strongest_reached_limit_is_named),
        CASE(only_a_spent_time_is_a_cpu_limit),
        CASE(sigxfsz_is_a_disk_limit),
        CASE(storage_that_was_full_is_a_disk_limit),
        CASE(usage_is_this_calls_own),
        CASE(reserved_memory_is_noted_where_it_may_have_ended_the_tool),
        CASE(signals_reach_a_living_first_process_only),
        CASE(large_storage_is_released_by_a_worker),
    };
    return cmocka_run_group_tests_name("cage usage", tests, NULL, NULL);
}
