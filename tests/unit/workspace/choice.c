/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Which of the staged changes a list of paths means. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "scene.h"
#include "workspace/choice.h"

#define TEXT(literal) ((char *)(uintptr_t)(literal))
#define ROW(tree_, name, kind_, ...)                                              \
    {                                                                             \
        .tree = (tree_), .relative = TEXT(name), .kind = TEXT(kind_), __VA_ARGS__ \
    }
#define WAS_DIRECTORY .was = true, .host.mode = S_IFDIR | 0755

/* Two granted directories; the letter of each row stands in the tables below. */
static struct tc_held_tree trees[] = {{.path = TEXT("/ws")}, {.path = TEXT("/data")}};
static struct tc_held_row rows[] = {
    ROW(0, "new", "added"),                                /* a */
    ROW(0, "new/deep", "added"),                           /* b */
    ROW(0, "new/deep/file", "added"),                      /* c */
    ROW(0, "news", "added"),                               /* d */
    ROW(0, "old", "modified", WAS_DIRECTORY),              /* e */
    ROW(0, "old/file", "modified"),                        /* f */
    ROW(0, "old/gone", "deleted"),                         /* g */
    ROW(0, "old/gone/file", "deleted"),                    /* h */
    ROW(0, "old/__pycache__", "added", .cache = 15),       /* i */
    ROW(0, "old/__pycache__/x.pyc", "added", .cache = 15), /* j */
    {.tree = 0, .relative = TEXT("way"), .was = true},     /* k: only on the way */
    ROW(0, "way/file", "modified"),                        /* l */
    ROW(1, "new", "added"),                                /* m */
};
static const struct tc_held_list list = {
    .trees = trees, .tree_count = TC_COUNT(trees), .rows = rows, .row_count = TC_COUNT(rows)};

enum action { SHOW, COMMIT, DISCARD };

/* The letters of what is chosen, or "?" and the number of the path that means nothing. */
static const char *chosen(enum action action, const char *const paths[4])
{
    static char text[TC_COUNT(rows) + 2];
    struct tc_choice choice = {.commits = action == COMMIT, .discards = action == DISCARD};
    struct tc_strv wanted = {.items = (char **)(uintptr_t)paths};
    size_t at = 0;
    while (wanted.count < 4 && paths[wanted.count])
        wanted.count++;
    ssize_t made = tc_choice_make(&choice, &list, &wanted);
    assert_true(made >= 0);
    if (made) {
        text[at++] = '?';
        text[at++] = (char)('0' + made);
    }
    for (size_t i = 0; !made && i < TC_COUNT(rows); i++)
        if (choice.chosen[i])
            text[at++] = (char)('a' + i);
    text[at] = '\0';
    tc_choice_done(&choice);
    return text;
}

static void paths_choose_the_changes_below_them(void **state)
{
    static const struct {
        enum action action;
        const char *paths[4], *chosen;
    } cases[] = {
        /* nothing named: everything; a commit leaves caches out */
        {SHOW, {NULL}, "abcdefghijlm"},
        {DISCARD, {NULL}, "abcdefghijlm"},
        {COMMIT, {NULL}, "abcdefghlm"},
        {COMMIT, {"/"}, "abcdefghijlm"},
        /* one change; whole components */
        {SHOW, {"/ws/news"}, "d"},
        {SHOW, {"/ws/old/file"}, "f"},
        {SHOW, {"/data/new"}, "m"},
        /* a directory means what lies below it */
        {SHOW, {"/ws/old/gone"}, "gh"},
        {SHOW, {"/ws/way"}, "l"},
        {SHOW, {"/ws"}, "abcdefghijl"},
        {COMMIT, {"/ws/old"}, "efgh"},
        {DISCARD, {"/ws/old"}, "efghij"},
        /* a file brings the directories that the tool made for it, and no others */
        {COMMIT, {"/ws/new/deep/file"}, "abc"},
        {COMMIT, {"/ws/old/file"}, "f"},
        {COMMIT, {"/ws/old/gone/file"}, "h"},
        {DISCARD, {"/ws/new/deep/file"}, "c"},
        /* a cache comes when it, or something in it, is named */
        {COMMIT, {"/ws/old/__pycache__"}, "ij"},
        {COMMIT, {"/ws/old/__pycache__/x.pyc"}, "ij"},
        {COMMIT, {"/ws"}, "abcdefghl"},
        /* several, in any order, twice */
        {COMMIT, {"/ws/news", "/data/new", "/ws/news"}, "dm"},
        {COMMIT, {"/ws/old", "/ws/old/__pycache__/x.pyc"}, "efghij"},
        /* a path that means nothing: its place among those given */
        {SHOW, {"/ws/none"}, "?1"},
        {SHOW, {"/ws/news", "/ws/ne"}, "?2"},
        {SHOW, {"/ws/news/"}, "?1"},
        {SHOW, {"/ws/new/deep/file/x"}, "?1"},
        {SHOW, {"news"}, "?1"},
        {SHOW, {"/data/new", "/data/new", "/x"}, "?3"},
    };
    (void)state;
    for (size_t i = 0; i < TC_COUNT(cases); i++)
        scene_expect(cases[i].paths[0] ? cases[i].paths[0] : "all", "chosen",
                     chosen(cases[i].action, cases[i].paths), cases[i].chosen);
}

static void items_have_the_fate_of_its_row(void **state)
{
    struct tc_item items[2] = {0};
    const struct tc_trees of = {.items = items, .item_count = 2};
    char *path = TEXT("/data/new");
    const struct tc_strv wanted = {.items = &path, .count = 1};
    (void)state;
    for (int discards = 0; discards < 2; discards++) {
        struct tc_choice choice = {.trees = &of, .discards = discards, .commits = !discards};
        assert_int_equal(tc_choice_make(&choice, &list, &wanted), 0);
        assert_int_equal(tc_choice_fate(&choice, &items[1], "new"),
                         discards ? TC_CHOICE_GOES : TC_CHOICE_COMES);
        assert_int_equal(tc_choice_fate(&choice, &items[0], "new"), TC_CHOICE_STAYS);
        assert_int_equal(tc_choice_fate(&choice, &items[0], "way"), TC_CHOICE_STAYS);
        assert_int_equal(tc_choice_fate(&choice, &items[0], "unlisted"), TC_CHOICE_STAYS);
        assert_ptr_equal(tc_choice_row(&choice, &items[1], "new"), &rows[12]);
        assert_null(tc_choice_row(&choice, &items[1], "news"));
        tc_choice_done(&choice);
    }
    assert_int_equal(tc_choice_fate(NULL, &items[0], "new"), TC_CHOICE_COMES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_choose_the_changes_below_them),
        cmocka_unit_test(items_have_the_fate_of_its_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
