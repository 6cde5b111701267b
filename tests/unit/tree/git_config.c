/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What git reads in its configuration, as git-config(1) says. */
#include "tree/tree.h"

#include <stdlib.h>
#include <string.h>

#include "../backend/test.h"
#include "base/buf.h"

static const struct {
    const char *text, *hooks, *includes; /* each value with a bar behind it */
} cases[] = {
    {"", "", ""},
    {"[core]\n\thooksPath = tools/hooks\n", "tools/hooks|", ""},
    {"[CORE]\nHOOKSPATH=a", "a|", ""},
    {"[core] hookspath = a ; x\n", "a|", ""},
    {"[core]\r\nhookspath = a b \t# x\r\nbare = false\r\n", "a b|", ""},
    {"[core]\nhookspath = \" a#b \" # c\n", " a#b |", ""},
    {"[core]\nhookspath = a\\\nb\\\\c\\\"d\n", "ab\\c\"d|", ""},
    {"[core]\nhookspath = a\nhookspath = b\n", "a|b|", ""},
    {"\xef\xbb\xbf[core]\nhookspath = a\n", "a|", ""},
    {"[core]\nhookspath\nhookspath =\n", "", ""},
    {"[core \"x\"]\nhookspath = a\n", "a|", ""},
    {"; [core]\n# [core]\nhookspath = a\n", "", ""},
    {"[cores]\nhookspath = a\n[core]\nhooks-path = a\n", "", ""},
    {"[include]\npath = x.inc\n[includeIf \"gitdir:~/a\\\"]\"]\npath = y\n", "", "x.inc|y|"},
    {"[include]\nhookspath = a\n[core]\npath = b\n", "", ""},
    {"[remote \"o\"]\npath = a\n[core", "", ""},
    {"[core]\nhookspath = a\\", "a|", ""},
    {"\n\n ??? \n[core]hookspath=\"a", "a|", ""},
};

static char *joined(const struct tc_strv *values)
{
    struct tc_buf out = TC_BUF_INIT;
    tc_buf_adds(&out, "");
    for (size_t i = 0; i < values->count; i++)
        tc_buf_addf(&out, "%s|", values->items[i]);
    return tc_buf_steal(&out);
}

static void hooks_and_includes_are_read(void **state)
{
    for (size_t i = 0; i < TC_COUNT(cases); i++) {
        _autostrv_ struct tc_strv hooks = {0}, includes = {0};
        assert_true(tc_git_config_read(cases[i].text, strlen(cases[i].text), &hooks, &includes));
        _autofree_ char *h = joined(&hooks), *n = joined(&includes);
        if (strcmp(h, cases[i].hooks) != 0 || strcmp(n, cases[i].includes) != 0)
            fail_msg("\"%s\": %s and %s", cases[i].text, h, n);
    }
}

/* Cut anywhere, it is read to its end and no further. */
static void truncated_config_is_read_within_bounds(void **state)
{
    for (size_t i = 0; i < TC_COUNT(cases); i++)
        for (size_t n = strlen(cases[i].text); n > 0; n--) {
            _autostrv_ struct tc_strv hooks = {0}, includes = {0};
            _autofree_ char *copy = malloc(n);
            assert_non_null(copy);
            memcpy(copy, cases[i].text, n);
            assert_true(tc_git_config_read(copy, n, &hooks, &includes));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(hooks_and_includes_are_read),
                                       cmocka_unit_test(truncated_config_is_read_within_bounds)};
    return cmocka_run_group_tests_name("git_config", tests, NULL, NULL);
}
