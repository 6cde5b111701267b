/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "backend/oci/platform.h"

#include <stddef.h>

#include "base/cleanup.h"
#include "base/strv.h"

static _Atomic bool first_failed; /* in this helper's life */

const char *const *tc_oci_platforms(const char *wish)
{
    static const char *const in_order[] = {"systrap", TC_OCI_PTRACE, NULL};
    static const char *const named[][2] = {{"systrap"}, {TC_OCI_PTRACE}, {"kvm"}};
    for (size_t i = 0; wish && i < TC_COUNT(named); i++)
        if (tc_streq(wish, named[i][0]))
            return named[i];
    return wish ? NULL : in_order + first_failed;
}

void tc_oci_first_failed(void)
{
    first_failed = true;
}
