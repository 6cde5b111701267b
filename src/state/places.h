/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Where a user's toolcage files are, according to the environment. */
#ifndef TC_STATE_PLACES_H
#define TC_STATE_PLACES_H

#include <stdbool.h>

/* The variable's absolute path in *ret, owned; NULL: none. False: out of memory. */
bool tc_variable_path(const char *name, char **ret);
/* A directory for toolcage's own files, owned: $VARIABLE/toolcage if the variable is an absolute
 * path, else the path `below` under the home. *ret is unchanged if both variable and home are
 * missing. False: out of memory. */
bool tc_own_directory(const char *variable, const char *home, const char *below, char **ret);
/* The state directory of this user's toolcage, owned. *ret is unchanged if the environment names
 * none. False: out of memory. */
bool tc_state_directory(char **ret);

#endif
