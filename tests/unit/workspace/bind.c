/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What changed in a directory that the tool works in directly: told by time, read within the
 * grant, and bounded. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "scene.h"

/* What is there already has rested, so that its times are before the call's start. */
static void begin(struct scene *s, const char *before)
{
    const struct timespec tick = {.tv_nsec = 20000000};
    scene_new();
    scene_sh(before);
    (void)nanosleep(&tick, NULL);
    scene_plan(s, TC_WORKSPACE_BIND, TC_COMMIT_SUCCESS);
    assert_int_equal(scene_begin(s), 0);
    (void)nanosleep(&tick, NULL);
}

static const struct tc_change *change_of(const struct scene *s, const char *path)
{
    for (size_t i = 0; i < s->outcome.change_count; i++)
        if (strcmp(s->outcome.changes[i].path, path) == 0)
            return &s->outcome.changes[i];
    return NULL;
}

static void changes_are_told_by_time(void **state)
{
    static const struct {
        const char *name, *before, *tool, *changes;
    } rows[] = {
        {"nothing", "echo 1 >host/a", "cat host/a >out", ""},
        {"written", "echo 1 >host/a", "echo 2 >host/a", "modified a"},
        {"with an older time", "echo 1 >host/a", "echo 2 >host/a; touch -d @1000000000 host/a",
         "modified a"},
        {"added", "", "echo 1 >host/a", "added a"},
        {"a new directory", "", "mkdir host/d; echo 1 >host/d/a", "added d, added d/a"},
        {"rights of a directory", "mkdir host/d", "chmod 700 host/d", "modified d"},
        {"a removal is told by its directory", "mkdir host/d; echo 1 >host/d/a", "rm host/d/a",
         "modified d"},
        {"a file in a directory tells enough", "mkdir host/d", "echo 1 >host/d/a", "added d/a"},
        {"a removal in the directory itself", "echo 1 >host/a", "rm host/a", "modified /workspace"},
        {"a link", "", "ln -s /etc/passwd host/l", "added l"},
    };
    (void)state;
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        struct scene s;
        begin(&s, rows[i].before);
        scene_sh(rows[i].tool);
        scene_end(&s, true);
        scene_expect(rows[i].name, "changes", scene_changes(&s.outcome), rows[i].changes);
        for (size_t k = 0; k < s.outcome.change_count; k++)
            assert_string_equal(s.outcome.changes[k].attribution, "time");
        assert_int_equal(s.outcome.failure.code, 0);
        scene_done(&s);
    }
}

static void steering_changes_are_marked(void **state)
{
    struct scene s;
    (void)state;
    begin(&s, "mkdir -p host/.git/hooks");
    scene_sh(
        "echo 1 >host/.git/hooks/pre-push; echo 1 >host/a; mkdir host/d; echo 1 >host/d/.envrc");
    scene_end(&s, true);
    assert_true(change_of(&s, "/workspace/.git/hooks/pre-push")->steers_host);
    assert_true(change_of(&s, "/workspace/d/.envrc")->steers_host);
    assert_false(change_of(&s, "/workspace/a")->steers_host);
    assert_false(change_of(&s, "/workspace/d")->steers_host);
    scene_done(&s);
}

/* A tool that makes thousands of files does not crowd out the one that matters. */
static void long_lists_leave_room_for_steering_changes(void **state)
{
    enum { LISTED = 10000, MORE = 25 };
    struct scene s;
    char name[32];
    (void)state;
    begin(&s, "");
    _autofd_ int dir = open("host", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; i < LISTED + MORE; i++) {
        (void)snprintf(name, sizeof(name), "f%d", i);
        assert_int_equal(mknodat(dir, name, S_IFREG | 0644, 0), 0);
    }
    scene_sh("mkdir -p host/zz/.vscode; echo 1 >host/zz/.vscode/tasks.json; echo 1 >host/.envrc");
    scene_end(&s, true);
    assert_non_null(change_of(&s, "/workspace/.envrc"));
    assert_non_null(change_of(&s, "/workspace/zz/.vscode/tasks.json"));
    size_t plain = 0;
    for (size_t i = 0; i < s.outcome.change_count; i++)
        plain += !s.outcome.changes[i].steers_host;
    assert_int_equal(plain, LISTED);
    assert_int_equal(s.outcome.omitted_changes + s.outcome.change_count, LISTED + MORE + 4);
    scene_done(&s);
}

/* Only regular files that are the tool's to show come with their bytes. */
static void collected_files_are_the_tools_own(void **state)
{
    static char *patterns[] = {(char *)(uintptr_t) "*.txt"};
    struct tc_deny deny = {.path = (char *)(uintptr_t) "/workspace/no"};
    struct scene s;
    (void)state;
    begin(&s, "mkdir host/no");
    s.plan.collect = (struct tc_strv){.items = patterns, .count = 1};
    s.plan.denies = &deny;
    s.plan.deny_count = 1;
    scene_sh("echo -n one >host/a.txt; echo -n two >host/b.bin; echo -n three >host/no/c.txt; "
             "ln -s /etc/passwd host/d.txt; mkfifo host/e.txt; mkdir host/f.txt; "
             "echo -n four >host/f.txt/g.txt");
    scene_end(&s, true);
    assert_int_equal(s.outcome.file_count, 2);
    for (size_t i = 0; i < s.outcome.file_count; i++) {
        const struct tc_file *f = &s.outcome.files[i];
        bool first = strcmp(f->path, "/workspace/a.txt") == 0;
        assert_true(first || strcmp(f->path, "/workspace/f.txt/g.txt") == 0);
        assert_int_equal(f->content_len, first ? 3 : 4);
        assert_memory_equal(f->content, first ? "one" : "four", f->content_len);
        assert_int_equal(strlen(f->sha256), 64);
    }
    assert_string_equal(change_of(&s, "/workspace/d.txt")->target, "/etc/passwd");
    assert_null(change_of(&s, "/workspace/d.txt")->sha256);
    scene_done(&s);
}

/* Another name of it may lie outside of what was granted. */
static void further_names_of_a_file_are_counted(void **state)
{
    struct scene s;
    (void)state;
    begin(&s, "echo 1 >host/a; ln host/a b");
    scene_sh("echo 2 >host/a; echo 1 >host/c");
    scene_end(&s, true);
    assert_int_equal(change_of(&s, "/workspace/a")->links, 2);
    assert_int_equal(change_of(&s, "/workspace/c")->links, 0);
    scene_done(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changes_are_told_by_time),
        cmocka_unit_test(steering_changes_are_marked),
        cmocka_unit_test(long_lists_leave_room_for_steering_changes),
        cmocka_unit_test(collected_files_are_the_tools_own),
        cmocka_unit_test(further_names_of_a_file_are_counted),
    };
    return cmocka_run_group_tests(tests, scenes_open, scenes_close);
}
