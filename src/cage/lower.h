/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Lowers a grant to the plan of a cage that shares the host's kernel; pure. */
#ifndef TC_CAGE_LOWER_H
#define TC_CAGE_LOWER_H

#include "plan/backend.h"
#include "plan/plan.h"

/* Features of every cage that shows host files directly. */
#define TC_LOCAL_FEATURES                                                    \
    (TC_FEATURE_BIT(COPY) | TC_FEATURE_BIT(OVERLAY) | TC_FEATURE_BIT(BIND) | \
     TC_FEATURE_BIT(HOST) | TC_FEATURE_BIT(SESSION))

/* Implements tc_planner.lower for the named backend. */
int tc_local_lower(const struct tc_grant *grant, const char *backend, struct tc_plan *ret,
                   struct toolcage_error **err);

/* Adds to such a plan the granted host files: where they are mounted, and how changes are handled.
 * False: out of memory. */
bool tc_local_files(const struct tc_grant *grant, struct tc_plan *plan);

/* Adds the network entries and the proxy's settings, without environment variables. False: out of
 * memory. */
bool tc_local_network(const struct tc_grant *grant, struct tc_plan *plan);

/* Verifies that the image contains no name that the operator denies. 0, or a failure. */
int tc_image_denies(const struct tc_grant *grant, struct toolcage_error **err);

/* system.c: the host's system directories in a plan. */

/* Adds a mount; strings are copied. NULL when out of memory. */
struct tc_mount *tc_plan_mount(struct tc_plan *plan, enum tc_mount_kind kind, const char *path,
                               const char *from);
/* Adds the host's system directories (if `hosts`) with further ones of this host (`more`, one a
 * line; NULL: none), and the generated files; false when out of memory. */
bool tc_plan_system(struct tc_plan *plan, bool hosts, const char *more);

#endif
