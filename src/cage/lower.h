/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * From a grant to the plan of a cage of this machine's kernel; pure. */
#ifndef TC_CAGE_LOWER_H
#define TC_CAGE_LOWER_H

#include "plan/backend.h"
#include "plan/plan.h"

/* What every cage has that shows files of this machine as they are. */
#define TC_LOCAL_FEATURES                                                    \
    (TC_FEATURE_BIT(COPY) | TC_FEATURE_BIT(OVERLAY) | TC_FEATURE_BIT(BIND) | \
     TC_FEATURE_BIT(HOST) | TC_FEATURE_BIT(SESSION))

/* What struct tc_planner.lower says, for a backend of this name. */
int tc_local_lower(const struct tc_grant *grant, const char *backend, struct tc_plan *ret,
                   struct toolcage_error **err);

/* Of such a plan what is granted of the host's files: where they are shown, and what becomes of
 * changes. False: out of memory. */
bool tc_local_files(const struct tc_grant *grant, struct tc_plan *plan);

/* The same of where its network leads, and of what its proxy needs; without its environment. */
bool tc_local_network(const struct tc_grant *grant, struct tc_plan *plan);

/* In an image no name stands that the operator denies. 0, or a failure. */
int tc_image_denies(const struct tc_grant *grant, struct toolcage_error **err);

/* system.c: the host's system directories in a plan. */

/* One more mount; texts are copied. NULL when out of memory. */
struct tc_mount *tc_plan_mount(struct tc_plan *plan, enum tc_mount_kind kind, const char *path,
                               const char *from);
/* Adds the host's system directories, if they are to be shown, and the made files; false when out
 * of memory. */
bool tc_plan_system(struct tc_plan *plan, bool hosts);

#endif
