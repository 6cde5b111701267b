/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "test.h"

#include "base/clock.h"

#include <string.h>

static const char digits[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

static void ulid_has_its_alphabet(void **state)
{
    char id[TC_ULID_SIZE];
    assert_int_equal(tc_ulid(id), 0);
    assert_int_equal(strlen(id), 26);
    assert_int_equal(strspn(id, digits), 26);
}

static uint64_t milliseconds(const char *id)
{
    uint64_t ms = 0;
    for (int i = 0; i < 10; i++)
        ms = ms << 5 | (uint64_t)(strchr(digits, id[i]) - digits);
    return ms;
}

static void ulid_carries_the_time(void **state)
{
    char id[TC_ULID_SIZE];
    struct timespec before, after;
    (void)clock_gettime(CLOCK_REALTIME, &before);
    assert_int_equal(tc_ulid(id), 0);
    (void)clock_gettime(CLOCK_REALTIME, &after);
    uint64_t ms = milliseconds(id);
    assert_true(ms >= (uint64_t)before.tv_sec * 1000 + (uint64_t)before.tv_nsec / 1000000);
    assert_true(ms <= (uint64_t)after.tv_sec * 1000 + (uint64_t)after.tv_nsec / 1000000);
}

static void ulids_differ(void **state)
{
    enum { MANY = 500 };
    static char ids[MANY][TC_ULID_SIZE];
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(tc_ulid(ids[i]), 0);
        for (int j = 0; j < i; j++)
            assert_string_not_equal(ids[i], ids[j]);
    }
}

static void clock_goes_forward(void **state)
{
    int64_t before = tc_now_us();
    struct timespec pause = {.tv_nsec = 2000000};
    (void)nanosleep(&pause, NULL);
    assert_true(tc_now_us() - before >= 2000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ulid_has_its_alphabet),
        cmocka_unit_test(ulid_carries_the_time),
        cmocka_unit_test(ulids_differ),
        cmocka_unit_test(clock_goes_forward),
    };
    return cmocka_run_group_tests_name("base/clock", tests, NULL, NULL);
}
