/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Applies the rule of system/system.h to the host's files. */
#ifndef TC_SYSTEM_RULE_H
#define TC_SYSTEM_RULE_H

#include "system/owners.h"

struct tc_system_scan {
    const struct tc_owners *owners;
    struct tc_strv paths;   /* what is shown */
    struct tc_strv watched; /* what must be unchanged for `paths` to be right */
    uint64_t mount;         /* of /etc */
    size_t files;           /* how many files were looked at */
    bool memory;            /* out of memory */
};

/* The caller frees the lists of *scan. */
void tc_system_scan(struct tc_system_scan *scan);
#endif
