/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The flags of a call. Where a policy file speaks they only take away; with none they are the
 * operator's grant. One row a flag: how its text is checked, and how it is applied. */
#ifndef TC_POLICY_RESOLVE_NARROW_H
#define TC_POLICY_RESOLVE_NARROW_H

#include "policy/parse/keys.h"
#include "policy/resolve/resolve.h"

struct tc_flag {
    const char *name;
    bool (*check)(const struct tc_flag *flag, const char *value, struct tc_complaint *c);
    int (*apply)(struct tc_resolve *r, const struct tc_flag *flag, const char *value);
};

/* Unix sockets (resolve_unix.c): all flags together. */
int tc_flag_unix_apply(struct tc_resolve *r, const struct tc_flag *flag, const char *last);

/* Files (narrow_fs.c): all read and write flags together. */
bool tc_flag_file_check(const struct tc_flag *flag, const char *value, struct tc_complaint *c);
int tc_narrow_files(struct tc_resolve *r);

#endif
