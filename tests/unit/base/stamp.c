/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A stamp's text lies in files of the state directory: it stays as it is. */
#include "test.h"

#include "state/stamp.h"

static void five_numbers_in_hexadecimal(void **state)
{
    char stamp[TC_STAMP_SIZE];
    struct stat st = {.st_dev = 0xfe00, .st_ino = 0x9e2604, .st_size = 0};
    st.st_ctim = (struct timespec){.tv_sec = 0x6b09509b, .tv_nsec = 1};
    tc_stamp(&st, stamp);
    assert_string_equal(stamp, "fe00.9e2604.0.6b09509b.1");
}

/* A time before 1970 is a number below zero. */
static void greatest_numbers_fit_a_stamp(void **state)
{
    char stamp[TC_STAMP_SIZE];
    struct stat st = {.st_dev = UINT64_MAX, .st_ino = UINT64_MAX, .st_size = INT64_MAX};
    st.st_ctim = (struct timespec){.tv_sec = -1, .tv_nsec = 999999999};
    tc_stamp(&st, stamp);
    assert_string_equal(stamp, "ffffffffffffffff.ffffffffffffffff.7fffffffffffffff."
                               "ffffffffffffffff.3b9ac9ff");
}

static void a_path_that_leads_nowhere_has_none(void **state)
{
    char stamp[TC_STAMP_SIZE];
    assert_false(tc_stamp_path("/nothing is called that", stamp));
    assert_true(tc_stamp_path("/", stamp));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(five_numbers_in_hexadecimal),
        cmocka_unit_test(greatest_numbers_fit_a_stamp),
        cmocka_unit_test(a_path_that_leads_nowhere_has_none),
    };
    return cmocka_run_group_tests_name("base/mark", tests, NULL, NULL);
}
