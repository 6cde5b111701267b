/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The host's system directories in a plan; pure. */
#ifndef TC_CAGE_SYSTEM_H
#define TC_CAGE_SYSTEM_H

#include "plan/plan.h"

/* One more mount; texts are copied. NULL when out of memory. */
struct tc_mount *tc_plan_mount(struct tc_plan *plan, enum tc_mount_kind kind, const char *path,
                               const char *from);
/* Adds the host's system directories, if they are to be shown, and the made files; false when out
 * of memory. */
bool tc_plan_system(struct tc_plan *plan, bool hosts);

#endif
