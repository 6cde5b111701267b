/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "linux/seccomp_changes.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <string.h>

#include "base/cleanup.h"

/* Of each program: it kills other architectures, then loads the number. */
enum { HEAD = 4 };

static bool add_numbers(int *numbers, size_t *count, const struct tc_strv *names, bool allows,
                        const char **ret_bad)
{
    for (size_t i = 0; i < names->count; i++) {
        bool refused;
        int nr = tc_seccomp_number(names->items[i], &refused);
        bool fine = nr != TC_SECCOMP_NO_NAME && (refused || !allows);
        if (!fine || *count == TC_SECCOMP_CHANGES_MAX) {
            *ret_bad = names->items[i];
            return false;
        }
        if (nr >= 0)
            numbers[(*count)++] = nr;
    }
    return true;
}

bool tc_seccomp_changes(struct tc_seccomp_changes *ret, const struct tc_strv *deny,
                        const struct tc_strv *allow, const char **ret_bad)
{
    *ret = (struct tc_seccomp_changes){.denied_count = 0};
    return add_numbers(ret->denied, &ret->denied_count, deny, false, ret_bad) &&
           add_numbers(ret->allowed, &ret->allowed_count, allow, true, ret_bad);
}

bool tc_seccomp_denied(const struct tc_seccomp_changes *changes, int nr)
{
    for (size_t i = 0; i < changes->denied_count; i++)
        if (changes->denied[i] == nr)
            return true;
    return false;
}

static size_t answer(struct sock_filter *code, int nr, unsigned ret)
{
    code[0] = (struct sock_filter){BPF_JMP | BPF_JEQ | BPF_K, 0, 1, (unsigned)nr};
    code[1] = (struct sock_filter){BPF_RET | BPF_K, 0, 0, ret};
    return 2;
}

size_t tc_seccomp_change(const struct sock_fprog *base, const struct tc_seccomp_changes *changes,
                         enum tc_seccomp_watch watch, struct sock_filter *code)
{
    unsigned refusal = watch ? SECCOMP_RET_USER_NOTIF : SECCOMP_RET_ERRNO | EPERM;
    size_t len = HEAD;
    if (base->len + 2 * (changes->denied_count + changes->allowed_count) > TC_SECCOMP_CODE_MAX)
        return 0;
    memcpy(code, base->filter, HEAD * sizeof(*code));
    for (size_t i = 0; i < changes->denied_count; i++)
        len += answer(code + len, changes->denied[i], refusal);
    for (size_t i = 0; i < changes->allowed_count; i++)
        len += answer(code + len, changes->allowed[i], SECCOMP_RET_ALLOW);
    memcpy(code + len, base->filter + HEAD, (base->len - HEAD) * sizeof(*code));
    return len + base->len - HEAD;
}
