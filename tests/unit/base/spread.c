/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "test.h"

#include "base/process.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TRIES = 15 };

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

/* A child that always wants to run. */
static pid_t bear(void)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        for (;;)
            (void)getpid();
    return pid;
}

static void bury(pid_t pid)
{
    (void)kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* The processor that it runs on or waits for: proc(5), field 39 of stat. */
static int place_of(pid_t pid)
{
    char path[64], line[1024] = "";
    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_true(read(fd, line, sizeof(line) - 1) > 0);
    (void)close(fd);
    char *at = strrchr(line, ')') + 1; /* its name may hold spaces; field 3 follows */
    for (int field = 2; field < 39; field++)
        at = strchr(at, ' ') + 1;
    return atoi(at);
}

/* Born where only our processor is allowed, so it stands there behind us, and nothing else takes it
 * away. Once more where a busy machine has taken us away meanwhile. */
static pid_t spread_from_behind_us(int *ret_here, int *ret_place)
{
    cpu_set_t ours = allowed(0), one = first_of(&ours);
    if (CPU_COUNT(&ours) < 2)
        skip();
    for (;;) {
        allow(&one);
        *ret_here = sched_getcpu();
        pid_t pid = bear();
        allow(&ours);
        bool stayed = sched_getcpu() == *ret_here;
        tc_spread(pid);
        *ret_place = place_of(pid);
        if (stayed && sched_getcpu() == *ret_here)
            return pid;
        bury(pid);
    }
}

/* Most of the time: from the moment it may run where we may, the kernel may take it back. It does
 * so at once where the others are busy and our processor falls idle, and that is as it should be;
 * so we look while we are awake. */
static void a_child_behind_us_goes_elsewhere(void **state)
{
    int gone = 0;
    for (int i = 0; i < TRIES; i++) {
        int here, place;
        bury(spread_from_behind_us(&here, &place));
        gone += place != here;
    }
    assert_true(gone > TRIES / 2);
}

static void afterwards_it_may_run_where_we_may(void **state)
{
    int here, place;
    pid_t pid = spread_from_behind_us(&here, &place);
    cpu_set_t ours = allowed(0), its = allowed(pid);
    bury(pid);
    assert_true(CPU_EQUAL(&ours, &its));
}

static void one_processor_is_enough(void **state)
{
    cpu_set_t ours = allowed(0), one = first_of(&ours);
    allow(&one);
    pid_t pid = bear();
    tc_spread(pid);
    int here = sched_getcpu(), place = place_of(pid);
    cpu_set_t its = allowed(pid);
    allow(&ours);
    bury(pid);
    assert_int_equal(place, here);
    assert_true(CPU_EQUAL(&one, &its));
}

static void absent_process_changes_no_affinity(void **state)
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
        cmocka_unit_test(absent_process_changes_no_affinity),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
