/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Which platforms of runsc a call gets, in which order, and how runsc is started for them. */
#include "backend/gvisor/runsc.h"

#include <string.h>

#include "backend/oci/runtime.h"
#include "base/cleanup.h"
#include "test.h"

/* No file has this name, so nothing is remembered of it outside of this process. */
#define RUNTIME "/nonexistent/runsc"

static void expect(const char *wish, const char *first, const char *second)
{
    const char *const *list = tc_gvisor_platforms(wish, RUNTIME);
    assert_non_null(list);
    assert_string_equal(list[0], first);
    if (second) {
        assert_string_equal(list[1], second);
        list++;
    }
    assert_null(list[1]);
}

static void named_platform_has_no_alternative(void **state)
{
    expect("ptrace", "ptrace", NULL);
    expect("systrap", "systrap", NULL);
    expect("kvm", "kvm", NULL);
    assert_null(tc_gvisor_platforms("", RUNTIME));
    assert_null(tc_gvisor_platforms("Systrap", RUNTIME));
    assert_null(tc_gvisor_platforms("--", RUNTIME));
}

static void unnamed_platform_is_tried_in_order(void **state)
{
    expect(NULL, "systrap", "ptrace");
    tc_gvisor_first_failed(RUNTIME, true);
    expect(NULL, "ptrace", NULL);
    assert_string_equal(tc_gvisor_platforms(NULL, NULL)[0], "systrap"); /* who asks again */
    tc_gvisor_first_working(RUNTIME);
    expect(NULL, "systrap", "ptrace");
    tc_gvisor_first_failed(RUNTIME, false);
    expect(NULL, "ptrace", NULL);
    expect("systrap", "systrap", NULL);
}

static void keeper_command_holds_every_argument(void **state)
{
    static const char *const platforms[] = {"systrap", "ptrace", NULL};
    static const char *const wanted[] = {TC_OCI_KEEPER, "systrap", "ptrace",         "--",
                                         "m knows",     "/bin/x",  "--network=none", "-"};
    const struct tc_oci_runtime runsc = {.kind = TC_OCI_SENTRY,
                                         .words = (const char *const[]){"--log=x", "run", NULL}};
    const char *words[TC_OCI_WORDS];
    (void)state;
    tc_gvisor_command(&runsc, "/bin/x", platforms, "m knows", false, words);
    for (size_t i = 0; i < TC_COUNT(wanted); i++)
        assert_string_equal(words[i], wanted[i]);
    assert_string_equal(words[TC_COUNT(wanted)], "--log=x");
    assert_string_equal(words[TC_COUNT(wanted) + 2], "cage");
    assert_null(words[TC_COUNT(wanted) + 3]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(named_platform_has_no_alternative),
        cmocka_unit_test(unnamed_platform_is_tried_in_order),
        cmocka_unit_test(keeper_command_holds_every_argument),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
