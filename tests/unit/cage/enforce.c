/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What is said to hold each clause of a call: nothing is claimed that the host lacks, and a clause
 * that nothing holds refuses the call. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <toolcage/error.h>

#include <cmocka.h>

#include "cage/cage.h"

#define TEXT(literal) ((char *)(uintptr_t)(literal))

/* ---- the host's control groups, linked in the place of the kernel's ---- */

static const char *group_words[TC_CGROUP_CONTROLLERS]; /* NULL: not this controller */

struct tc_cgroup_state __wrap_tc_cgroups_describe(const struct tc_cgroups *cgroups,
                                                  enum tc_cgroup_controller controller);

struct tc_cgroup_state __wrap_tc_cgroups_describe(const struct tc_cgroups *cgroups,
                                                  enum tc_cgroup_controller controller)
{
    (void)cgroups;
    return (struct tc_cgroup_state){.mechanism = group_words[controller]};
}

/* ---- a call ---- */

/* What differs between two calls or two hosts. */
enum {
    PRIVILEGED = 1,
    LANDLOCK = 2,
    GROUPED = 4,
    COPY = 8,
    OVERLAY = 16,
    ALONE = 32, /* a file that is granted by itself */
    TERMINAL = 64,
    UNIX = 128,
    GRANTED_SOCKET = 256,
    CHANGED = 512, /* system calls beside the profile */
    UPSTREAM = 1024,
    FUEL = 2048,
    BESIDE = 4096,
    INNER = 8192,
};

static const char *inside(enum tc_clause clause)
{
    return clause == TC_CLAUSE_SYSCALLS ? "a second filter" : NULL;
}

/* The words for one clause; NULL: the call was refused. Owned by `outcome`. */
static const char *words_for(unsigned with, enum tc_clause clause, struct tc_outcome *outcome)
{
    static char *deny[] = {TEXT("ptrace"), TEXT("bpf")}, *allow[] = {TEXT("perf_event_open")};
    struct tc_mount mounts[] = {{.kind = TC_MOUNT_WRITE, .workspace = true},
                                {.kind = TC_MOUNT_SOCKET}};
    struct tc_item items[] = {
        {.mount = &mounts[0], .directory = true, .writable = true, .layers = -1},
        {.mount = &mounts[0], .writable = true, .name = "f", .layers = -1}};
    struct tc_plan plan = {.clauses = TC_CLAUSE_BIT(clause), .mounts = mounts};
    struct tc_tree_host tree = {.privileged = with & PRIVILEGED};
    struct tc_process_host host = {.tree = &tree, .landlock_abi = with & LANDLOCK ? 4 : 0};
    struct tc_process_cage p = {.host = &host, .trees = TC_TREES_NEW};
    plan.mount_count = with & GRANTED_SOCKET ? 2 : 1;
    plan.workspace = with & COPY      ? TC_WORKSPACE_COPY
                     : with & OVERLAY ? TC_WORKSPACE_OVERLAY
                                      : TC_WORKSPACE_BIND;
    plan.terminal = with & TERMINAL;
    plan.unix_sockets = with & UNIX;
    plan.fuel = with & FUEL ? 1 : 0;
    if (with & CHANGED) {
        plan.syscalls_deny = (struct tc_strv){.items = deny, .count = 2};
        plan.syscalls_allow = (struct tc_strv){.items = allow, .count = 1};
    }
    if (with & UPSTREAM)
        plan.upstream =
            (struct tc_upstream){.host = TEXT("proxy.example"), .port = 1080, .names = true};
    items[0].layers = with & OVERLAY ? 3 : -1;
    p.trees.items = items;
    p.trees.item_count = with & ALONE ? 2 : 1;
    p.trees.beside = with & BESIDE;
    p.group = with & GROUPED ? (struct tc_cgroup *)&host : NULL;
    p.inner = with & INNER ? inside : NULL;
    struct tc_cage cage = tc_cage_empty(&plan, outcome);
    cage.priv = &p;
    if (tc_process_enforced(&cage) < 0)
        return NULL;
    assert_int_equal(outcome->enforced_count, 1);
    assert_int_equal(outcome->enforced[0].clause, clause);
    return outcome->enforced[0].mechanism;
}

static void mechanisms_follow_host_and_call(void **state)
{
    static const struct {
        enum tc_clause clause;
        unsigned with;
        const char *has, *has_not; /* parts of the words; has NULL: refused */
    } rows[] = {
        {TC_CLAUSE_IDS_UNPRIVILEGED, 0, "caller's own id", "leased"},
        {TC_CLAUSE_IDS_UNPRIVILEGED, PRIVILEGED, "leased", "caller"},
        {TC_CLAUSE_IDS_GROUPS, PRIVILEGED, "cleared", "caller"},
        {TC_CLAUSE_FS_READ, 0, "mount namespace", "Landlock"},
        {TC_CLAUSE_FS_READ, LANDLOCK, "Landlock", NULL},
        {TC_CLAUSE_FS_WRITE, 0, "mount namespace", "private"},
        {TC_CLAUSE_FS_WRITE, COPY, "private copy", "layer"},
        {TC_CLAUSE_FS_WRITE, OVERLAY, "private layer", "copy"},
        {TC_CLAUSE_FS_WRITE, ALONE, "single files", "copy"},
        {TC_CLAUSE_FS_WRITE, COPY | ALONE, "private copy; single files", NULL},
        {TC_CLAUSE_FS_DENIED, 0, "masks", "also masks in"},
        {TC_CLAUSE_FS_DENIED, BESIDE, "also masks in", NULL},
        {TC_CLAUSE_FS_STEERING, 0, "read-only mounts", "committed"},
        {TC_CLAUSE_FS_STEERING, COPY, "committed", "read-only"},
        {TC_CLAUSE_SYSCALLS, 0, "seccomp", "denied"},
        {TC_CLAUSE_SYSCALLS, CHANGED, "denied: ptrace, bpf; allowed: perf_event_open", NULL},
        {TC_CLAUSE_SYSCALLS, INNER, "; within it a second filter", NULL},
        {TC_CLAUSE_PRIV_NONE, INNER, "no_new_privs", "within it"},
        {TC_CLAUSE_TTY_NONE, 0, "terminals of a private devpts", "no terminal device"},
        {TC_CLAUSE_FDS_CLEAN, TERMINAL, "close_range", "three pipes"},
        {TC_CLAUSE_NET_UNIX, 0, "seccomp", "connects to"},
        {TC_CLAUSE_NET_UNIX, UNIX, "connects to the cage's sockets", "granted ones"},
        {TC_CLAUSE_NET_UNIX, UNIX | GRANTED_SOCKET, "and granted ones", NULL},
        {TC_CLAUSE_NET_ALLOW, 0, "egress proxy", "through"},
        {TC_CLAUSE_NET_ALLOW, UPSTREAM, "proxy.example:1080, which resolves the names", NULL},
        {TC_CLAUSE_LIMIT_CPU_TIME, 0, "sampled", "cgroup"},
        {TC_CLAUSE_LIMIT_CPU_TIME, GROUPED, "cgroup v2 cpuacct", "sampled"},
        {TC_CLAUSE_LIMIT_CPU_TIME, GROUPED | FUEL, "fuel", "cgroup"},
        {TC_CLAUSE_LIMIT_MEMORY, 0, "RLIMIT_DATA", "cgroup"},
        {TC_CLAUSE_LIMIT_MEMORY, GROUPED, "cgroup v1, socket buffers not counted", NULL},
        /* the group has no controller for it, and nothing else counts */
        {TC_CLAUSE_LIMIT_PIDS, GROUPED, "RLIMIT_NPROC", "cgroup"},
        {TC_CLAUSE_LIMIT_CPUS, GROUPED, NULL, NULL},
        {TC_CLAUSE_LIMIT_CPUS, 0, NULL, NULL},
    };
    (void)state;
    group_words[TC_CGROUP_CPUACCT] = "cgroup v2 cpuacct";
    group_words[TC_CGROUP_MEMORY] = "cgroup v1";
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        struct tc_outcome outcome = {0};
        const char *words = words_for(rows[i].with, rows[i].clause, &outcome);
        if (!words != !rows[i].has || (words && !strstr(words, rows[i].has)) ||
            (words && rows[i].has_not && strstr(words, rows[i].has_not)))
            fail_msg("%s with %x: %s", tc_clause_name(rows[i].clause), rows[i].with,
                     words ? words : "refused");
        tc_outcome_done(&outcome);
    }
}

/* Each clause has a mechanism here or the call is refused; never an empty one. */
static void unheld_clauses_refuse_the_call(void **state)
{
    (void)state;
    for (int clause = 0; clause < TC_CLAUSE_COUNT; clause++) {
        struct tc_outcome outcome = {0};
        const char *words = words_for(0, (enum tc_clause)clause, &outcome);
        if (words) {
            assert_true(strlen(words) > 3);
        } else {
            const char *name = tc_clause_name((enum tc_clause)clause);
            assert_int_equal(outcome.failure.code, TOOLCAGE_EUNENFORCEABLE);
            assert_int_equal(outcome.failure.clause, clause);
            assert_string_equal(outcome.failure.stage, "enforce");
            assert_string_equal(outcome.failure.subject, name);
            assert_int_equal(outcome.enforced_count, 0);
            assert_int_equal(clause, TC_CLAUSE_LIMIT_CPUS); /* without a control group */
        }
        tc_outcome_done(&outcome);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mechanisms_follow_host_and_call),
        cmocka_unit_test(unheld_clauses_refuse_the_call),
    };
    return cmocka_run_group_tests_name("cage enforce", tests, NULL, NULL);
}
