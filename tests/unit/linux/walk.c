/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Walks of trees that were made to trip the walker. */
#include "linux/walk.h"

#include <errno.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/strv.h"
#include "tree.h"

struct seen {
    struct tc_strv names;
    const char *skip, *stop; /* not into this one; stop at this one */
};

static int note(void *userdata, const struct tc_walk_entry *e)
{
    struct seen *s = userdata;
    struct stat st;
    assert_int_equal(fstatat(e->dirfd, e->name, &st, AT_SYMLINK_NOFOLLOW), 0);
    assert_true(st.st_ino == e->st->stx_ino);
    assert_true(tc_strv_add(&s->names, e->relative));
    if (tc_streq(s->stop, e->relative))
        return -1;
    return tc_streq(s->skip, e->relative);
}

static int walk(const char *start, struct seen *s, struct tc_walk *w)
{
    _autofd_ int fd = open(start, O_PATH | O_DIRECTORY | O_CLOEXEC);
    w->visit = note;
    w->userdata = s;
    w->entries_max = w->entries_max ? w->entries_max : 100000;
    return tc_walk(w, fd);
}

static void all_kinds_once_and_no_link_followed(void **state)
{
    static const char *const want[] = {"d", "d/f", "link", "up", "pipe", "a\nb", "\xff\xfe"};
    struct seen s = {0};
    struct tc_walk w = {0};
    char longest[NAME_MAX + 5] = "all/";
    tree_directory("all");
    tree_directory("all/d");
    tree_file("all/d/f", "");
    tree_link("d", "all/link");
    tree_link("..", "all/up");
    tree_file("all/a\nb", "");
    tree_file("all/\xff\xfe", "");
    assert_int_equal(mkfifo("all/pipe", 0600), 0); /* opening it would wait for a writer */
    memset(longest + 4, 'n', NAME_MAX);
    tree_file(longest, "");
    assert_int_equal(walk("all", &s, &w), 0);
    assert_int_equal(s.names.count, TC_COUNT(want) + 1);
    for (size_t i = 0; i < TC_COUNT(want); i++)
        assert_true(tc_strv_has(&s.names, want[i]));
    assert_true(tc_strv_has(&s.names, longest + 4));
    assert_int_equal(w.skipped, 0);
    tc_strv_done(&s.names);
}

static void depth_is_bounded(void **state)
{
    enum { DEEP = TC_WALK_DEEPEST + 60 };
    struct seen s = {0};
    struct tc_walk w = {0};
    tree_directory("deep");
    assert_int_equal(chdir("deep"), 0);
    for (int i = 0; i < DEEP; i++) {
        tree_directory("d");
        assert_int_equal(chdir("d"), 0);
    }
    assert_int_equal(chdir(tree_root), 0);
    assert_int_equal(walk("deep", &s, &w), 0);
    assert_true(s.names.count >= 100 && s.names.count < DEEP);
    assert_int_equal(w.skipped, 1);
    tc_strv_done(&s.names);
}

static void entries_are_bounded(void **state)
{
    struct seen s = {0};
    struct tc_walk w = {.entries_max = 10};
    char name[16];
    tree_directory("many");
    for (int i = 0; i < 25; i++) {
        (void)snprintf(name, sizeof(name), "many/%d", i);
        tree_file(name, "");
    }
    assert_int_equal(walk("many", &s, &w), 0);
    assert_int_equal(s.names.count, 10);
    assert_int_equal(w.skipped, 15);
    tc_strv_done(&s.names);
}

static void time_is_bounded(void **state)
{
    struct seen s = {0};
    struct tc_walk w = {.deadline_us = tc_now_us() - 1};
    assert_int_equal(walk("many", &s, &w), 0);
    assert_int_equal(s.names.count, 0);
    assert_int_equal(w.skipped, 25);
}

static void the_visitor_steers(void **state)
{
    struct seen s = {.skip = "d"};
    struct tc_walk w = {0};
    assert_int_equal(walk("all", &s, &w), 0);
    assert_true(tc_strv_has(&s.names, "d"));
    assert_false(tc_strv_has(&s.names, "d/f"));
    tc_strv_done(&s.names);
    s = (struct seen){.stop = "d/f"};
    w = (struct tc_walk){0};
    assert_int_equal(walk("all", &s, &w), -1);
    assert_string_equal(s.names.items[s.names.count - 1], "d/f");
    tc_strv_done(&s.names);
}

static int quiet(void *userdata, const struct tc_walk_entry *e)
{
    return 0;
}

static int walk_shut(void)
{
    struct tc_walk w = {.visit = quiet, .entries_max = 100};
    _autofd_ int fd = open("shut", O_PATH | O_DIRECTORY | O_CLOEXEC);
    return tc_walk(&w, fd) == 0 && w.skipped == 1 && w.seen == 1 ? 0 : 1;
}

static void unopenable_directory_is_counted(void **state)
{
    tree_directory("shut");
    tree_directory("shut/in");
    assert_int_equal(chmod("shut/in", 0), 0);
    assert_int_equal(as_ordinary_user(walk_shut), 0);
    assert_int_equal(chmod("shut/in", 0700), 0);
}

static void a_start_that_is_no_directory(void **state)
{
    struct tc_walk w = {.visit = note, .entries_max = 1};
    assert_int_equal(tc_walk(&w, -1), -1);
    assert_int_equal(errno, EBADF);
    _autofd_ int file = open("all/d/f", O_PATH | O_CLOEXEC);
    assert_int_equal(tc_walk(&w, file), -1);
    assert_int_equal(errno, ENOTDIR);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_kinds_once_and_no_link_followed),
        cmocka_unit_test(depth_is_bounded),
        cmocka_unit_test(entries_are_bounded),
        cmocka_unit_test(time_is_bounded),
        cmocka_unit_test(the_visitor_steers),
        cmocka_unit_test(unopenable_directory_is_counted),
        cmocka_unit_test(a_start_that_is_no_directory),
    };
    return cmocka_run_group_tests_name("walk", tests, tree_new, tree_end);
}
