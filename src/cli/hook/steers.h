/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Steering files, for tools that write outside of a cage. */
#ifndef TC_CLI_HOOK_STEERS_H
#define TC_CLI_HOOK_STEERS_H

#include <stdbool.h>

/* Is the path `relative` in this directory a steering file, as it is in a cage? */
bool tc_hook_steers(const char *directory, const char *relative);

#endif
