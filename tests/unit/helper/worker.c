/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Tasks that end, tasks that do not, and more of these than there may be threads. */
#include "helper/worker.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "test.h"

struct job {
    struct tc_task task;
    pthread_t worked, ended;
    int again; /* how often done() gives it away once more */
    int works, dones;
};

static struct tc_loop loop;
static struct tc_workers workers;
static atomic_bool held;
static atomic_int inside;

static int set_up(void **state)
{
    (void)state;
    atomic_store(&held, false);
    return tc_loop_open(&loop) < 0 || tc_workers_open(&workers, &loop) < 0;
}

static unsigned threads(void)
{
    (void)pthread_mutex_lock(&workers.lock);
    unsigned n = workers.threads;
    (void)pthread_mutex_unlock(&workers.lock);
    return n;
}

static void work(struct tc_task *task)
{
    struct job *j = task->owner;
    (void)atomic_fetch_add(&inside, 1);
    j->worked = pthread_self();
    j->works++;
    while (atomic_load(&held))
        (void)usleep(1000);
    (void)atomic_fetch_sub(&inside, 1);
}

static void done(struct tc_task *task)
{
    struct job *j = task->owner;
    j->ended = pthread_self();
    j->dones++;
    if (j->again-- > 0)
        assert_int_equal(tc_workers_give(&workers, task), 0);
}

static void give(struct job *jobs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        jobs[i].task = (struct tc_task){.work = work, .done = done, .owner = &jobs[i]};
        assert_int_equal(tc_workers_give(&workers, &jobs[i].task), 0);
    }
}

static int ended(const struct job *jobs, size_t count)
{
    int n = 0;
    for (size_t i = 0; i < count; i++)
        n += jobs[i].dones;
    return n;
}

/* Turns the loop until so many are done; false after ten seconds. */
static bool turn_until(const struct job *jobs, size_t count, int wanted)
{
    int64_t until = tc_now_us() + 10000000;
    while (ended(jobs, count) < wanted && tc_now_us() < until)
        assert_int_equal(tc_loop_turn(&loop, tc_now_us() + 10000), 0);
    return ended(jobs, count) == wanted;
}

static bool settles(unsigned most)
{
    for (int i = 0; i < 1000 && threads() > most; i++)
        (void)usleep(10000);
    return threads() <= most;
}

static void every_task_is_worked_once_and_ends_on_the_loop(void **state)
{
    enum { COUNT = 2000 };
    struct job *jobs = calloc(COUNT, sizeof(*jobs));
    assert_non_null(jobs);
    give(jobs, COUNT);
    assert_true(turn_until(jobs, COUNT, COUNT));
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(jobs[i].works, 1);
        assert_true(pthread_equal(jobs[i].ended, pthread_self()));
        assert_false(pthread_equal(jobs[i].worked, pthread_self()));
    }
    assert_true(threads() <= TC_WORKERS_MAX);
    assert_true(settles(2));
    free(jobs);
}

static void a_task_may_be_given_away_again(void **state)
{
    struct job jobs[3] = {{.again = 50}, {.again = 50}, {.again = 50}};
    give(jobs, 3);
    assert_true(turn_until(jobs, 3, 3 * 51));
}

static void hanging_tasks_block_only_themselves(void **state)
{
    struct job stuck[TC_WORKERS_MAX - 1] = {0}, others[100] = {0};
    atomic_store(&held, true);
    give(stuck, TC_WORKERS_MAX - 1);
    for (int i = 0; i < 1000 && atomic_load(&inside) < TC_WORKERS_MAX - 1; i++)
        (void)usleep(10000);
    assert_int_equal(atomic_load(&inside), TC_WORKERS_MAX - 1);
    for (size_t i = 0; i < 100; i++) {
        others[i].task = (struct tc_task){.work = work, .done = done, .owner = &others[i]};
        assert_int_equal(tc_workers_give(&workers, &others[i].task), 0);
    }
    /* one thread is left: it takes one more, which hangs too, and the rest waits */
    for (int i = 0; i < 1000 && atomic_load(&inside) < TC_WORKERS_MAX; i++)
        (void)usleep(10000);
    assert_int_equal(threads(), TC_WORKERS_MAX);
    assert_false(tc_workers_take_back(&workers, &stuck[0].task));
    assert_false(tc_workers_take_back(&workers, &others[0].task));
    for (size_t i = 1; i < 100; i += 2)
        assert_true(tc_workers_take_back(&workers, &others[i].task));
    assert_false(tc_workers_take_back(&workers, &others[99].task));
    assert_true(tc_workers_take_back(&workers, &others[98].task)); /* the last that waits */
    give(&others[98], 1);
    atomic_store(&held, false);
    assert_true(turn_until(stuck, TC_WORKERS_MAX - 1, TC_WORKERS_MAX - 1));
    assert_true(turn_until(others, 100, 50));
    for (size_t i = 0; i < 100; i++)
        assert_int_equal(others[i].works, i % 2 == 0);
    assert_true(settles(2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_task_is_worked_once_and_ends_on_the_loop),
        cmocka_unit_test(a_task_may_be_given_away_again),
        cmocka_unit_test(hanging_tasks_block_only_themselves),
    };
    return cmocka_run_group_tests_name("worker", tests, set_up, NULL);
}
