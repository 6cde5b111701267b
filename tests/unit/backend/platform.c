/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Which platform of runsc a call gets, and what its program gives away unasked. */
#include "backend/oci/platform.h"
#include "backend/oci/remember.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/strv.h"
#include "test.h"

enum { NOT = TC_OCI_UNKNOWN, YES = TC_OCI_WORKS, NO = TC_OCI_FAILS, CANNOT = TC_OCI_UNTRIED };

struct choice_case {
    const char *wish;
    int ptrace, systrap, kvm; /* what was found of each */
    int act, platform;
};

static const struct choice_case cases[] = {
    /* none named: systrap where it works, else ptrace, which is never tried; kvm never */
    {NULL, NOT, NOT, NOT, TC_OCI_TRY, TC_OCI_SYSTRAP},
    {NULL, NOT, YES, NOT, TC_OCI_USE, TC_OCI_SYSTRAP},
    {NULL, NOT, NO, NOT, TC_OCI_USE, TC_OCI_PTRACE},
    {NULL, NOT, NO, YES, TC_OCI_USE, TC_OCI_PTRACE},
    {NULL, NO, NO, YES, TC_OCI_USE, TC_OCI_PTRACE},
    {NULL, NOT, CANNOT, NOT, TC_OCI_USE, TC_OCI_PTRACE},
    /* named: that one or none */
    {"ptrace", NOT, NOT, NOT, TC_OCI_USE, TC_OCI_PTRACE},
    {"ptrace", NO, YES, YES, TC_OCI_USE, TC_OCI_PTRACE},
    {"systrap", NOT, NOT, NOT, TC_OCI_TRY, TC_OCI_SYSTRAP},
    {"systrap", NOT, YES, NOT, TC_OCI_USE, TC_OCI_SYSTRAP},
    {"systrap", YES, NO, YES, TC_OCI_REFUSE, TC_OCI_SYSTRAP},
    {"systrap", YES, CANNOT, YES, TC_OCI_USE, TC_OCI_SYSTRAP},
    {"kvm", YES, YES, NOT, TC_OCI_TRY, TC_OCI_KVM},
    {"kvm", NOT, NOT, YES, TC_OCI_USE, TC_OCI_KVM},
    {"kvm", YES, YES, NO, TC_OCI_REFUSE, TC_OCI_KVM},
    {"kvm", YES, YES, CANNOT, TC_OCI_USE, TC_OCI_KVM},
};

static void choices_are_those_of_the_table(void **state)
{
    (void)state;
    for (size_t i = 0; i < TC_COUNT(cases); i++) {
        const struct choice_case *c = &cases[i];
        const enum tc_oci_finding findings[TC_OCI_PLATFORMS] = {
            [TC_OCI_PTRACE] = (enum tc_oci_finding)c->ptrace,
            [TC_OCI_SYSTRAP] = (enum tc_oci_finding)c->systrap,
            [TC_OCI_KVM] = (enum tc_oci_finding)c->kvm,
        };
        struct tc_oci_choice choice = tc_oci_choose(c->wish, findings);
        if ((int)choice.act != c->act || (int)choice.platform != c->platform)
            fail_msg("row %zu: act %d, platform %d", i, choice.act, choice.platform);
    }
}

static void a_word_of_no_platform_is_refused(void **state)
{
    static const enum tc_oci_finding all_work[] = {TC_OCI_WORKS, TC_OCI_WORKS, TC_OCI_WORKS};
    (void)state;
    assert_int_equal(tc_oci_choose("", all_work).act, TC_OCI_REFUSE);
    assert_int_equal(tc_oci_choose("Systrap", all_work).act, TC_OCI_REFUSE);
}

/* A file of this size with one word in it. */
static bool may_know(const char *platform, long size, const char *word, long at)
{
    char path[] = "/tmp/toolcage-platform-XXXXXX";
    _autofd_ int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, size), 0);
    assert_int_equal(pwrite(fd, word, strlen(word), at), strlen(word));
    bool known = tc_oci_may_know(path, platform);
    assert_int_equal(unlink(path), 0);
    return known;
}

static void a_program_knows_what_it_speaks_of(void **state)
{
    const long share = 1 << 18, large = 2 << 20; /* it is read by such pieces */
    (void)state;
    assert_true(may_know("systrap", large, "systrap", 77));
    assert_true(may_know("systrap", large, "systrap", large - 7));
    assert_false(may_know("systrap", large, "systra", large - 6));
    assert_false(may_know("systrap", large, "kvm", 77));
    assert_true(may_know("kvm", large, "kvm", 77));
    for (long before = 0; before <= 8; before++) /* on both sides of where pieces meet */
        for (long piece = share - 6; piece <= share; piece++)
            assert_true(may_know("systrap", large, "systrap", piece - before));
    assert_true(may_know("systrap", 100, "#!/bin/sh\nexec /opt/runsc \"$@\"\n", 0));
    assert_true(tc_oci_may_know("/nonexistent/runsc", "systrap"));
}

static void a_note_holds_for_its_program_alone(void **state)
{
    static const enum tc_oci_finding kept[] = {TC_OCI_WORKS, TC_OCI_ABSENT};
    (void)state;
    for (size_t i = 0; i < TC_COUNT(kept); i++) {
        _autofree_ char *note = tc_oci_note("program:1", kept[i]);
        _autofree_ char *longer = tc_format("%sx", note), *cut = strndup(note, strlen(note) - 1);
        assert_int_equal(tc_oci_read_note(note, "program:1"), kept[i]);
        assert_int_equal(tc_oci_read_note(note, "program:2"), TC_OCI_UNKNOWN);
        assert_int_equal(tc_oci_read_note(note, "program:"), TC_OCI_UNKNOWN);
        assert_int_equal(tc_oci_read_note(longer, "program:1"), TC_OCI_UNKNOWN);
        assert_int_equal(tc_oci_read_note(cut, "program:1"), TC_OCI_UNKNOWN);
    }
    assert_int_equal(tc_oci_read_note(NULL, "program:1"), TC_OCI_UNKNOWN);
    assert_int_equal(tc_oci_read_note("", "program:1"), TC_OCI_UNKNOWN);
}

static void a_program_that_changed_is_another(void **state)
{
    char path[] = "/tmp/toolcage-platform-XXXXXX";
    (void)state;
    _autofd_ int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_null(tc_oci_identity(path)); /* a small one: it speaks for another */
    assert_int_equal(ftruncate(fd, 2 << 20), 0);
    _autofree_ char *first = tc_oci_identity(path), *again = tc_oci_identity(path);
    assert_string_equal(first, again);
    assert_int_equal(ftruncate(fd, (2 << 20) + 1), 0);
    _autofree_ char *grown = tc_oci_identity(path);
    assert_string_not_equal(first, grown);
    assert_int_equal(futimens(fd, (struct timespec[]){{1, 0}, {1, 0}}), 0);
    _autofree_ char *touched = tc_oci_identity(path);
    assert_string_not_equal(grown, touched);
    assert_int_equal(unlink(path), 0);
    assert_null(tc_oci_identity(path));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(choices_are_those_of_the_table),
        cmocka_unit_test(a_word_of_no_platform_is_refused),
        cmocka_unit_test(a_program_knows_what_it_speaks_of),
        cmocka_unit_test(a_note_holds_for_its_program_alone),
        cmocka_unit_test(a_program_that_changed_is_another),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
