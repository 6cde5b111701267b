/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What a process had to wait for a processor counts, and what it slept does not. */
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/process.h"
#include "test.h"

enum { CHILDREN = 3, LONG_MS = 300, PATIENCE_MS = 20000 };

static pid_t begin(void (*work)(void))
{
    pid_t pid = fork();
    if (pid == 0) {
        work();
        _exit(0);
    }
    assert_true(pid > 0);
    return pid;
}

static void finish(pid_t pid)
{
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
}

static void spin(void)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    (void)sched_setaffinity(0, sizeof(one), &one);
    for (volatile int i = 0;; i++)
        ;
}

static void sleep_on(void)
{
    (void)pause();
}

static void cpu_contention_counts_as_waiting(void **state)
{
    const struct timespec moment = {.tv_nsec = 20000000};
    cpu_set_t all, one;
    pid_t pids[CHILDREN];
    int64_t until = tc_now_us() + PATIENCE_MS * 1000LL;
    (void)state;
    assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0); /* the children's, too */
    for (int i = 0; i < CHILDREN; i++)
        pids[i] = begin(spin);
    pid_t idle = begin(sleep_on);
    assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
    while (tc_waited_us(pids[0]) < LONG_MS * 1000LL && tc_now_us() < until)
        (void)nanosleep(&moment, NULL);
    int64_t waited = tc_waited_us(pids[0]), slept = tc_waited_us(idle);
    for (int i = 0; i < CHILDREN; i++)
        finish(pids[i]);
    finish(idle);
    assert_true(waited >= LONG_MS * 1000LL);
    assert_true(slept < waited);
}

static void ended_process_has_no_waiting_time(void **state)
{
    pid_t pid = begin(sleep_on);
    (void)state;
    finish(pid);
    assert_int_equal(tc_waited_us(pid), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cpu_contention_counts_as_waiting),
        cmocka_unit_test(ended_process_has_no_waiting_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
