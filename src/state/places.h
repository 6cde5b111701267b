/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Where a user's files of toolcage's are, by the environment. */
#ifndef TC_STATE_PLACES_H
#define TC_STATE_PLACES_H

#include <stdbool.h>

/* The variable's absolute path; NULL in *ret, owned, where it has none. False: out of memory. */
bool tc_variable_path(const char *name, char **ret);
/* The directory of an absolute $VARIABLE, else the one below the home; NULL: there is neither. */
bool tc_own_directory(const char *variable, const char *home, const char *below, char **ret);
/* Where this user's toolcage keeps its state; NULL in *ret when nothing says so. */
bool tc_state_directory(char **ret);

#endif
