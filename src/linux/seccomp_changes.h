/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A policy's changes to the profile. They stand in one program with it, before it and behind its
 * look at the architecture: a process can have one notification listener only, and what a second
 * program refuses would be answered by the kernel and listed by nobody. A refusal comes first; a
 * call is let through only where the profile refuses it by its number alone; everything else goes
 * on into the profile as it is, foreign ABIs too. */
#ifndef TC_LINUX_SECCOMP_CHANGES_H
#define TC_LINUX_SECCOMP_CHANGES_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/strv.h"
#include "linux/seccomp_filter.h"

enum { TC_SECCOMP_CHANGES_MAX = 256, TC_SECCOMP_CODE_MAX = 2048 };

struct tc_seccomp_changes {
    int denied[TC_SECCOMP_CHANGES_MAX], allowed[TC_SECCOMP_CHANGES_MAX]; /* numbers */
    size_t denied_count, allowed_count;
};

/* Names to numbers. Calls that this processor does not have are left out. False, and *ret_bad is
 * the name (borrowed), when one is unknown, may not be let through, or there are too many. */
bool tc_seccomp_changes(struct tc_seccomp_changes *ret, const struct tc_strv *deny,
                        const struct tc_strv *allow, const char **ret_bad);

bool tc_seccomp_denied(const struct tc_seccomp_changes *changes, int nr);

/* The profile's program with the changes, written to `code`, which has room for
 * TC_SECCOMP_CODE_MAX. 0 when they do not fit; else the length. */
size_t tc_seccomp_change(const struct sock_fprog *base, const struct tc_seccomp_changes *changes,
                         enum tc_seccomp_watch watch, struct sock_filter *code);

#endif
