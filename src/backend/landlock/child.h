/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The child's stages without namespaces, and the operations that end the tool's processes. */
#ifndef TC_LANDLOCK_CHILD_H
#define TC_LANDLOCK_CHILD_H

#include <stdbool.h>

#include "cage/init_config.h"

extern const struct tc_stages tc_landlock_stages;
extern const struct tc_reaper_ops tc_landlock_reaper;

/* Whether this kernel lists a process's children in /proc, which ending the tool requires. */
bool tc_landlock_orphans_known(void);

#endif
