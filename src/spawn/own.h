/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Finds toolcage's own programs, starting from the file of this library. */
#ifndef TC_SPAWN_OWN_H
#define TC_SPAWN_OWN_H

#include "base/error.h"
#include "base/strv.h"

/* Finds a program by name, if it is safe to run. *ret is owned. */
int tc_spawn_own_program(const char *name, char **ret, struct toolcage_error **err);
/* Opens the program at this path, if it is safe to run. */
int tc_spawn_own_open(const char *path, int *ret, struct toolcage_error **err);
/* Appends the paths of this library and of toolcage's programs that are below one of these host
 * paths: a tool that can write there must not change them. False: out of memory. */
bool tc_spawn_own_within(const struct tc_strv *within, struct tc_strv *ret);

#endif
