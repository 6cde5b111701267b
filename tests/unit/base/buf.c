/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "test.h"

#include "base/buf.h"

#include <string.h>

static void grows_and_terminates(void **state)
{
    _autobuf_ struct tc_buf buf = TC_BUF_INIT;
    for (int i = 0; i < 1000; i++) {
        tc_buf_addf(&buf, "%03d", i);
        assert_int_equal(buf.data[buf.len], '\0');
    }
    assert_int_equal(buf.len, 3000);
    assert_memory_equal(buf.data, "000001002", 9);
    assert_string_equal(buf.data + 2997, "999");
    assert_false(buf.failed);
}

static void keeps_nul_bytes(void **state)
{
    _autobuf_ struct tc_buf buf = TC_BUF_INIT;
    tc_buf_add(&buf, "a\0b", 3);
    tc_buf_addc(&buf, '\0');
    assert_int_equal(buf.len, 4);
    assert_memory_equal(buf.data, "a\0b\0", 4);
}

static void refuses_more_than_max(void **state)
{
    _autobuf_ struct tc_buf buf = {.max = 8};
    tc_buf_adds(&buf, "1234567");
    assert_false(buf.failed);
    tc_buf_addc(&buf, '8');
    assert_true(buf.failed);
    assert_int_equal(buf.len, 7);
    assert_string_equal(buf.data, "1234567");
}

static void failure_is_sticky(void **state)
{
    _autobuf_ struct tc_buf buf = {.max = 4};
    tc_buf_adds(&buf, "too long");
    assert_true(buf.failed);
    tc_buf_addc(&buf, 'x');
    assert_int_equal(buf.len, 0);
    assert_null(tc_buf_room(&buf, 1));
    assert_null(tc_buf_steal(&buf));
}

/* A length near SIZE_MAX must not wrap around the comparison with max. */
static void survives_huge_lengths(void **state)
{
    _autobuf_ struct tc_buf buf = {.max = 64};
    tc_buf_adds(&buf, "abc");
    assert_null(tc_buf_room(&buf, SIZE_MAX));
    assert_true(buf.failed);
    assert_int_equal(buf.len, 3);

    _autobuf_ struct tc_buf other = {.max = 64};
    assert_null(tc_buf_room(&other, SIZE_MAX - 1));
    assert_true(other.failed);
}

static void formats_over_the_cap_fail(void **state)
{
    _autobuf_ struct tc_buf buf = {.max = 10};
    tc_buf_addf(&buf, "%s", "0123456789");
    assert_true(buf.failed);
    assert_int_equal(buf.len, 0);
}

static void steal_hands_over(void **state)
{
    _autobuf_ struct tc_buf buf = {.max = 100};
    tc_buf_adds(&buf, "text");
    char *text = tc_buf_steal(&buf);
    assert_string_equal(text, "text");
    free(text);
    assert_null(buf.data);
    assert_int_equal(buf.len, 0);
    assert_int_equal(buf.max, 100);
    tc_buf_adds(&buf, "again");
    assert_string_equal(buf.data, "again");
}

static void steal_of_nothing_is_empty_text(void **state)
{
    struct tc_buf buf = TC_BUF_INIT;
    _autofree_ char *text = tc_buf_steal(&buf);
    assert_non_null(text);
    assert_string_equal(text, "");
}

static void numbers_are_decimal(void **state)
{
    static const struct {
        int64_t number;
        const char *text;
    } rows[] = {{0, "0"},
                {7, "7"},
                {-10, "-10"},
                {1234567890, "1234567890"},
                {INT64_MAX, "9223372036854775807"},
                {INT64_MIN, "-9223372036854775808"}};
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        _autobuf_ struct tc_buf buf = TC_BUF_INIT;
        tc_buf_addi(&buf, rows[i].number);
        assert_string_equal(buf.data, rows[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grows_and_terminates),  cmocka_unit_test(keeps_nul_bytes),
        cmocka_unit_test(refuses_more_than_max), cmocka_unit_test(failure_is_sticky),
        cmocka_unit_test(survives_huge_lengths), cmocka_unit_test(formats_over_the_cap_fail),
        cmocka_unit_test(steal_hands_over),      cmocka_unit_test(steal_of_nothing_is_empty_text),
        cmocka_unit_test(numbers_are_decimal),
    };
    return cmocka_run_group_tests_name("base/buf", tests, NULL, NULL);
}
