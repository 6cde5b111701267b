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

#include "cli/call/replace.h"
#include "cli/call/trust.h"

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
    assert_int_equal(tc_trust_set(path, digest, NULL, &failure), 0);
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
    assert_int_equal(tc_trust_set("/b", ONE, NULL, &failure), -1);
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
    assert_int_equal(tc_trust_set("/x\n" ONE " /a", TWO, NULL, &failure), -1);
    assert_int_equal(failure.code, TOOLCAGE_EUSAGE);
    assert_int_equal(check("/a", ONE), TC_TRUST_NEVER);
}

#define DIGEST "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OTHER "sha256:0123456789abcdef0123456789abcde00123456789abcdef0123456789abcdef"

static void keep(const char *path, const char *digest, const char *text)
{
    struct tc_failure failure = {0};
    assert_int_equal(tc_trust_set(path, digest, text, &failure), 0);
}

static void assert_last(const char *path, const char *digest, const char *text)
{
    char *kept = NULL;
    _autofree_ char *last = tc_trust_last(path, &kept);
    assert_true(digest ? last && !strcmp(last, digest) : !last);
    assert_true(text ? kept && !strcmp(kept, text) : !kept);
    free(kept);
}

static void text_is_kept_until_another_one_is_trusted(void **state)
{
    _autofree_ char *directory = tc_user_path("XDG_STATE_HOME", ".local/state", "trusted");
    assert_last("/a", NULL, NULL);
    keep("/a", DIGEST, "one\n");
    assert_last("/a", DIGEST, "one\n");
    keep("/a", DIGEST, "one, with a comment\n");
    assert_last("/a", DIGEST, "one, with a comment\n");
    keep("/a", OTHER, "two\n");
    assert_last("/a", OTHER, "two\n");
    keep("/a", NULL, NULL);
    assert_last("/a", NULL, NULL);
    assert_int_equal(rmdir(directory), 0); /* nothing is left in it */
}

static void digest_matches_by_half_of_its_digits(void **state)
{
    assert_true(tc_trust_matches(DIGEST, DIGEST));
    assert_true(tc_trust_matches(&DIGEST[7], DIGEST));
    assert_true(tc_trust_matches("sha256:0123456789abcdef0123456789abcdef", DIGEST));
    assert_false(tc_trust_matches("sha256:0123456789abcdef0123456789abcde", DIGEST));
    assert_false(tc_trust_matches("sha256:0123456789abcdef0123456789abcdef", OTHER));
    assert_false(tc_trust_matches("0123456789ABCDEF0123456789ABCDEF", DIGEST));
    assert_false(tc_trust_matches(DIGEST "0", DIGEST));
    assert_false(tc_trust_matches("", DIGEST));
    assert_false(tc_trust_is_digest("sha512:0123456789abcdef0123456789abcdef"));
}

static void assert_command(const char *path, const char *digest, const char *wanted)
{
    _autofree_ char *command = tc_trust_command(path, digest);
    assert_string_equal(command, wanted);
}

static void command_is_one_word_for_a_shell(void **state)
{
    assert_command("/a/toolcage.toml", ONE,
                   "toolcage policy trust /a/toolcage.toml --digest sha256:1111");
    assert_command("/a b;$(x)/'y", ONE,
                   "toolcage policy trust '/a b;$(x)/'\\''y' --digest sha256:1111");
    assert_command("", NULL, "toolcage policy trust ''");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(text_is_kept_until_another_one_is_trusted, set_up,
                                        tear_down),
        cmocka_unit_test(digest_matches_by_half_of_its_digits),
        cmocka_unit_test(command_is_one_word_for_a_shell),
        cmocka_unit_test_setup_teardown(nothing_is_trusted_at_first, set_up, tear_down),
        cmocka_unit_test_setup_teardown(trust_is_of_a_path_and_a_digest, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_record_is_the_owners_alone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_record_that_others_can_write_fails, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_link_is_no_record, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_path_cannot_forge_a_line, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("cli trust", tests, NULL, NULL);
}
