/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The private copy that a tool gets of a directory: what is in it, what is left out, and when there
 * is none. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <toolcage/error.h>
#include <unistd.h>

#include "scene.h"
#include "workspace/copy.h"

static void copies_hold_files_links_and_directories_only(void **state)
{
    static const struct {
        const char *name, *before, *copy;
    } rows[] = {
        {"empty", "", ""},
        {"files", "echo -n 1 >host/a; mkdir -p host/d/e; echo -n 2 >host/d/e/f",
         "a=1 d/ d/e/ d/e/f=2"},
        {"a link out is a link", "ln -s /etc/passwd host/l; ln -s ../.. host/up",
         "l->/etc/passwd up->../.."},
        {"a pipe", "mkfifo host/p; echo -n 1 >host/a", "a=1"},
        {"two names of one file", "echo -n 1 >host/a; ln host/a host/b", "a=1 b=1"},
        {"a hidden file", "echo -n 1 >host/.a", ".a=1"},
    };
    (void)state;
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        struct scene s;
        scene_new();
        scene_sh(rows[i].before);
        scene_plan(&s, TC_WORKSPACE_COPY, TC_COMMIT_SUCCESS);
        assert_int_equal(scene_begin(&s), 0);
        scene_expect(rows[i].name, "copy", scene_tree(SCENE_COPY), rows[i].copy);
        scene_done(&s);
    }
}

/* The tool could not be stopped from using a set-id bit; and it must be able to fill a directory.
 */
static void copied_rights_lose_set_id_bits_of_files_and_let_the_tool_write(void **state)
{
    static const struct {
        const char *before, *path;
        unsigned mode;
    } rows[] = {
        {"echo >host/a; chmod 640 host/a", "copy/a", S_IFREG | 0640},
        {"echo >host/a; chmod 6755 host/a", "copy/a", S_IFREG | 0755},
        {"mkdir host/d; chmod 500 host/d", "copy/d", S_IFDIR | 0700},
        {"mkdir host/d; chmod 2755 host/d", "copy/d", S_IFDIR | 02755},
    };
    (void)state;
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        struct scene s;
        scene_new();
        scene_sh(rows[i].before);
        scene_plan(&s, TC_WORKSPACE_COPY, TC_COMMIT_SUCCESS);
        assert_int_equal(scene_begin(&s), 0);
        if (scene_mode(rows[i].path) != rows[i].mode)
            fail_msg("%s: %o", rows[i].before, scene_mode(rows[i].path));
        scene_done(&s);
    }
}

/* A file of a terabyte takes no room here, and must not take any on its way. */
static void holes_stay_holes(void **state)
{
    enum { SIZE = 64 << 20 };
    struct scene s;
    struct stat st;
    (void)state;
    scene_new();
    scene_sh("printf x >host/a; truncate -s 32M host/a; printf y >>host/a; truncate -s 64M host/a");
    scene_plan(&s, TC_WORKSPACE_COPY, TC_COMMIT_SUCCESS);
    assert_int_equal(scene_begin(&s), 0);
    assert_int_equal(stat("copy/a", &st), 0);
    assert_int_equal(st.st_size, SIZE);
    assert_true(st.st_blocks * 512 < SIZE / 8);
    scene_sh("cmp host/a copy/a");
    scene_done(&s);
}

static void storage_has_the_policys_limits(void **state)
{
    struct scene s;
    (void)state;
    scene_new();
    scene_plan(&s, TC_WORKSPACE_COPY, TC_COMMIT_SUCCESS);
    s.plan.limits = (struct tc_limits){.disk = 54321, .inodes = 76};
    assert_int_equal(scene_begin(&s), 0);
    assert_int_equal(scene_storage.bytes, 54321);
    assert_int_equal(scene_storage.inodes, 76);
    scene_done(&s);
}

static void failed_copies_refuse_the_call(void **state)
{
    char deep[4 + 2 * 502 + 1] = "host", line[sizeof(deep) + 16];
    static const char *const hints[] = {"must fit into `disk`", "500 deep", ""};
    (void)state;
    for (size_t at = 4; at < sizeof(deep) - 1; at += 2)
        memcpy(deep + at, "/d", 3);
    (void)snprintf(line, sizeof(line), "mkdir -p %s", deep);
    for (size_t i = 0; i < TC_COUNT(hints); i++) {
        struct scene s;
        scene_new();
        scene_sh(i == 1 ? line : "echo >host/a");
        scene_plan(&s, TC_WORKSPACE_COPY, TC_COMMIT_SUCCESS);
        scene_storage.errnum = i == 0 ? ENOSPC : 0;
        s.cage.answered = i == 2; /* the caller waits no longer */
        assert_int_equal(scene_begin(&s), -1);
        scene_storage.errnum = 0;
        assert_int_equal(s.outcome.failure.code, TOOLCAGE_EPATH);
        assert_string_equal(s.outcome.failure.stage, "workspace");
        assert_int_equal(s.outcome.failure.clause, TC_CLAUSE_FS_WRITE);
        assert_non_null(strstr(s.outcome.failure.subject, "/host"));
        assert_non_null(strstr(s.outcome.failure.hint, hints[i]));
        assert_int_equal(s.item.copy, -1);
        scene_done(&s);
    }
}

/* What stands under the new name is somebody's, or leads somewhere. */
static void single_files_are_never_copied_over_or_through_a_name(void **state)
{
    (void)state;
    scene_new();
    scene_sh("echo -n 1 >host/a; echo -n 2 >b; ln -s b l; ln -s none dangling; ln -s host/a way");
    static const char *const to[] = {"b", "l", "dangling"};
    for (size_t i = 0; i < TC_COUNT(to); i++) {
        assert_int_equal(tc_workspace_copy_file(AT_FDCWD, "host/a", AT_FDCWD, to[i], 0644), -1);
        assert_int_equal(errno, EEXIST);
    }
    assert_int_equal(tc_workspace_copy_file(AT_FDCWD, "way", AT_FDCWD, "new", 0644), -1);
    assert_int_equal(errno, ELOOP);
    assert_int_equal(access("none", F_OK) | access("new", F_OK), -1);
    assert_int_equal(tc_workspace_copy_file(AT_FDCWD, "host/a", AT_FDCWD, "new", 04644), 0);
    assert_int_equal(scene_mode("new"), S_IFREG | 0644);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_hold_files_links_and_directories_only),
        cmocka_unit_test(copied_rights_lose_set_id_bits_of_files_and_let_the_tool_write),
        cmocka_unit_test(holes_stay_holes),
        cmocka_unit_test(storage_has_the_policys_limits),
        cmocka_unit_test(failed_copies_refuse_the_call),
        cmocka_unit_test(single_files_are_never_copied_over_or_through_a_name),
    };
    return cmocka_run_group_tests(tests, scenes_open, scenes_close);
}
