/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cli/show/json.h"

static const char sample[] = "{ \"a\" : \"x\\n\\u00e9\\ud83d\\ude00\\\"\" , \"b\":[1, "
                             "-2,{\"c\":true}],\"n\":null,\"d\":{\"e\":\"}]\"},"
                             "\"big\":9223372036854775807,\"f\":1.5}";

static void members_are_found(void **state)
{
    struct tc_slice object = tc_json_of(sample);
    _autofree_ char *a = tc_json_text(tc_json_get(object, "a"));
    _autofree_ char *e = tc_json_text(tc_json_get(tc_json_get(object, "d"), "e"));
    assert_string_equal(a, "x\n\xc3\xa9\xf0\x9f\x98\x80\"");
    assert_string_equal(e, "}]");
    assert_null(tc_json_get(object, "c").at);
    assert_null(tc_json_text(tc_json_get(object, "n")));
    assert_true(tc_json_int(tc_json_get(object, "big"), 0) == INT64_MAX);
    assert_int_equal(tc_json_int(tc_json_get(object, "f"), 7), 7);
    assert_int_equal(tc_json_int(tc_json_get(object, "a"), 7), 7);
}

static void arrays_are_walked(void **state)
{
    struct tc_scan_each each = tc_scan_walk(tc_json_get(tc_json_of(sample), "b"));
    assert_true(tc_scan_next(&each));
    assert_int_equal(tc_json_int(each.value, 0), 1);
    assert_null(each.key.at);
    assert_true(tc_scan_next(&each));
    assert_int_equal(tc_json_int(each.value, 0), -2);
    assert_true(tc_scan_next(&each));
    assert_true(tc_json_true(tc_json_get(each.value, "c")));
    assert_false(tc_scan_next(&each));
    assert_false(tc_scan_next(&each));
}

static void empty_containers_end_at_once(void **state)
{
    const char *const empty[] = {"{}", "[]", " { } ", "[ ]", "", "null", "7", "\"x\""};
    for (size_t i = 0; i < TC_COUNT(empty); i++) {
        struct tc_scan_each each = tc_scan_walk(tc_json_of(empty[i]));
        assert_false(tc_scan_next(&each));
    }
}

/* Visits everything that can be reached, so that a sanitizer or a crash would show a read past the
 * end. */
static size_t visit(struct tc_slice value, int depth)
{
    size_t seen = 1;
    free(tc_json_text(value));
    (void)tc_json_int(value, 0);
    struct tc_scan_each each = tc_scan_walk(value);
    while (depth < 8 && tc_scan_next(&each))
        seen += visit(each.value, depth + 1);
    return seen;
}

/* Each prefix of the sample, in a block of exactly its size: none is a value, nothing reads beyond.
 */
static void cut_text_is_absent(void **state)
{
    size_t whole = visit(tc_json_of(sample), 0);
    assert_int_equal(whole, 1 + 6 + 3 + 1 + 1);
    for (size_t length = 0; length < sizeof(sample) - 1; length++) {
        _autofree_ char *cut = strndup(sample, length);
        assert_non_null(cut);
        assert_null(tc_json_of(cut).at);
    }
}

static void a_nul_cannot_cut_a_text(void **state)
{
    _autofree_ char *text = tc_json_text(tc_json_of("\"a\\u0000b\""));
    assert_string_equal(text, "a b");
    assert_null(tc_json_of("\"\\ud800\"").at);
}

static char *bytes_of(const char *coded, size_t *ret_length)
{
    char row[64];
    (void)snprintf(row, sizeof(row), "{\"base64\":\"%s\"}", coded);
    return tc_json_decoded(tc_json_of(row), "text", "base64", ret_length);
}

static void base64_is_decoded(void **state)
{
    static const char *const known[][2] = {
        {"", ""},
        {"Zg==", "f"},
        {"Zm8=", "fo"},
        {"Zm9v", "foo"},
        {"Zm9vYg==", "foob"},
        {"Zm9vYmE=", "fooba"},
        {"Zm9vYmFy", "foobar"},
        {"//+/", "\xff\xff\xbf"},
    };
    for (size_t i = 0; i < TC_COUNT(known); i++) {
        size_t length = 99;
        _autofree_ char *bytes = bytes_of(known[i][0], &length);
        assert_non_null(bytes);
        assert_int_equal(length, strlen(known[i][1]));
        assert_string_equal(bytes, known[i][1]);
    }
}

static void other_base64_fails(void **state)
{
    static const char *const wrong[] = {"Z",    "Zg",       "Zg=",   "=",         "====", "Z===",
                                        "Zg=v", "Zh==",     "Zm9=",  "Zm9\\n",    "Zm9-", "Zm9_",
                                        " Zg=", "Zg==Zg==", "Zm9vZ", "Zm9\\u0000"};
    for (size_t i = 0; i < TC_COUNT(wrong); i++) {
        size_t length = 99;
        errno = 0;
        if (bytes_of(wrong[i], &length))
            fail_msg("%s was decoded", wrong[i]);
        assert_int_equal(errno, EINVAL);
        assert_int_equal(length, 99);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_are_found),
        cmocka_unit_test(arrays_are_walked),
        cmocka_unit_test(empty_containers_end_at_once),
        cmocka_unit_test(cut_text_is_absent),
        cmocka_unit_test(a_nul_cannot_cut_a_text),
        cmocka_unit_test(base64_is_decoded),
        cmocka_unit_test(other_base64_fails),
    };
    return cmocka_run_group_tests_name("cli json", tests, NULL, NULL);
}
