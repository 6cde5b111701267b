/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "test.h"

#include <string.h>

#include "policy/http_path.h"

static const char *read_path(const char *text, struct tc_buf *to)
{
    const char *why = tc_http_path_read(text, strlen(text), to);
    assert_false(to->failed);
    return why;
}

static void clear_paths_have_one_form(void **state)
{
    static const char *const rows[][2] = {
        {"/", "/"},
        {"/v1/items", "/v1/items"},
        {"/v1/items/", "/v1/items/"},
        {"/v1?a=/../b;%2f", "/v1"},
        {"/?", "/"},
        {"/%76%31/%7Euser", "/v1/~user"},
        {"/file%2Etxt", "/file.txt"},
        {"/...", "/..."},
        {"/.git/..x", "/.git/..x"},
        {"/a%20b%3a", "/a%20b%3A"},
        {"/%c3%a9", "/%C3%A9"},
        {"/a:b@c!$&'()*+,=[]", "/a:b@c!$&'()*+,=[]"},
    };
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        _autobuf_ struct tc_buf got = TC_BUF_INIT;
        assert_null(read_path(rows[i][0], &got));
        assert_string_equal(got.data, rows[i][1]);
    }
}

static void ambiguous_paths_are_refused(void **state)
{
    static const char *const rows[][2] = {
        {"", "no path"},
        {"*", "no path"},
        {"?x", "no path"},
        {"http://a.example/", "no path"},
        {"%2fv1", "no path"},
        {"/v1/..", "\"..\""},
        {"/v1/.", "\"..\""},
        {"/./v1", "\"..\""},
        {"/v1/%2e%2E/x", "\"..\""},
        {"/v1/.%2e", "\"..\""},
        {"/v1/%2e?x", "\"..\""},
        {"//v1", "two slashes"},
        {"/v1//", "two slashes"},
        {"/v1//x", "two slashes"},
        {"/v1%2fx", "escaped slash"},
        {"/v1%2Fx", "escaped slash"},
        {"/v1\\..", "backslash"},
        {"/v1%5c..", "backslash"},
        {"/v1%5C..", "backslash"},
        {"/v1;x", "semicolon"},
        {"/v1/..;/x", "semicolon"},
        {"/v1%3bx", "semicolon"},
        {"/v1%00", "control"},
        {"/v1%0d%0aX: y", "control"},
        {"/v1%7f", "control"},
        {"/v1\x7f", "must be escaped"},
        {"/v1 x", "must be escaped"},
        {"/v1#x", "must be escaped"},
        {"/\xc3\xa9", "must be escaped"},
        {"/v1%", "broken escape"},
        {"/v1%2", "broken escape"},
        {"/v1%2?x", "broken escape"},
        {"/v1%zz", "broken escape"},
        {"/v1%u002e", "broken escape"},
        {"/v1%252e", "percent sign"},
        {"/v1/%c0%ae%c0%ae/x", "not UTF-8"},
        {"/v1%c0%afx", "not UTF-8"},
        {"/v1%ff", "not UTF-8"},
    };
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        _autobuf_ struct tc_buf got = TC_BUF_INIT;
        const char *why = read_path(rows[i][0], &got);
        assert_non_null(why);
        assert_non_null(strstr(why, rows[i][1]));
    }
}

/* What is behind a NUL is looked at, too. */
static void a_nul_ends_nothing(void **state)
{
    _autobuf_ struct tc_buf got = TC_BUF_INIT;
    assert_non_null(tc_http_path_read("/v1\0/..", 7, &got));
}

static void rules_go_by_whole_parts(void **state)
{
    assert_true(tc_http_path_within("/v1", "/v1"));
    assert_true(tc_http_path_within("/v1", "/v1/"));
    assert_true(tc_http_path_within("/v1", "/v1/x/y"));
    assert_false(tc_http_path_within("/v1", "/v10"));
    assert_false(tc_http_path_within("/v1", "/V1"));
    assert_false(tc_http_path_within("/v1", "/"));
    assert_true(tc_http_path_within("/v1/", "/v1/x"));
    assert_false(tc_http_path_within("/v1/", "/v1"));
    assert_true(tc_http_path_within("/", "/x"));
    assert_true(tc_http_path_within("/", "/"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clear_paths_have_one_form),
        cmocka_unit_test(ambiguous_paths_are_refused),
        cmocka_unit_test(a_nul_ends_nothing),
        cmocka_unit_test(rules_go_by_whole_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
