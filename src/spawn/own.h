/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Our own programs, found from where this library was loaded. */
#ifndef TC_SPAWN_OWN_H
#define TC_SPAWN_OWN_H

#include "base/error.h"
#include "base/strv.h"

/* A program of ours by its name, when it is safe to run. *ret is owned. */
int tc_spawn_own_program(const char *name, char **ret, struct toolcage_error **err);
/* Opens the program at this path, when it is safe to run. */
int tc_spawn_own_open(const char *path, int *ret, struct toolcage_error **err);
/* Adds our own file and programs, as far as they lie within one of these host paths: what a tool
 * can write there it must not change. False: out of memory. */
bool tc_spawn_own_within(const struct tc_strv *within, struct tc_strv *ret);

#endif
