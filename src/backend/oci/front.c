/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The fronts of the container runtimes. */
#include <toolcage/error.h>

#include "backend/oci/config.h"
#include "cage/lower.h"

static int lower_for(const struct tc_grant *grant, const char *name, enum tc_oci_kind kind,
                     struct tc_plan *ret, struct toolcage_error **err)
{
    int r = tc_image_denies(grant, err);
    if (r == 0)
        r = tc_local_lower(grant, name, ret, err);
    if (r < 0)
        return r;
    ret->payload = tc_oci_config(ret, kind);
    return ret->payload ? 0 : tc_fail_memory(err);
}

static int lower_oci(const struct tc_grant *grant, struct tc_plan *ret, struct toolcage_error **err)
{
    return lower_for(grant, "oci", TC_OCI_KERNEL, ret, err);
}

static int lower_gvisor(const struct tc_grant *grant, struct tc_plan *ret,
                        struct toolcage_error **err)
{
    return lower_for(grant, "gvisor", TC_OCI_SENTRY, ret, err);
}

/* Not BYTES: JSON can carry text alone, and a name that the runtime would change is not the one
 * that was granted. Of gVisor not PATHS either, nor SYSCALLS: its own kernel answers. */
#define HAS                                                                   \
    (TC_FEATURE_BIT(IMAGE) | TC_FEATURE_BIT(COPY) | TC_FEATURE_BIT(OVERLAY) | \
     TC_FEATURE_BIT(SESSION) | TC_FEATURE_BIT(INSTALL))

const struct tc_front tc_oci_front = {
    .name = "oci",
    .summary = "a container of crun or runc, with our own PID 1 in it",
    .provides = ~(tc_clauses)0,
    .has = HAS | TC_FEATURE_BIT(PATHS) | TC_FEATURE_BIT(SYSCALLS),
    .lower = lower_oci,
};

const struct tc_front tc_gvisor_front = {
    .name = "gvisor",
    .summary = "a container of runsc, which answers system calls by a kernel of its own",
    .provides = ~(tc_clauses)0,
    .has = HAS,
    .lower = lower_gvisor,
};
