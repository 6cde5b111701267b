/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A policy's changes to the filters, run by a small BPF machine: nothing but the named calls has
 * another verdict, on this processor's programs and on those of another one. */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/cleanup.h"
#include "linux/seccomp_filter.h"
#include "linux/seccomp_profile.h"
#include "policy/names/syscall_names.h"
#include "test.h"

/* Programs of the same generator; the calls have other numbers there */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-variable"
#include "seccomp_aarch64.h"
#pragma GCC diagnostic pop

#ifdef __x86_64__
#define HERE AUDIT_ARCH_X86_64
#define FOREIGN AUDIT_ARCH_I386
#else
#define HERE AUDIT_ARCH_AARCH64
#define FOREIGN AUDIT_ARCH_ARM
#endif

enum { X32 = 0x40000000 };

static uint32_t simulate(const struct sock_fprog *program, const struct seccomp_data *data)
{
    uint32_t a = 0;
    for (size_t pc = 0; pc < program->len; pc++) {
        const struct sock_filter *i = &program->filter[pc];
        if (i->code == (BPF_LD | BPF_W | BPF_ABS))
            memcpy(&a, (const char *)data + i->k, sizeof(a));
        else if (i->code == (BPF_ALU | BPF_AND | BPF_K))
            a &= i->k;
        else if (i->code == (BPF_JMP | BPF_JA))
            pc += i->k;
        else if (i->code == (BPF_JMP | BPF_JEQ | BPF_K))
            pc += a == i->k ? i->jt : i->jf;
        else if (i->code == (BPF_JMP | BPF_JGE | BPF_K))
            pc += a >= i->k ? i->jt : i->jf;
        else if (i->code == (BPF_JMP | BPF_JSET | BPF_K))
            pc += a & i->k ? i->jt : i->jf;
        else if (i->code == (BPF_RET | BPF_K))
            return i->k;
        else
            fail_msg("instruction 0x%x", i->code);
    }
    fail_msg("ran off the end");
    return 0;
}

#define TEXT(s) ((char[]){s})
static char *denied_names[] = {TEXT("mlock"),   TEXT("openat"), TEXT("socket"),
                               TEXT("connect"), TEXT("getpid"), TEXT("mount")};
static char *allowed_names[] = {TEXT("ptrace"), TEXT("kcmp")};
static const struct tc_strv deny = {denied_names, TC_COUNT(denied_names)};
static const struct tc_strv allow = {allowed_names, TC_COUNT(allowed_names)};

static bool is_in(const int *numbers, size_t count, int nr)
{
    for (size_t i = 0; i < count; i++)
        if (numbers[i] == nr)
            return true;
    return false;
}

static void compare(const struct sock_fprog *base, const struct tc_seccomp_changes *changes,
                    enum tc_seccomp_watch watch, unsigned here)
{
    static const uint64_t values[] = {0, 1, 2, 3, 010, 0100, 04755, 0x5412, 0x7e020000, ~0ull};
    static struct sock_filter code[TC_SECCOMP_CODE_MAX];
    size_t len = tc_seccomp_change(base, changes, watch, code);
    struct sock_fprog changed = {.len = (unsigned short)len, .filter = code};
    assert_int_equal(len, base->len + 2 * (changes->denied_count + changes->allowed_count));
    unsigned seed = 1;
    for (int nr = -2; nr < 1100 * 20; nr++) {
        struct seccomp_data data = {.nr = nr / 20, .arch = here};
        for (int i = 0; i < 6; i++) {
            seed = seed * 1103515245 + 12345;
            data.args[i] = values[(seed >> 16) % TC_COUNT(values)];
        }
        uint32_t want = simulate(base, &data);
        if (is_in(changes->denied, changes->denied_count, data.nr))
            want = watch ? SECCOMP_RET_USER_NOTIF : SECCOMP_RET_ERRNO | EPERM;
        else if (is_in(changes->allowed, changes->allowed_count, data.nr))
            want = SECCOMP_RET_ALLOW;
        assert_int_equal(simulate(&changed, &data), want);
        data.nr |= X32;
        assert_int_equal(simulate(&changed, &data), simulate(base, &data));
        data.arch = FOREIGN;
        assert_int_equal(simulate(&changed, &data), SECCOMP_RET_KILL_PROCESS);
        data.nr &= ~X32;
        assert_int_equal(simulate(&changed, &data), SECCOMP_RET_KILL_PROCESS);
    }
}

static void nothing_but_the_named_calls_changes(void **state)
{
    struct tc_seccomp_changes changes;
    const char *bad;
    assert_true(tc_seccomp_changes(&changes, &deny, &allow, &bad));
    assert_int_equal(changes.denied_count, deny.count);
    assert_int_equal(changes.allowed_count, allow.count);
    for (enum tc_seccomp_watch w = TC_WATCH_NOTHING; w <= TC_WATCH_ACCESSES; w++)
        for (int sockets = 0; sockets < 2; sockets++)
            compare(tc_seccomp_program(w, sockets), &changes, w, HERE);
    assert_true(tc_seccomp_denied(&changes, SYS_connect));
    assert_false(tc_seccomp_denied(&changes, SYS_ptrace));
    assert_false(tc_seccomp_denied(&changes, SYS_connect | X32));
}

static int arm_number(const char *name)
{
    for (size_t i = 0; i < TC_COUNT(rows_by_number); i++)
        if (strcmp(tc_seccomp_rows[rows_by_number[i].row].name, name) == 0)
            return rows_by_number[i].nr;
    fail_msg("%s", name);
    return -1;
}

static void only_named_syscalls_change_on_aarch64(void **state)
{
    struct tc_seccomp_changes changes = {.denied_count = 0};
    struct sock_fprog quiet = {TC_COUNT(plain_code), (struct sock_filter *)plain_code};
    struct sock_fprog loud = {TC_COUNT(calls_unix_code), (struct sock_filter *)calls_unix_code};
    for (size_t i = 0; i < deny.count; i++)
        changes.denied[changes.denied_count++] = arm_number(deny.items[i]);
    for (size_t i = 0; i < allow.count; i++)
        changes.allowed[changes.allowed_count++] = arm_number(allow.items[i]);
    compare(&quiet, &changes, TC_WATCH_NOTHING, AUDIT_ARCH_AARCH64);
    compare(&loud, &changes, TC_WATCH_CALLS, AUDIT_ARCH_AARCH64);
}

/* The one who names them is not believed: this is the helper's side. */
static void only_syscalls_refused_by_number_can_be_allowed(void **state)
{
    char *const never[] = {TEXT("openat2"), TEXT("clone"),  TEXT("io_uring_setup"),
                           TEXT("keyctl"),  TEXT("socket"), TEXT("nonsense")};
    struct tc_strv nothing = {NULL, 0};
    for (size_t i = 0; i < TC_COUNT(never); i++) {
        char *one[] = {never[i]};
        struct tc_seccomp_changes changes;
        const char *bad = NULL;
        assert_false(tc_seccomp_changes(&changes, &nothing, &(struct tc_strv){one, 1}, &bad));
        assert_string_equal(bad, never[i]);
    }
    char *typing[] = {TEXT("mlcok")};
    struct tc_seccomp_changes changes;
    const char *bad = NULL;
    assert_false(tc_seccomp_changes(&changes, &(struct tc_strv){typing, 1}, &nothing, &bad));
    assert_string_equal(bad, "mlcok");
}

static void the_policy_knows_the_profile_s_names(void **state)
{
    size_t count;
    const char *const *names = tc_syscall_names(&count);
    assert_int_equal(count, TC_COUNT(tc_seccomp_rows));
    for (size_t i = 0; i < TC_COUNT(tc_seccomp_rows); i++)
        assert_true(tc_syscall_known(tc_seccomp_rows[i].name));
    for (size_t i = 1; i < count; i++)
        assert_true(strcmp(names[i - 1], names[i]) < 0);
}

static void too_many_changes_are_refused(void **state)
{
    static struct sock_filter code[TC_SECCOMP_CODE_MAX];
    struct tc_seccomp_changes changes = {.denied_count = 0};
    struct sock_fprog base = *tc_seccomp_program(TC_WATCH_NOTHING, false);
    base.len = TC_SECCOMP_CODE_MAX - 1;
    changes.denied[changes.denied_count++] = SYS_mlock;
    assert_int_equal(tc_seccomp_change(&base, &changes, TC_WATCH_NOTHING, code), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_but_the_named_calls_changes),
        cmocka_unit_test(only_named_syscalls_change_on_aarch64),
        cmocka_unit_test(only_syscalls_refused_by_number_can_be_allowed),
        cmocka_unit_test(the_policy_knows_the_profile_s_names),
        cmocka_unit_test(too_many_changes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
