/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What the child without namespaces does on its way to the tool, and about what that starts. */
#ifndef TC_LANDLOCK_CHILD_H
#define TC_LANDLOCK_CHILD_H

#include <stdbool.h>

#include "cage/init_config.h"

extern const struct tc_stages tc_landlock_stages;
extern const struct tc_reaper_ops tc_landlock_reaper;

/* Can it be done here: does the kernel list a process's children? */
bool tc_landlock_orphans_known(void);

#endif
