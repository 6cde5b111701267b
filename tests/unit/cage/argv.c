/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What the child of a cage is to execute, where it is looked for, and under which limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <toolcage/error.h>

#include <cmocka.h>

#include "cage/cage.h"

#define TEXT(literal) ((char *)(uintptr_t)(literal))

/* ---- linked in the place of the kernel's ---- */

static bool group_has[TC_CGROUP_CONTROLLERS];

bool __wrap_tc_cgroups_has(const struct tc_cgroups *cgroups, enum tc_cgroup_controller controller);

bool __wrap_tc_cgroups_has(const struct tc_cgroups *cgroups, enum tc_cgroup_controller controller)
{
    (void)cgroups;
    return group_has[controller];
}

/* ---- commands ---- */

/* The places where the command is tried, each with a blank before it. A static buffer. */
static const char *places_of(const char *command, const char *path)
{
    static char text[512];
    char *argv[] = {TEXT(command), NULL}, *env[] = {TEXT("PATHS=/no"), TEXT(path), NULL};
    struct tc_outcome outcome = {0};
    const struct tc_plan plan = {.argv = {argv, 1}, .env = {env, path ? 2 : 1}};
    struct tc_process_cage p = {.trees = TC_TREES_NEW};
    struct tc_cage cage = tc_cage_empty(&plan, &outcome);
    size_t at = 0;
    cage.priv = &p;
    assert_int_equal(tc_process_argv(&cage), 0);
    assert_ptr_equal(p.init.argv, argv);
    assert_ptr_equal(p.init.envp, env);
    text[0] = '\0';
    for (size_t i = 0; p.init.programs[i]; i++)
        at += (size_t)snprintf(text + at, sizeof(text) - at, " %s", p.init.programs[i]);
    tc_trees_done(&p.trees);
    return text;
}

/* An empty or relative entry would mean the working directory, which the tool may write. */
static void commands_are_searched_in_absolute_entries_of_path(void **state)
{
    static const struct {
        const char *command, *path, *places;
    } rows[] = {
        {"cc", "PATH=/a:/b/c", " /a/cc /b/c/cc"},
        {"cc", "PATH=:/a::b:./c:/d:", " /a/cc /d/cc"},
        {"cc", "PATH=", ""},
        {"cc", "PATH=.", ""},
        {"cc", NULL, " /usr/local/bin/cc /usr/bin/cc /bin/cc"},
        {"/opt/cc", "PATH=/a", " /opt/cc"},
        {"./cc", "PATH=/a", " ./cc"},
        {"", "PATH=/a", " "},
    };
    (void)state;
    for (size_t i = 0; i < TC_COUNT(rows); i++)
        if (strcmp(places_of(rows[i].command, rows[i].path), rows[i].places) != 0)
            fail_msg("%s, %s:%s", rows[i].command, rows[i].path,
                     places_of(rows[i].command, rows[i].path));
}

static void absent_command_is_a_usage_error(void **state)
{
    const struct tc_plan plan = {0};
    struct tc_outcome outcome = {0};
    struct tc_process_cage p = {.trees = TC_TREES_NEW};
    struct tc_cage cage = tc_cage_empty(&plan, &outcome);
    (void)state;
    cage.priv = &p;
    assert_int_equal(tc_process_argv(&cage), -1);
    assert_int_equal(outcome.failure.code, TOOLCAGE_EUSAGE);
    assert_non_null(strstr(outcome.failure.hint, "command"));
    tc_outcome_done(&outcome);
}

/* ---- limits ---- */

enum { GROUPED = 1, HAS_MEMORY = 2, HAS_PIDS = 4, BIND = 8, UNMOUNTED = 16, MACHINE = 32 };

static const struct {
    int resource;
    const char *name;
} names[] = {{RLIMIT_NOFILE, "files"},
             {RLIMIT_MSGQUEUE, "queue"},
             {RLIMIT_FSIZE, "size"},
             {RLIMIT_DATA, "data"},
             {RLIMIT_NPROC, "pids"}};

/* "files=64 ..."; soft and hard are always the same, and at most one byte of core is written. A
 * static buffer. */
static const char *limits_of(unsigned with, const struct tc_limits *limits)
{
    static char text[256];
    struct tc_mount mount = {.kind = TC_MOUNT_WRITE, .workspace = true};
    struct tc_item item = {.mount = &mount, .directory = true, .writable = true, .layers = -1};
    struct tc_plan plan = {.limits = *limits, .uid = with & MACHINE ? 1000 : 0};
    struct tc_outcome outcome = {0};
    struct tc_process_host host = {0};
    struct tc_process_cage p = {.host = &host, .trees = TC_TREES_NEW};
    struct tc_cage cage = tc_cage_empty(&plan, &outcome);
    size_t at = 0;
    plan.workspace = with & BIND ? TC_WORKSPACE_BIND : TC_WORKSPACE_COPY;
    group_has[TC_CGROUP_MEMORY] = with & HAS_MEMORY;
    group_has[TC_CGROUP_PIDS] = with & HAS_PIDS;
    p.group = with & GROUPED ? (struct tc_cgroup *)&host : NULL;
    p.trees.unmounted = with & UNMOUNTED;
    p.trees.items = &item;
    p.trees.item_count = 1;
    cage.priv = &p;
    assert_int_equal(tc_process_limits(&cage), 0);
    text[0] = '\0';
    for (size_t i = 0; i < p.init.limit_count; i++) {
        const struct tc_init_limit *l = &p.init.limits[i];
        assert_int_equal(l->value.rlim_cur, l->value.rlim_max);
        assert_true(l->resource != RLIMIT_CORE || l->value.rlim_max <= 1);
        for (size_t k = 0; k < TC_COUNT(names); k++)
            if (names[k].resource == l->resource)
                at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s=%d", at ? " " : "",
                                       names[k].name, (int)l->value.rlim_max);
    }
    tc_trees_done(&p.trees);
    return text;
}

/* Each process has a bound for what no control group counts. */
static void limits_of_processes_stand_in_for_a_control_group(void **state)
{
    static const struct {
        unsigned with;
        const char *limits;
    } rows[] = {
        {0, "files=64 queue=0 size=5000 data=4000 pids=8"},
        {GROUPED, "files=64 queue=0 size=5000 data=4000 pids=8"},
        {GROUPED | HAS_MEMORY, "files=64 queue=0 size=5000 pids=8"},
        {GROUPED | HAS_PIDS, "files=64 queue=0 size=5000 data=4000"},
        {GROUPED | HAS_MEMORY | HAS_PIDS, "files=64 queue=0 size=5000"},
        /* without the group its controllers are nobody's */
        {HAS_MEMORY | HAS_PIDS, "files=64 queue=0 size=5000 data=4000 pids=8"},
        /* what the tool writes to the host is not bounded by `disk` */
        {BIND, "files=64 queue=0 data=4000 pids=8"},
        {BIND | MACHINE, "files=64 queue=0 size=5000 data=4000 pids=8"},
        /* processes of the user would be counted outside, too */
        {UNMOUNTED, "files=64 queue=0 data=4000"},
    };
    const struct tc_limits limits = {.open_files = 64, .memory = 4000, .disk = 5000, .pids = 7};
    (void)state;
    for (size_t i = 0; i < TC_COUNT(rows); i++)
        if (strcmp(limits_of(rows[i].with, &limits), rows[i].limits) != 0)
            fail_msg("with %x: %s", rows[i].with, limits_of(rows[i].with, &limits));
}

static void limits_never_exceed_the_callers(void **state)
{
    const struct tc_limits limits = {.open_files = 64, .memory = 6000, .disk = 5000, .pids = 7};
    (void)state;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &(struct rlimit){32, 32}), 0);
    assert_string_equal(limits_of(0, &limits), "files=32 queue=0 size=6000 data=6000 pids=8");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commands_are_searched_in_absolute_entries_of_path),
        cmocka_unit_test(absent_command_is_a_usage_error),
        cmocka_unit_test(limits_of_processes_stand_in_for_a_control_group),
        cmocka_unit_test(limits_never_exceed_the_callers),
    };
    return cmocka_run_group_tests_name("cage argv", tests, NULL, NULL);
}
