/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The program that crun is given says of every call what the list of names says. */
#include "backend/oci/config.h"

#include <errno.h>
#include <linux/audit.h>
#include <string.h>

#include "linux/seccomp_filter.h"
#include "linux/seccomp_profile.h"
#include "test.h"

#if defined(__x86_64__)
#define HERE AUDIT_ARCH_X86_64
#define ELSEWHERE AUDIT_ARCH_I386
#else
#define HERE AUDIT_ARCH_AARCH64
#define ELSEWHERE AUDIT_ARCH_ARM
#endif

/* As the kernel does it, for the instructions that there are. */
static uint32_t run(const struct tc_bpf *p, uint32_t arch, uint32_t nr)
{
    uint32_t a = 0;
    for (size_t at = 0; at < p->len; at++) {
        const struct sock_filter *i = &p->code[at];
        if (i->code == (BPF_LD | BPF_W | BPF_ABS))
            a = i->k == offsetof(struct seccomp_data, arch) ? arch : nr;
        else if (i->code == (BPF_JMP | BPF_JEQ | BPF_K))
            at += a == i->k ? i->jt : i->jf;
        else if (i->code == (BPF_JMP | BPF_JGE | BPF_K))
            at += a >= i->k ? i->jt : i->jf;
        else
            return i->k;
    }
    fail_msg("%s", "no answer");
    return 0;
}

static void same_answers(const struct tc_strv *allowed)
{
    struct tc_bpf program;
    bool refused;
    tc_oci_filter(&program, allowed);
    assert_true(program.len < TC_BPF_MAX);
    for (size_t i = 0; i < TC_COUNT(tc_seccomp_rows); i++) {
        int nr = tc_seccomp_number(tc_seccomp_rows[i].name, &refused);
        int errnum = tc_oci_seccomp_answer(&tc_seccomp_rows[i], allowed);
        uint32_t wanted = errnum ? SECCOMP_RET_ERRNO | (uint32_t)errnum : SECCOMP_RET_ALLOW;
        if (nr >= 0)
            assert_int_equal(run(&program, HERE, (uint32_t)nr), wanted);
    }
}

static void filter_agrees_with_the_json_profile(void **state)
{
    char ptrace[] = "ptrace", *names[] = {ptrace};
    same_answers(&(struct tc_strv){NULL, 0});
    same_answers(&(struct tc_strv){names, 1});
}

static void unnamed_syscalls_are_refused(void **state)
{
    struct tc_bpf program;
    tc_oci_filter(&program, &(struct tc_strv){NULL, 0});
    static const uint32_t numbers[] = {335, 1023, 1024, 0x40000000, 0x40000001, UINT32_MAX};
    for (size_t i = 0; i < TC_COUNT(numbers); i++)
        assert_int_equal(run(&program, HERE, numbers[i]), SECCOMP_RET_ERRNO | ENOSYS);
    assert_int_equal(run(&program, ELSEWHERE, 0), SECCOMP_RET_KILL_PROCESS);
}

static void filter_is_added_as_an_annotation(void **state)
{
    char *text = tc_oci_with_filter("{\"linux\":{}}", &(struct tc_strv){NULL, 0});
    assert_non_null(text);
    assert_int_equal(
        strncmp(text, "{\"linux\":{},\"annotations\":{\"run.oci.seccomp_bpf_data\":\"", 54), 0);
    assert_string_equal(text + strlen(text) - 3, "\"}}");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(filter_agrees_with_the_json_profile),
        cmocka_unit_test(unnamed_syscalls_are_refused),
        cmocka_unit_test(filter_is_added_as_an_annotation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
