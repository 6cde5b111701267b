/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "test.h"

#include "base/spread.h"

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SHORT_MS = 50, LONG_MS = 10000 };

static cpu_set_t allowed(pid_t pid)
{
    cpu_set_t set;
    assert_int_equal(sched_getaffinity(pid, sizeof(set), &set), 0);
    return set;
}

static void allow(const cpu_set_t *set)
{
    assert_int_equal(sched_setaffinity(0, sizeof(*set), set), 0);
}

/* The first processor that we may run on. */
static cpu_set_t first_of(const cpu_set_t *ours)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    for (size_t cpu = 0; CPU_COUNT(&one) == 0; cpu++)
        if (CPU_ISSET(cpu, ours))
            CPU_SET(cpu, &one);
    return one;
}

/* A child that tells as soon as it runs on another processor than this one. */
static pid_t bear(int here, int *ret_told)
{
    int told[2];
    assert_int_equal(pipe(told), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        while (sched_getcpu() == here)
            ;
        (void)!write(told[1], "", 1);
        (void)pause();
        _exit(0);
    }
    (void)close(told[1]);
    *ret_told = told[0];
    return pid;
}

/* Has it told, in so many milliseconds? It is gone afterwards. */
static bool tells(pid_t pid, int told, int patience_ms)
{
    struct pollfd p = {.fd = told, .events = POLLIN};
    bool heard = poll(&p, 1, patience_ms) == 1;
    (void)close(told);
    (void)kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    return heard;
}

/* Born where only our processor is allowed, so it stands there behind us, and nothing else takes it
 * away. Once more where a busy machine has taken us away meanwhile. */
static pid_t spread_from_behind_us(int *ret_told)
{
    cpu_set_t ours = allowed(0), one = first_of(&ours);
    if (CPU_COUNT(&ours) < 2)
        skip();
    for (;;) {
        allow(&one);
        int here = sched_getcpu();
        pid_t pid = bear(here, ret_told);
        allow(&ours);
        bool stayed = sched_getcpu() == here;
        tc_spread(pid);
        if (stayed && sched_getcpu() == here)
            return pid;
        (void)tells(pid, *ret_told, 0);
    }
}

static void a_child_behind_us_goes_elsewhere(void **state)
{
    int told;
    pid_t pid = spread_from_behind_us(&told);
    assert_true(tells(pid, told, LONG_MS));
}

static void afterwards_it_may_run_where_we_may(void **state)
{
    int told;
    pid_t pid = spread_from_behind_us(&told);
    cpu_set_t ours = allowed(0), its = allowed(pid);
    (void)tells(pid, told, 0);
    assert_true(CPU_EQUAL(&ours, &its));
}

static void one_processor_is_enough(void **state)
{
    int told;
    cpu_set_t ours = allowed(0), one = first_of(&ours);
    allow(&one);
    pid_t pid = bear(sched_getcpu(), &told);
    tc_spread(pid);
    cpu_set_t its = allowed(pid);
    allow(&ours);
    assert_false(tells(pid, told, SHORT_MS));
    assert_true(CPU_EQUAL(&one, &its));
}

static void nobody_is_nothing(void **state)
{
    cpu_set_t before = allowed(0);
    tc_spread(-1);
    cpu_set_t after = allowed(0);
    assert_true(CPU_EQUAL(&before, &after));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_behind_us_goes_elsewhere),
        cmocka_unit_test(afterwards_it_may_run_where_we_may),
        cmocka_unit_test(one_processor_is_enough),
        cmocka_unit_test(nobody_is_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
