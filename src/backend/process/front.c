/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The process backend's front: everything but an image. */
#include <toolcage/error.h>

#include "cage/lower.h"

static int lower(const struct tc_grant *grant, struct tc_plan *ret, struct toolcage_error **err)
{
    if (grant->image)
        return tc_fail(err,
                       &(struct tc_why){.code = TOOLCAGE_EUNENFORCEABLE,
                                        .stage = "lower",
                                        .subject = "image",
                                        .hint = "use backend = \"oci\" or \"gvisor\", or take "
                                                "`image` out"},
                       "the process backend shows the host's system directories, not an image");
    return tc_local_lower(grant, "process", ret, err);
}

const struct tc_front tc_process_front = {
    .name = "process",
    .flags = TC_BACKEND_TERMINAL,
    .summary = "namespaces, mounts, Landlock and seccomp around a process of this machine",
    .provides = ~(tc_clauses)0,
    .lower = lower,
};
