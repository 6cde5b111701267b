/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "cli/record.h"
#include "cli/trust.h"

#define ONE "sha256:1111"
#define TWO "sha256:2222"

static char home[] = "/tmp/toolcage-trust-XXXXXX";

static int set_up(void **state)
{
    memcpy(home + sizeof(home) - 7, "XXXXXX", 6);
    if (!mkdtemp(home))
        return -1;
    (void)unsetenv("XDG_CONFIG_HOME");
    return setenv("XDG_STATE_HOME", home, 1);
}

static char *record(void)
{
    return tc_user_path("XDG_STATE_HOME", ".local/state", "trust");
}

static int tear_down(void **state)
{
    _autofree_ char *file = record();
    _autofree_ char *directory = tc_user_path("XDG_STATE_HOME", ".local/state", "");
    (void)unlink(file);
    (void)rmdir(directory);
    return rmdir(home);
}

static enum tc_trust check(const char *path, const char *digest)
{
    struct tc_failure failure = {0};
    enum tc_trust answer = TC_TRUST_NEVER;
    assert_int_equal(tc_trust_check(path, digest, &answer, &failure), 0);
    return answer;
}

static void set(const char *path, const char *digest)
{
    struct tc_failure failure = {0};
    assert_int_equal(tc_trust_set(path, digest, &failure), 0);
}

static void nothing_is_trusted_at_first(void **state)
{
    assert_int_equal(check("/a", ONE), TC_TRUST_NEVER);
}

static void trust_is_of_a_path_and_a_digest(void **state)
{
    set("/a", ONE);
    set("/a b/c", TWO);
    assert_int_equal(check("/a", ONE), TC_TRUST_YES);
    assert_int_equal(check("/a", TWO), TC_TRUST_CHANGED);
    assert_int_equal(check("/a", "sha256:111"), TC_TRUST_CHANGED);
    assert_int_equal(check("/a b/c", TWO), TC_TRUST_YES);
    assert_int_equal(check("/a b", TWO), TC_TRUST_NEVER);
    assert_int_equal(check("b/c", TWO), TC_TRUST_NEVER);
    set("/a", TWO);
    assert_int_equal(check("/a", ONE), TC_TRUST_CHANGED);
    assert_int_equal(check("/a", TWO), TC_TRUST_YES);
    set("/a", NULL);
    assert_int_equal(check("/a", TWO), TC_TRUST_NEVER);
    assert_int_equal(check("/a b/c", TWO), TC_TRUST_YES);
}

static void the_record_is_the_owners_alone(void **state)
{
    _autofree_ char *file = record();
    struct stat st;
    set("/a", ONE);
    assert_int_equal(stat(file, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
}

static void a_record_that_others_can_write_fails(void **state)
{
    _autofree_ char *file = record();
    _autofailure_ struct tc_failure failure = {0};
    enum tc_trust answer = TC_TRUST_YES;
    set("/a", ONE);
    assert_int_equal(chmod(file, 0620), 0);
    assert_int_equal(tc_trust_check("/a", ONE, &answer, &failure), -1);
    assert_int_equal(answer, TC_TRUST_NEVER);
    assert_int_equal(failure.code, TOOLCAGE_ESYSTEM);
    assert_non_null(strstr(failure.message, file));
    assert_int_equal(tc_trust_set("/b", ONE, &failure), -1);
}

static void a_link_is_no_record(void **state)
{
    _autofree_ char *file = record();
    _autofailure_ struct tc_failure failure = {0};
    enum tc_trust answer = TC_TRUST_YES;
    set("/a", ONE);
    assert_int_equal(unlink(file), 0);
    assert_int_equal(symlink("/dev/null", file), 0);
    assert_int_equal(tc_trust_check("/a", ONE, &answer, &failure), -1);
    assert_int_equal(answer, TC_TRUST_NEVER);
}

static void a_path_cannot_forge_a_line(void **state)
{
    _autofailure_ struct tc_failure failure = {0};
    assert_int_equal(tc_trust_set("/x\n" ONE " /a", TWO, &failure), -1);
    assert_int_equal(failure.code, TOOLCAGE_EUSAGE);
    assert_int_equal(check("/a", ONE), TC_TRUST_NEVER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nothing_is_trusted_at_first, set_up, tear_down),
        cmocka_unit_test_setup_teardown(trust_is_of_a_path_and_a_digest, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_record_is_the_owners_alone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_record_that_others_can_write_fails, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_link_is_no_record, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_path_cannot_forge_a_line, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("cli trust", tests, NULL, NULL);
}
