/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Paths as strings; only the last two functions use a file system. */
#ifndef TC_BASE_PATH_H
#define TC_BASE_PATH_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strv.h"

/* Is it absolute, without "." and "..", doubled and trailing slashes? "/" is not. */
bool tc_path_is_clean(const char *path);
/* An absolute, clean form of `path` ("." and ".." and doubled slashes removed), relative ones
 * resolved against `base` (absolute). Owned by the caller; NULL when out of memory. */
char *tc_path_absolute(const char *base, const char *path);
/* Is `path` the directory `dir` or below it? Both clean and absolute. */
bool tc_path_within(const char *dir, const char *path);
/* Is it within any of these? */
bool tc_path_within_any(const struct tc_strv *dirs, const char *path);
/* The directory part of a clean absolute path ("/" for "/a"). Owned by the caller. */
char *tc_path_parent(const char *path);
/* Is this relative path equal to `name`, or below it? */
bool tc_path_below(const char *name, const char *path);
/* The last component; borrows. "" for "/". */
const char *tc_path_base(const char *path);
/* dir + "/" + name, with "/" handled. Owned by the caller. */
char *tc_path_join(const char *dir, const char *name);
/* Does the path contain these consecutive components: "/home/me/.git/hooks/x" contains
 * ".git/hooks"? */
bool tc_path_holds(const char *path, const char *components);
/* How many components: 0 for "/". */
size_t tc_path_depth(const char *path);

/* Paths without links. Most contain none, which one system call detects, where realpath(3) needs
 * one per component. */

/* For a path that is tc_path_is_clean(): 1: it contains no link; 0: its existing part contains
 * none; -1: unknown, and its components must be checked. */
int tc_path_straight(const char *path);

/* realpath(3): owned; NULL with errno. */
char *tc_path_real(const char *path);

#endif
