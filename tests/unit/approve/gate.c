/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "approve/gate.h"
#include "base/strv.h"

#define HEX "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde"
static const char one[] = "sha256:" HEX "1", two[] = "sha256:" HEX "2";

/* ---- the clock ---- */

static int64_t now_s = 1000;

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
    assert_int_equal(clock, CLOCK_BOOTTIME);
    *ret = (struct timespec){.tv_sec = now_s};
    return 0;
}

/* ---- the gate ---- */

/* NULL: the subject is approved; else why not. A static buffer. */
static const char *take(struct tc_approval *a, const char *digest)
{
    static char text[256];
    struct tc_why why = {0};
    char *reason = NULL;
    if (tc_approval_take(a, digest, &why, &reason) == 0)
        return NULL;
    _autofree_ char *owned = reason;
    assert_int_equal(why.code, TOOLCAGE_EDENIED);
    assert_non_null(why.hint);
    assert_non_null(owned);
    tc_strcopy(text, sizeof(text), owned);
    return text;
}

static void approval_serves_one_call(void **state)
{
    struct tc_approval a = {0};
    (void)state;
    assert_true(tc_approval_give(&a, one));
    assert_null(take(&a, one));
    assert_non_null(take(&a, one));
    tc_approval_done(&a);
}

static void approval_is_of_one_subject(void **state)
{
    struct tc_approval a = {0};
    (void)state;
    assert_true(tc_approval_give(&a, one));
    assert_non_null(strstr(take(&a, two), "something has changed"));
    assert_non_null(take(&a, one)); /* it is used up */
    tc_approval_done(&a);
}

static void approval_expires(void **state)
{
    static const struct {
        int64_t later_s;
        bool good;
    } rows[] = {
        {0, true}, {TC_APPROVAL_SECONDS, true}, {TC_APPROVAL_SECONDS + 1, false}, {-1, false}};
    (void)state;
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        struct tc_approval a = {0};
        now_s = 1000;
        assert_true(tc_approval_give(&a, one));
        now_s += rows[i].later_s;
        const char *why = take(&a, one);
        assert_int_equal(why == NULL, rows[i].good);
        assert_true(!why || strstr(why, "has expired"));
        tc_approval_done(&a);
    }
}

static void refusal_gives_its_reason(void **state)
{
    struct tc_approval a = {0};
    (void)state;
    assert_true(tc_approval_refuse(&a, "not on a Sunday"));
    assert_string_equal(take(&a, one), "it was refused: not on a Sunday");
    assert_true(tc_approval_give(&a, one)); /* the last answer counts */
    assert_true(tc_approval_refuse(&a, NULL));
    assert_string_equal(take(&a, one), "it was refused");
    tc_approval_done(&a);
}

static void only_a_digest_is_approved(void **state)
{
    static const char *const wrong[] = {"",
                                        "sha256:",
                                        HEX "1",
                                        "sha256:" HEX,
                                        "sha256:" HEX "12",
                                        "sha256:" HEX "G",
                                        "md5:" HEX "1"};
    struct tc_approval a = {0};
    (void)state;
    for (size_t i = 0; i < TC_COUNT(wrong); i++)
        assert_false(tc_approval_give(&a, wrong[i]));
    assert_string_equal(a.digest, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(approval_serves_one_call),  cmocka_unit_test(approval_is_of_one_subject),
        cmocka_unit_test(approval_expires),          cmocka_unit_test(refusal_gives_its_reason),
        cmocka_unit_test(only_a_digest_is_approved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
