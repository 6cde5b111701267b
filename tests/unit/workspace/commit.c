/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * From a private copy back to the host: which changes are committed, which stay away and why, and
 * what the host has afterwards. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <toolcage/error.h>
#include <unistd.h>

#include "scene.h"

struct row {
    const char *name;
    const char *before;    /* makes the host's directory */
    const char *tool;      /* works on the copy */
    const char *meanwhile; /* the host's own work during the call */
    const char *changes;   /* as reported */
    const char *after;     /* what the host has */
};

static void check(const struct row *row, int64_t mode, bool success)
{
    struct scene s;
    scene_new();
    scene_sh(row->before);
    scene_plan(&s, mode, TC_COMMIT_ALWAYS);
    assert_int_equal(scene_begin(&s), 0);
    scene_sh(row->tool);
    scene_sh(row->meanwhile);
    scene_end(&s, true);
    scene_expect(row->name, "changes", scene_changes(&s.outcome), row->changes);
    scene_expect(row->name, "host", scene_tree("host"), row->after);
    if (!s.outcome.failure.code != success)
        fail_msg("%s: %s", row->name,
                 s.outcome.failure.code ? s.outcome.failure.message : "no failure");
    assert_int_equal(access("state/commits", F_OK), 0);
    scene_expect(row->name, "journals", scene_tree("state/commits"), "");
    scene_done(&s);
}

static void check_all(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        check(&rows[i], TC_WORKSPACE_COPY, true);
}

#define CHECK_ALL(rows) check_all(rows, TC_COUNT(rows))

static void changes_reach_the_host(void **state)
{
    static const struct row rows[] = {
        {"nothing", "echo -n 1 >host/a", "cat copy/a >/dev/null", "", "", "a=1"},
        {"written", "echo -n 1 >host/a", "echo -n two >copy/a", "", "modified a", "a=two"},
        {"added", "", "echo -n 1 >copy/a", "", "added a", "a=1"},
        {"removed", "echo -n 1 >host/a", "rm copy/a", "", "deleted a", ""},
        {"renamed", "echo -n 1 >host/a", "mv copy/a copy/b", "", "deleted a, added b", "b=1"},
        {"a new directory", "", "mkdir -p copy/d/e; echo -n 1 >copy/d/e/f", "",
         "added d, added d/e, added d/e/f", "d/ d/e/ d/e/f=1"},
        {"a removed directory", "mkdir host/d; echo -n 1 >host/d/f", "rm -r copy/d", "",
         "deleted d, deleted d/f", ""},
        {"a directory in a file's place", "echo -n 1 >host/a",
         "rm copy/a; mkdir copy/a; echo -n 2 >copy/a/b", "", "modified a, added a/b", "a/ a/b=2"},
        {"a file in a directory's place", "mkdir host/d; echo -n 1 >host/d/f",
         "rm -r copy/d; echo -n 2 >copy/d", "", "modified d, deleted d/f", "d=2"},
        {"a link elsewhere", "ln -s one host/l", "ln -sfn two copy/l", "", "modified l", "l->two"},
        {"a link in a file's place", "echo -n 1 >host/a", "ln -sf b copy/a", "", "modified a",
         "a->b"},
        {"a file in a link's place", "ln -s /etc/passwd host/a", "rm copy/a; echo -n 1 >copy/a", "",
         "modified a", "a=1"},
        {"both names of a file removed", "mkdir host/d; echo -n 1 >host/d/f; ln host/d/f host/g",
         "rm -r copy/d copy/g", "", "deleted d, deleted d/f, deleted g", ""},
        {"both names of a file replaced", "echo -n 1 >host/a; ln host/a host/b",
         "rm copy/a copy/b; echo -n 2 >copy/a; echo -n 3 >copy/b", "", "modified a, modified b",
         "a=2 b=3"},
        {"one name removed, one written", "echo -n 1 >host/a; ln host/a host/b",
         "rm copy/a; echo -n two >copy/b", "", "deleted a, modified b", "b=two"},
        {"odd names", "", "echo -n 1 >'copy/a\nb'; echo -n 2 >'copy/ '", "", "added  , added a\nb",
         " =2 a\nb=1"},
    };
    (void)state;
    CHECK_ALL(rows);
}

/* Whoever was there first: the host's version stays, and the others are committed. */
static void newer_work_of_the_host_stays(void **state)
{
    static const struct row rows[] = {
        {"both wrote", "echo -n 1 >host/a", "echo -n two >copy/a; echo -n 1 >copy/b",
         "echo -n three >host/a", "modified a (conflict), added b", "a=three b=1"},
        {"both added", "", "echo -n 1 >copy/a", "echo -n 22 >host/a", "added a (conflict)", "a=22"},
        {"written and removed", "echo -n 1 >host/a", "echo -n two >copy/a", "rm host/a",
         "modified a (conflict)", ""},
        {"removed and written", "echo -n 1 >host/a", "rm copy/a", "echo -n two >host/a",
         "deleted a (conflict)", "a=two"},
        {"removed, and written by another name", "echo -n 1 >host/a; ln host/a host/b",
         "rm copy/a copy/b", "echo -n two >host/b", "deleted a (conflict), deleted b (conflict)",
         "a=two b=two"},
        {"removed by both", "echo -n 1 >host/a", "rm copy/a", "rm host/a", "deleted a", ""},
        {"the same bytes anew", "echo -n 1 >host/a", "echo -n two >copy/a",
         "cp host/a host/b; mv host/b host/a", "modified a (conflict)", "a=1"},
        {"only its rights", "echo -n 1 >host/a", "echo -n two >copy/a", "chmod 600 host/a",
         "modified a (conflict)", "a=1"},
        {"a new file in a removed directory", "mkdir host/d; echo -n 1 >host/d/f", "rm -r copy/d",
         "echo -n 2 >host/d/g", "deleted d (conflict), deleted d/f", "d/ d/g=2"},
        {"a directory where a file was", "echo -n 1 >host/a", "echo -n two >copy/a",
         "rm host/a; mkdir host/a", "modified a (conflict)", "a/"},
        {"a file where a directory was", "mkdir host/d", "echo -n 1 >copy/d/f",
         "rmdir host/d; echo -n 2 >host/d", "added d/f (conflict)", "d=2"},
        {"a directory became a file with something new in it", "mkdir host/d",
         "rmdir copy/d; echo -n 1 >copy/d", "echo -n 2 >host/d/g", "modified d (conflict)",
         "d/ d/g=2"},
    };
    (void)state;
    CHECK_ALL(rows);
}

/* `out` is the host's, beside what was granted. */
static void links_never_lead_a_commit_out(void **state)
{
    static const struct row rows[] = {
        {"a directory became a link", "mkdir out host/d; echo -n 1 >host/d/f",
         "echo -n two >copy/d/f; echo -n 3 >copy/d/g", "rm -r host/d; ln -s ../out host/d",
         "modified d/f (conflict), added d/g (conflict)", "d->../out"},
        {"a new directory meets a link", "mkdir out", "mkdir copy/d; echo -n 1 >copy/d/f",
         "ln -s ../out host/d", "added d (conflict), added d/f (conflict)", "d->../out"},
        {"a file became a link", "mkdir out; echo -n 1 >host/f", "echo -n two >copy/f",
         "echo -n 1 >out/f; ln -sf ../out/f host/f", "modified f (conflict)", "f->../out/f"},
        {"a removal through a link", "mkdir out host/d; echo -n 1 >host/d/f", "rm copy/d/f",
         "rm -r host/d; echo -n 1 >out/f; ln -s ../out host/d", "deleted d/f (conflict)",
         "d->../out"},
        {"the tool's link and a file behind it", "mkdir out host/d; echo -n 1 >host/d/f",
         "rm -r copy/d; ln -s ../out copy/d; echo -n two >out/h", "", "modified d, deleted d/f",
         "d->../out"},
        {"an absolute link", "", "ln -s /etc/passwd copy/l", "", "added l", "l->/etc/passwd"},
    };
    static const char *const outside[] = {"", "", "f=1", "f=1", "h=two", NULL};
    (void)state;
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        check(&rows[i], TC_WORKSPACE_COPY, true);
        if (outside[i])
            scene_expect(rows[i].name, "outside", scene_tree("out"), outside[i]);
    }
}

static void special_files_are_never_committed(void **state)
{
    static const struct row rows[] = {
        {"a pipe", "", "mkfifo copy/p; echo -n 1 >copy/a", "", "added a, added p (not committed)",
         "a=1"},
        {"a pipe in a file's place", "echo -n 1 >host/a", "rm copy/a; mkfifo copy/a", "",
         "modified a (not committed)", "a=1"},
        {"a pipe in a directory's place", "mkdir host/d", "rmdir copy/d; mkfifo copy/d", "",
         "modified d (not committed)", "d/"},
    };
    (void)state;
    CHECK_ALL(rows);
}

/* Names that programs of the host load or run unasked. */
static void steering_files_stay_away(void **state)
{
    static const struct row rows[] = {
        {"a hook", "mkdir -p host/.git/hooks", "echo -n 1 >copy/.git/hooks/pre-push", "",
         "added .git/hooks/pre-push (steers the host)", ".git/ .git/hooks/"},
        {"git's configuration", "mkdir host/.git; echo -n 1 >host/.git/config",
         "echo -n two >copy/.git/config", "", "modified .git/config (steers the host)",
         ".git/ .git/config=1"},
        {"its removal", "mkdir host/.git; echo -n 1 >host/.git/config", "rm copy/.git/config", "",
         "deleted .git/config (steers the host)", ".git/ .git/config=1"},
        {"a link named .git", "", "ln -s elsewhere copy/.git", "", "added .git (steers the host)",
         ""},
        {"deep below", "", "mkdir -p copy/a/b; echo -n 1 >copy/a/b/.envrc; echo -n 2 >copy/a/b/c",
         "", "added a, added a/b, added a/b/.envrc (steers the host), added a/b/c",
         "a/ a/b/ a/b/c=2"},
        {"the policy's own name", "", "echo -n 1 >copy/toolcage.toml", "",
         "added toolcage.toml (steers the host)", ""},
        {"a repository without a work tree", "",
         "mkdir -p copy/r/objects copy/r/refs; "
         "echo -n 1 >copy/r/HEAD; echo -n 2 >copy/r/config",
         "",
         "added r, added r/HEAD, added r/config (steers the host), added r/objects, added r/refs",
         "r/ r/HEAD=1 r/objects/ r/refs/"},
        {"the piece that makes a repository of a directory with a configuration",
         "mkdir -p host/r/objects host/r/refs; echo -n 1 >host/r/config", "echo -n 1 >copy/r/HEAD",
         "", "added r/HEAD (steers the host)", "r/ r/config=1 r/objects/ r/refs/"},
    };
    (void)state;
    CHECK_ALL(rows);
}

/* Only what the policy's own word frees is committed, and that at its one place. */
static void a_granted_name_frees_its_steering_file(void **state)
{
    struct scene s;
    struct tc_item items[2];
    (void)state;
    scene_new();
    scene_plan(&s, TC_WORKSPACE_COPY, TC_COMMIT_ALWAYS);
    assert_int_equal(scene_begin(&s), 0);
    items[0] = s.item;
    items[1] = (struct tc_item){.mount = &s.mount,
                                .path = "/workspace/.envrc",
                                .name = ".envrc",
                                .part = true,
                                .fd = -1,
                                .copy = -1,
                                .layers = -1};
    s.trees.items = items;
    s.trees.item_count = 2;
    scene_sh("mkdir copy/d; echo -n 1 >copy/.envrc; echo -n 2 >copy/d/.envrc");
    scene_end(&s, true);
    scene_expect("named", "changes", scene_changes(&s.outcome),
                 "added .envrc, added d, added d/.envrc (steers the host)");
    scene_expect("named", "host", scene_tree("host"), ".envrc=1 d/");
    scene_done(&s);
}

/* It was not copied, so what the tool has under its name is not the host's. */
static void denied_names_are_neither_copied_nor_committed(void **state)
{
    struct tc_deny denies[] = {{.path = (char *)(uintptr_t) "/workspace/secret"},
                               {.path = (char *)(uintptr_t) "/workspace/d/key"}};
    struct scene s;
    (void)state;
    scene_new();
    scene_sh("mkdir host/d; echo -n 1 >host/secret; echo -n 2 >host/d/key; echo -n 3 >host/d/f");
    scene_plan(&s, TC_WORKSPACE_COPY, TC_COMMIT_ALWAYS);
    s.plan.denies = denies;
    s.plan.deny_count = TC_COUNT(denies);
    assert_int_equal(scene_begin(&s), 0);
    scene_expect("denied", "copy", scene_tree("copy"), "d/ d/f=3");
    scene_sh("mkdir copy/secret; echo -n x >copy/secret/y; echo -n x >copy/d/key");
    scene_end(&s, true);
    scene_expect("denied", "changes", scene_changes(&s.outcome),
                 "added d/key (denied), added secret (denied), added secret/y (denied)");
    scene_expect("denied", "host", scene_tree("host"), "d/ d/f=3 d/key=2 secret=1");
    scene_done(&s);
}

/* The removal of its directory left it there, so nothing may take the directory's place. */
static void denied_names_keep_their_directory(void **state)
{
    struct tc_deny deny = {.path = (char *)(uintptr_t) "/workspace/d/key"};
    struct scene s;
    (void)state;
    scene_new();
    scene_sh("mkdir host/d; echo -n 1 >host/d/key");
    scene_plan(&s, TC_WORKSPACE_COPY, TC_COMMIT_ALWAYS);
    s.plan.denies = &deny;
    s.plan.deny_count = 1;
    assert_int_equal(scene_begin(&s), 0);
    scene_sh("rm -r copy/d; echo -n 2 >copy/d");
    scene_end(&s, true);
    scene_expect("denied", "changes", scene_changes(&s.outcome), "modified d (conflict)");
    scene_expect("denied", "host", scene_tree("host"), "d/ d/key=1");
    scene_done(&s);
}

static void rights_come_back_without_set_id_bits_of_files(void **state)
{
    static const struct {
        const char *path, *before, *tool;
        unsigned after;
    } rows[] = {
        {"host/a", "echo >host/a; chmod 640 host/a", "echo 2 >copy/a", S_IFREG | 0640},
        {"host/a", "echo >host/a; chmod 640 host/a", "chmod 755 copy/a", S_IFREG | 0755},
        {"host/a", "echo >host/a", "chmod 6755 copy/a", S_IFREG | 0755},
        {"host/d", "", "mkdir copy/d; echo >copy/d/f; chmod 500 copy/d", S_IFDIR | 0500},
        {"host/d", "mkdir host/d; chmod 750 host/d", "chmod 700 copy/d", S_IFDIR | 0700},
        {"host/d", "mkdir host/d; chmod 1770 host/d", "chmod 700 copy/d", S_IFDIR | 01700},
        {"host/d", "mkdir host/d; chmod 500 host/d", "echo >copy/x", S_IFDIR | 0500},
        {"host/d", "", "mkdir copy/d; chmod 7777 copy/d", S_IFDIR | 02777},
        {"host/d", "mkdir host/d", "chmod 2750 copy/d", S_IFDIR | 02750},
        {"host/d", "mkdir host/d; chmod 2750 host/d", "chmod g-s copy/d", S_IFDIR | 0750},
        {"host/d", "mkdir host/d; chmod 2750 host/d", "chmod 2700 copy/d", S_IFDIR | 02700},
    };
    (void)state;
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        struct scene s;
        scene_new();
        scene_sh(rows[i].before);
        scene_plan(&s, TC_WORKSPACE_COPY, TC_COMMIT_ALWAYS);
        assert_int_equal(scene_begin(&s), 0);
        scene_sh(rows[i].tool);
        scene_end(&s, true);
        if (scene_mode(rows[i].path) != rows[i].after)
            fail_msg("%s; %s: %o", rows[i].before, rows[i].tool, scene_mode(rows[i].path));
        scene_done(&s);
    }
}

/* The mode of a directory that the host changed meanwhile is the host's. */
static void newer_rights_of_a_directory_stay(void **state)
{
    static const struct row row = {"rights",
                                   "mkdir host/d",
                                   "chmod 700 copy/d; echo -n 1 >copy/d/f",
                                   "chmod 711 host/d",
                                   "modified d (conflict), added d/f",
                                   "d/ d/f=1"};
    (void)state;
    check(&row, TC_WORKSPACE_COPY, true);
    assert_int_equal(scene_mode("host/d"), S_IFDIR | 0711);
}

static void times_come_back_of_files_and_links(void **state)
{
    static const struct row row = {
        "times",
        "echo -n 1 >host/a; echo -n 1 >b; touch -d @2000000000 b",
        "echo -n two >copy/a; ln -s ../b copy/l; touch -h -d @1000000000 copy/a copy/l",
        "",
        "modified a, added l",
        "a=two l->../b"};
    static const char *const names[] = {"host/a", "host/l", "b"};
    struct stat st;
    (void)state;
    check(&row, TC_WORKSPACE_COPY, true);
    for (size_t i = 0; i < TC_COUNT(names); i++) {
        assert_int_equal(lstat(names[i], &st), 0);
        assert_int_equal(st.st_mtim.tv_sec, i < 2 ? 1000000000 : 2000000000);
    }
}

/* A part that is left behind is a failed call, and named; the rest is committed. */
static void too_deep_a_change_fails_the_call(void **state)
{
    enum { DEEPEST = 400 };
    char path[4 + 2 * (DEEPEST + 1) + 1] = "copy", line[sizeof(path) + 16];
    struct scene s;
    (void)state;
    scene_new();
    scene_plan(&s, TC_WORKSPACE_COPY, TC_COMMIT_ALWAYS);
    assert_int_equal(scene_begin(&s), 0);
    for (size_t at = 4; at < sizeof(path) - 1; at += 2)
        memcpy(path + at, "/d", 3);
    (void)snprintf(line, sizeof(line), "mkdir -p %s", path);
    scene_sh(line);
    scene_end(&s, true);
    memcpy(path, "host", 4);
    assert_int_equal(access(path, F_OK), -1);
    path[strlen(path) - 2] = '\0';
    assert_int_equal(access(path, F_OK), 0);
    assert_int_equal(s.outcome.failure.code, TOOLCAGE_EBACKEND);
    assert_string_equal(s.outcome.failure.stage, "collect");
    assert_int_equal(strlen(s.outcome.failure.subject), strlen("/workspace") + 2 * (DEEPEST + 1));
    assert_int_equal(s.outcome.change_count, DEEPEST + 1);
    scene_done(&s);
}

static void nothing_is_committed_without_a_journal(void **state)
{
    struct scene s;
    (void)state;
    scene_new();
    scene_sh("echo -n 1 >host/a; echo -n 1 >host/b");
    scene_plan(&s, TC_WORKSPACE_COPY, TC_COMMIT_ALWAYS);
    assert_int_equal(scene_begin(&s), 0);
    s.workspace.journals = -1;
    scene_sh("echo -n two >copy/a; rm copy/b; mkdir copy/d");
    scene_end(&s, true);
    scene_expect("no journal", "changes", scene_changes(&s.outcome),
                 "modified a (not committed), deleted b (not committed), added d (not committed)");
    scene_expect("no journal", "host", scene_tree("host"), "a=1 b=1");
    assert_int_equal(s.outcome.failure.code, TOOLCAGE_EBACKEND);
    scene_done(&s);
}

/* The call failed: its changes are reported, and nothing of them is the host's. */
static void failed_call_commits_nothing(void **state)
{
    struct scene s;
    (void)state;
    scene_new();
    scene_sh("echo -n 1 >host/a; mkdir -p host/.git/hooks");
    scene_plan(&s, TC_WORKSPACE_COPY, TC_COMMIT_ALWAYS);
    assert_int_equal(scene_begin(&s), 0);
    scene_sh("echo -n two >copy/a; echo -n 1 >copy/.git/hooks/x");
    scene_end(&s, false);
    scene_expect("failed", "changes", scene_changes(&s.outcome),
                 "added .git/hooks/x (not committed), modified a (not committed)");
    scene_expect("failed", "host", scene_tree("host"), ".git/ .git/hooks/ a=1");
    assert_int_equal(s.outcome.failure.code, 0);
    assert_true(s.outcome.changes[0].steers_host != s.outcome.changes[1].steers_host);
    scene_done(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changes_reach_the_host),
        cmocka_unit_test(newer_work_of_the_host_stays),
        cmocka_unit_test(links_never_lead_a_commit_out),
        cmocka_unit_test(special_files_are_never_committed),
        cmocka_unit_test(steering_files_stay_away),
        cmocka_unit_test(a_granted_name_frees_its_steering_file),
        cmocka_unit_test(denied_names_are_neither_copied_nor_committed),
        cmocka_unit_test(denied_names_keep_their_directory),
        cmocka_unit_test(rights_come_back_without_set_id_bits_of_files),
        cmocka_unit_test(newer_rights_of_a_directory_stay),
        cmocka_unit_test(times_come_back_of_files_and_links),
        cmocka_unit_test(too_deep_a_change_fails_the_call),
        cmocka_unit_test(nothing_is_committed_without_a_journal),
        cmocka_unit_test(failed_call_commits_nothing),
    };
    return cmocka_run_group_tests(tests, scenes_open, scenes_close);
}
