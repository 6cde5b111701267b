/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The upper layer of an overlay as the kernel leaves it (whiteouts, opaque directories, files that
 * were copied up), and what of it is a change, reaches the host, or meets newer work there. */
#include <stdio.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "scene.h"

/* A line of sh. */
#define WHITEOUT(path) "mknod copy/u/" path " c 0 0"

struct row {
    const char *name;
    const char *before;    /* makes the host's directory */
    const char *upper;     /* what the layer holds afterwards */
    const char *opaque;    /* a directory of the host that the layer replaces; NULL: none */
    const char *meanwhile; /* the host's own work during the call */
    const char *changes;   /* as reported */
    const char *after;     /* what the host has */
};

static void mark_opaque(const char *directory)
{
    char path[128];
    (void)snprintf(path, sizeof(path), "%s/%s", SCENE_UPPER, directory);
    assert_int_equal(setxattr(path, "user.overlay.opaque", "y", 1, 0), 0);
}

static void check(const struct row *row)
{
    struct scene s;
    scene_new();
    scene_sh(row->before);
    scene_plan(&s, TC_WORKSPACE_OVERLAY, TC_COMMIT_ALWAYS);
    if (scene_begin(&s) < 0)
        fail_msg("%s: %s", row->name, s.outcome.failure.message);
    scene_sh(row->upper);
    if (row->opaque)
        mark_opaque(row->opaque);
    scene_sh(row->meanwhile);
    scene_end(&s, true);
    scene_expect(row->name, "changes", scene_changes(&s.outcome), row->changes);
    scene_expect(row->name, "host", scene_tree("host"), row->after);
    if (s.outcome.failure.code)
        fail_msg("%s: %s", row->name, s.outcome.failure.message);
    scene_done(&s);
}

#define CHECK_ALL(rows)                             \
    do {                                            \
        for (size_t i = 0; i < TC_COUNT(rows); i++) \
            check(&(rows)[i]);                      \
    } while (0)

static void changed_names_reach_the_host(void **state)
{
    static const struct row rows[] = {
        {"nothing", "echo -n 1 >host/a", "", NULL, "", "", "a=1"},
        {"written", "echo -n 1 >host/a", "echo -n two >copy/u/a", NULL, "", "modified a", "a=two"},
        {"added", "mkdir host/d", "mkdir copy/u/d; echo -n 1 >copy/u/d/a", NULL, "", "added d/a",
         "d/ d/a=1"},
        {"a new directory", "", "mkdir copy/u/d; echo -n 1 >copy/u/d/a", NULL, "",
         "added d, added d/a", "d/ d/a=1"},
        {"its rights", "mkdir host/d; echo -n 1 >host/d/a", "mkdir -m 700 copy/u/d", NULL, "",
         "modified d", "d/ d/a=1"},
        {"a file in a directory's place", "mkdir host/d; echo -n 1 >host/d/a",
         "echo -n 2 >copy/u/d", NULL, "", "modified d, deleted d/a", "d=2"},
        {"a pipe in a file's place", "echo -n 1 >host/a", "mkfifo copy/u/a", NULL, "",
         "modified a (not committed)", "a=1"},
    };
    (void)state;
    CHECK_ALL(rows);
}

/* A file is copied up as soon as it is opened for writing, and its directory with it. */
static void copies_without_a_change_are_none(void **state)
{
    static const struct row rows[] = {
        {"a file", "echo -n 1 >host/a", "cp -p host/a copy/u/a", NULL, "", "", "a=1"},
        {"in a directory", "mkdir host/d; echo -n 1 >host/d/a",
         "mkdir copy/u/d; cp -p host/d/a copy/u/d/a", NULL, "", "", "d/ d/a=1"},
        {"a link", "ln -s a host/l", "ln -s a copy/u/l", NULL, "", "", "l->a"},
        {"other bytes of the same size and time", "echo -n 1 >host/a",
         "echo -n 2 >copy/u/a; touch -r host/a copy/u/a", NULL, "", "modified a", "a=2"},
        {"the same bytes and other rights", "echo -n 1 >host/a",
         "cp -p host/a copy/u/a; chmod 755 copy/u/a", NULL, "", "modified a", "a=1"},
        {"a link elsewhere", "ln -s a host/l", "ln -s b copy/u/l", NULL, "", "modified l", "l->b"},
        {"what the host changed meanwhile", "echo -n 1 >host/a", "cp -p host/a copy/u/a", NULL,
         "echo -n two >host/a", "modified a (conflict)", "a=two"},
    };
    (void)state;
    CHECK_ALL(rows);
}

static void whiteouts_are_removals(void **state)
{
    static const struct row rows[] = {
        {"a file", "echo -n 1 >host/a; echo -n 2 >host/b", WHITEOUT("a"), NULL, "", "deleted a",
         "b=2"},
        {"a link", "ln -s a host/l", WHITEOUT("l"), NULL, "", "deleted l", ""},
        {"below a directory", "mkdir host/d; echo -n 1 >host/d/a; echo -n 2 >host/d/b",
         "mkdir copy/u/d; " WHITEOUT("d/a"), NULL, "", "deleted d/a", "d/ d/b=2"},
        {"a directory with all that it holds",
         "mkdir -p host/d/e; echo -n 1 >host/d/a; echo -n 2 >host/d/e/b", WHITEOUT("d"), NULL, "",
         "deleted d, deleted d/a, deleted d/e, deleted d/e/b", ""},
        {"of a name that never was", "", WHITEOUT("a"), NULL, "", "", ""},
        {"of a name that the host made meanwhile", "", WHITEOUT("a"), NULL, "echo -n 1 >host/a", "",
         "a=1"},
        {"of a file that the host wrote meanwhile", "echo -n 1 >host/a", WHITEOUT("a"), NULL,
         "echo -n two >host/a", "deleted a (conflict)", "a=two"},
        {"of a file that the host removed, too", "echo -n 1 >host/a", WHITEOUT("a"), NULL,
         "rm host/a", "", ""},
        {"of a directory that got a file meanwhile", "mkdir host/d; echo -n 1 >host/d/a",
         WHITEOUT("d"), NULL, "echo -n 2 >host/d/b",
         "deleted d (conflict), deleted d/a, deleted d/b (conflict)", "d/ d/b=2"},
        {"of a file whose directory was replaced",
         "mkdir host/d host/e; echo -n 1 >host/d/a; "
         "echo -n 22 >host/e/a",
         "mkdir copy/u/d; " WHITEOUT("d/a"), NULL, "rm -r host/d; mv host/e host/d",
         "deleted d/a (conflict)", "d/ d/a=22"},
        {"a steering file", "echo -n 1 >host/.envrc", WHITEOUT(".envrc"), NULL, "",
         "deleted .envrc (steers the host)", ".envrc=1"},
    };
    (void)state;
    CHECK_ALL(rows);
}

/* The tool removed a directory and made one of its name: nothing below comes from the old one. */
static void opaque_directories_hide_their_old_content(void **state)
{
    static const struct row rows[] = {
        {"empty", "mkdir host/d; echo -n 1 >host/d/a", "mkdir copy/u/d", "d", "", "deleted d/a",
         "d/"},
        {"with another file", "mkdir host/d; echo -n 1 >host/d/a",
         "mkdir copy/u/d; echo -n 2 >copy/u/d/b", "d", "", "deleted d/a, added d/b", "d/ d/b=2"},
        {"with the same file", "mkdir host/d; echo -n 1 >host/d/a",
         "mkdir copy/u/d; echo -n two >copy/u/d/a", "d", "", "modified d/a", "d/ d/a=two"},
        {"and deeper", "mkdir -p host/d/e; echo -n 1 >host/d/e/a", "mkdir copy/u/d", "d", "",
         "deleted d/e, deleted d/e/a", "d/"},
        {"not opaque", "mkdir host/d; echo -n 1 >host/d/a", "mkdir copy/u/d; echo -n 2 >copy/u/d/b",
         NULL, "", "added d/b", "d/ d/a=1 d/b=2"},
        {"with newer work of the host", "mkdir host/d; echo -n 1 >host/d/a; echo -n 2 >host/d/b",
         "mkdir copy/u/d", "d", "echo -n three >host/d/b", "deleted d/a, deleted d/b (conflict)",
         "d/ d/b=three"},
    };
    (void)state;
    CHECK_ALL(rows);
}

/* It is hidden from the tool, so it cannot be among what a removed directory held. */
static void denied_names_survive_their_directory(void **state)
{
    struct tc_deny deny = {.path = (char *)(uintptr_t) "/workspace/d/key"};
    struct scene s;
    (void)state;
    scene_new();
    scene_sh("mkdir host/d; echo -n 1 >host/d/key; echo -n 2 >host/d/a");
    scene_plan(&s, TC_WORKSPACE_OVERLAY, TC_COMMIT_ALWAYS);
    s.plan.denies = &deny;
    s.plan.deny_count = 1;
    assert_int_equal(scene_begin(&s), 0);
    scene_sh(WHITEOUT("d"));
    scene_end(&s, true);
    scene_expect("denied", "changes", scene_changes(&s.outcome),
                 "deleted d (conflict), deleted d/a");
    scene_expect("denied", "host", scene_tree("host"), "d/ d/key=1");
    scene_done(&s);
}

/* Whoever sets the clock back takes the meaning from every time since: nothing is overwritten. */
static void a_clock_set_back_makes_conflicts(void **state)
{
    struct scene s;
    (void)state;
    scene_new();
    scene_sh("echo -n 1 >host/a; echo -n 1 >host/b");
    scene_plan(&s, TC_WORKSPACE_OVERLAY, TC_COMMIT_ALWAYS);
    assert_int_equal(scene_begin(&s), 0);
    scene_sh("echo -n two >copy/u/a; echo -n 1 >copy/u/c; " WHITEOUT("b"));
    s.workspace.opened_ns += 3600LL * 1000000000;
    scene_end(&s, true);
    scene_expect("clock", "changes", scene_changes(&s.outcome),
                 "modified a (conflict), deleted b (conflict), added c");
    scene_expect("clock", "host", scene_tree("host"), "a=1 b=1 c=1");
    scene_done(&s);
}

/* The layer has the limits of the policy, and the rights of what it covers. */
static void the_layer_has_the_policys_limits(void **state)
{
    struct scene s;
    (void)state;
    scene_new();
    scene_sh("chmod 711 host");
    scene_plan(&s, TC_WORKSPACE_OVERLAY, TC_COMMIT_ALWAYS);
    s.plan.limits = (struct tc_limits){.disk = 12345, .inodes = 67};
    assert_int_equal(scene_begin(&s), 0);
    assert_int_equal(scene_storage.bytes, 12345);
    assert_int_equal(scene_storage.inodes, 67);
    assert_int_equal(scene_mode(SCENE_UPPER) & 0777, 0711);
    assert_int_equal(access("copy/w", F_OK), 0);
    scene_done(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changed_names_reach_the_host),
        cmocka_unit_test(copies_without_a_change_are_none),
        cmocka_unit_test(whiteouts_are_removals),
        cmocka_unit_test(opaque_directories_hide_their_old_content),
        cmocka_unit_test(denied_names_survive_their_directory),
        cmocka_unit_test(a_clock_set_back_makes_conflicts),
        cmocka_unit_test(the_layer_has_the_policys_limits),
    };
    return cmocka_run_group_tests(tests, scenes_open, scenes_close);
}
