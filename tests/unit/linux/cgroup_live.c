/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Control groups as this machine has them. What a machine cannot do is skipped, with its reason. */
#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/sys.h"
#include "linux/cgroup_impl.h"
#include "test.h"

enum { MIB = 1 << 20 };

static struct tc_cgroups *cgroups;
static struct tc_cgroup *entered; /* by enter_and_fork() */

static int setup(void **state)
{
    return tc_cgroups_open(NULL, &cgroups, NULL);
}

static int teardown(void **state)
{
    tc_cgroups_close(cgroups);
    cgroups = NULL;
    return 0;
}

static void need(enum tc_cgroup_controller controller)
{
    struct tc_cgroup_state s = tc_cgroups_describe(cgroups, controller);
    if (s.mechanism)
        return;
    assert_non_null(s.reason);
    assert_non_null(s.fix);
    print_message("# skipped: %s: %s; %s\n", tc_cgroup_controller_name(controller), s.reason,
                  s.fix);
    skip();
}

static struct tc_cgroup *take(int64_t memory, int64_t pids, int64_t cpus_milli)
{
    struct tc_cgroup_limits limits = {memory, pids, cpus_milli};
    struct tc_cgroup *group = NULL;
    _autoerror_ struct toolcage_error *err = NULL;
    if (tc_cgroup_take(cgroups, &limits, &group, &err) < 0)
        fail_msg("%s", tc_error_report(err));
    return group;
}

/* Runs fn in a child that is in the group before it starts; its wait status. */
static int run_in(struct tc_cgroup *group, int (*fn)(void))
{
    int go[2];
    char byte = 0;
    assert_int_equal(pipe(go), 0);
    pid_t pid = fork();
    if (pid == 0)
        _exit(read(go[0], &byte, 1) == 1 ? fn() : 99);
    assert_int_equal(tc_cgroup_join(group, pid), 0);
    assert_int_equal(write(go[1], &byte, 1), 1);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    (void)close(go[0]);
    (void)close(go[1]);
    return status;
}

static int use_memory(size_t bytes)
{
    char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return 1;
    for (size_t i = 0; i < bytes; i += 4096)
        ((volatile char *)p)[i] = 1;
    return 0;
}

static int use_64_mib(void)
{
    return use_memory((size_t)64 * MIB);
}

static int use_8_mib(void)
{
    return use_memory((size_t)8 * MIB);
}

static int fork_until_refused(void)
{
    int made = 0;
    while (made < 20) {
        pid_t pid = fork();
        if (pid < 0)
            break;
        if (pid == 0) {
            (void)pause();
            _exit(0);
        }
        made++;
    }
    return made; /* the children stay: killing the group ends them */
}

/* Orphans of the group's processes come to us (a subreaper), as those of a cage to its first
 * process. */
static void kill_and_reap(struct tc_cgroup *group)
{
    assert_int_equal(tc_cgroup_kill(group), 0);
    for (int round = 0; round < 1000; round++) {
        siginfo_t info = {0};
        if (waitid(P_ALL, 0, &info, WEXITED | WNOWAIT | WNOHANG) < 0)
            return;
        if (info.si_pid)
            (void)waitpid(info.si_pid, NULL, 0);
        else
            (void)usleep(1000);
    }
}

static int spin_100_ms(void)
{
    struct timespec now;
    do
        (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    while (now.tv_sec == 0 && now.tv_nsec < 100000000);
    return 0;
}

static void memory_over_the_limit_is_killed_and_told(void **state)
{
    need(TC_CGROUP_MEMORY);
    struct tc_cgroup *group = take(32 * MIB, 0, 0);
    uint32_t events;
    int fd = tc_cgroup_oom_fd(group, &events);
    assert_true(fd >= 0);
    assert_false(tc_cgroup_oomed(group));
    assert_int_equal(run_in(group, use_8_mib), 0);
    assert_false(tc_cgroup_oomed(group));
    int status = run_in(group, use_64_mib);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    struct pollfd pfd = {.fd = fd, .events = (short)events};
    assert_int_equal(poll(&pfd, 1, 2000), 1);
    assert_true(tc_cgroup_oomed(group));
    /* the kernel tells once more what came within ten milliseconds of the first time */
    for (int i = 0; i < 10 && poll(&pfd, 1, 20) == 1; i++)
        assert_true(tc_cgroup_oomed(group));
    assert_int_equal(poll(&pfd, 1, 0), 0); /* drained */
    struct tc_cgroup_usage usage;
    tc_cgroup_usage(group, &usage);
    assert_true(usage.oom_kills >= 1);
    assert_true(usage.memory_peak == -1 ||
                (usage.memory_peak > 24 * MIB && usage.memory_peak <= 32 * MIB));
    assert_null(tc_cgroup_give(group));
}

static void a_second_call_starts_from_zero(void **state)
{
    need(TC_CGROUP_MEMORY);
    struct tc_cgroup *group = take(32 * MIB, 0, 0);
    (void)run_in(group, use_64_mib);
    (void)tc_cgroup_give(group);
    group = take(128 * MIB, 0, 0); /* raised */
    assert_int_equal(run_in(group, use_64_mib), 0);
    struct tc_cgroup_usage usage;
    tc_cgroup_usage(group, &usage);
    assert_int_equal(usage.oom_kills, 0);
    assert_true(usage.memory_peak == -1 || usage.memory_peak > 60 * MIB);
    (void)tc_cgroup_give(group);
    group = take(32 * MIB, 0, 0); /* lowered */
    tc_cgroup_usage(group, &usage);
    assert_true(usage.memory_peak < 8 * MIB);
    assert_int_equal(run_in(group, use_8_mib), 0);
    assert_false(tc_cgroup_oomed(group));
    (void)tc_cgroup_give(group);
}

static void processes_over_the_limit_are_refused_and_counted(void **state)
{
    need(TC_CGROUP_PIDS);
    struct tc_cgroup *group = take(0, 5, 0);
    int status = run_in(group, fork_until_refused);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 4); /* itself is the fifth */
    tc_cgroup_sample(group);
    struct tc_cgroup_usage usage;
    tc_cgroup_usage(group, &usage);
    assert_int_equal(usage.pids_refused, 1);
    assert_in_range(usage.pids_peak, 4, 5);
    kill_and_reap(group);
    (void)tc_cgroup_give(group);
}

static void processor_time_is_counted(void **state)
{
    need(TC_CGROUP_CPUACCT);
    struct tc_cgroup *group = take(0, 0, 0);
    assert_int_equal(run_in(group, spin_100_ms), 0);
    struct tc_cgroup_usage usage;
    tc_cgroup_usage(group, &usage);
    assert_in_range(usage.cpu_us, 90000, 1000000);
    (void)tc_cgroup_give(group);
}

static void a_share_of_a_processor_takes_longer(void **state)
{
    need(TC_CGROUP_CPU);
    struct tc_cgroup *group = take(0, 0, 200);
    struct timespec from, to;
    (void)clock_gettime(CLOCK_MONOTONIC, &from);
    assert_int_equal(run_in(group, spin_100_ms), 0);
    (void)clock_gettime(CLOCK_MONOTONIC, &to);
    int64_t ms = (to.tv_sec - from.tv_sec) * 1000 + (to.tv_nsec - from.tv_nsec) / 1000000;
    assert_true(ms > 250);
    (void)tc_cgroup_give(group);
    group = take(0, 0, 5); /* below the smallest quota of the usual period */
    (void)tc_cgroup_give(group);
}

static int enter_and_fork(void)
{
    return tc_cgroup_enter(entered) < 0 ? 99 : fork_until_refused();
}

/* Unlike tc_cgroup_join(), this moves only the thread that calls it. */
static void process_enters_a_reused_v1_group(void **state)
{
    need(TC_CGROUP_PIDS);
    entered = take(0, 5, 0);
    if (tc_cgroup_fd(entered) >= 0) {
        print_message("# skipped: these are cgroup v2 groups\n");
        (void)tc_cgroup_give(entered);
        skip();
    }
    struct tc_cgroup *first = entered;
    pid_t pid = fork();
    if (pid == 0)
        _exit(enter_and_fork());
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(WEXITSTATUS(status), 4);
    kill_and_reap(first);
    (void)tc_cgroup_give(first);
    struct tc_cgroup *group = take(64 * MIB, 3, 0);
    assert_int_equal(WEXITSTATUS(run_in(group, fork_until_refused)), 2);
    struct tc_cgroup_limits more = {64 * MIB, 5, 0};
    kill_and_reap(group);
    assert_int_equal(tc_cgroup_limit(group, &more), 0);
    assert_int_equal(WEXITSTATUS(run_in(group, fork_until_refused)), 4);
    (void)tc_cgroup_give(group);
}

/* Not those of others, who come and go meanwhile. */
static int count_ours(const char *path)
{
    int count = 0;
    char start[32];
    _autodir_ DIR *dir = opendir(path);
    (void)snprintf(start, sizeof(start), "toolcage-%d-", (int)getpid());
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        count += strncmp(entry->d_name, start, strlen(start)) == 0;
    return count;
}

static void closing_leaves_nothing(void **state)
{
    need(TC_CGROUP_PIDS);
    char base[512];
    (void)snprintf(base, sizeof(base), "%s",
                   cgroups->base[cgroups->version == &tc_cgroup_v2 ? 0 : TC_CGROUP_PIDS]);
    int before = count_ours(base);
    (void)take(0, 20, 0);
    struct tc_cgroup *group = take(0, 20, 0);
    (void)run_in(group, fork_until_refused);
    assert_int_equal(count_ours(base), before + 1);
    tc_cgroups_close(cgroups); /* two groups taken, children alive */
    assert_int_equal(count_ours(base), before);
    assert_int_equal(tc_cgroups_open(NULL, &cgroups, NULL), 0);
}

/* Is there a directory of this process's? */
static bool left_of(const struct tc_cgroups *all, pid_t pid)
{
    char begin[32];
    size_t length = (size_t)snprintf(begin, sizeof(begin), "toolcage-%d-", (int)pid);
    bool found = false;
    for (int c = 0; c < TC_CGROUP_CONTROLLERS; c++) {
        _autodir_ DIR *stream = all->base[c] ? opendir(all->base[c]) : NULL;
        for (struct dirent *entry; stream && (entry = readdir(stream));)
            found |= strncmp(entry->d_name, begin, length) == 0;
    }
    return found;
}

static void leftovers_of_dead_owners_are_swept_and_of_living_are_not(void **state)
{
    need(TC_CGROUP_PIDS);
    pid_t pid = fork();
    if (pid == 0) { /* dies without a close */
        struct tc_cgroups *mine;
        struct tc_cgroup *group;
        struct tc_cgroup_limits limits = {.pids = 10};
        bool made = tc_cgroups_open(NULL, &mine, NULL) == 0 &&
                    tc_cgroup_take(mine, &limits, &group, NULL) == 0;
        _exit(made && left_of(mine, getpid()) ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    struct tc_cgroup *group = take(0, 10, 0);
    struct tc_cgroups *other;
    assert_int_equal(tc_cgroups_open(NULL, &other, NULL), 0);
    (void)snprintf(other->name, sizeof(other->name), "toolcage-other");
    for (int i = 0; i < 500 && left_of(other, pid); i++) { /* another helper may be at it */
        (void)tc_cgroups_sweep(other);
        (void)usleep(10000);
    }
    assert_false(left_of(other, pid));
    tc_cgroups_close(other);
    assert_int_equal(run_in(group, use_8_mib), 0); /* still there */
    (void)tc_cgroup_give(group);
}

static void a_cage_is_born_in_a_version_2_group(void **state)
{
    need(TC_CGROUP_PIDS);
    struct tc_cgroup *group = take(0, 5, 0);
    if (tc_cgroup_fd(group) < 0) {
        print_message("# skipped: these are cgroup v1 groups\n");
        (void)tc_cgroup_give(group);
        skip();
    }
    struct clone_args args = {.flags = CLONE_INTO_CGROUP,
                              .exit_signal = SIGCHLD,
                              .cgroup = (uint64_t)tc_cgroup_fd(group)};
    pid_t pid = tc_clone3(&args);
    if (pid == 0)
        _exit(fork_until_refused());
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(WEXITSTATUS(status), 4);
    kill_and_reap(group);
    (void)tc_cgroup_give(group);
}

int main(void)
{
#define LIVE(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
    const struct CMUnitTest tests[] = {
        LIVE(memory_over_the_limit_is_killed_and_told),
        LIVE(a_second_call_starts_from_zero),
        LIVE(processes_over_the_limit_are_refused_and_counted),
        LIVE(processor_time_is_counted),
        LIVE(a_share_of_a_processor_takes_longer),
        LIVE(process_enters_a_reused_v1_group),
        LIVE(closing_leaves_nothing),
        LIVE(leftovers_of_dead_owners_are_swept_and_of_living_are_not),
        LIVE(a_cage_is_born_in_a_version_2_group),
    };
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
