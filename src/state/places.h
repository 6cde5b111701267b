/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Where a user's toolcage files are, according to the environment. */
#ifndef TC_STATE_PLACES_H
#define TC_STATE_PLACES_H

#include <stdbool.h>

/* The variable's absolute path in *ret, owned; NULL: none. False: out of memory. */
bool tc_variable_path(const char *name, char **ret);
/* The directory of an absolute $VARIABLE, else the one below the home; NULL in *ret: there is
 * neither. */
bool tc_own_directory(const char *variable, const char *home, const char *below, char **ret);
/* The state directory of this user's toolcage; NULL in *ret: the environment names none. */
bool tc_state_directory(char **ret);

#endif
