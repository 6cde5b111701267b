/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Paths as text: nothing here looks at a file system. */
#ifndef TC_BASE_PATH_H
#define TC_BASE_PATH_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strv.h"

/* Is it absolute and of names alone, without "." and "..", doubled slashes and one at the end? "/"
 * is not. */
bool tc_path_is_clean(const char *path);
/* An absolute, clean form of `path` ("." and ".." and doubled slashes gone), relative ones starting
 * at `base` (absolute). Owned by the caller; NULL when out of memory. */
char *tc_path_absolute(const char *base, const char *path);
/* Is `path` the directory `dir` or below it? Both clean and absolute. */
bool tc_path_within(const char *dir, const char *path);
/* Within one of these? */
bool tc_path_within_any(const struct tc_strv *dirs, const char *path);
/* The directory part of a clean absolute path ("/" for "/a"). Owned by the caller. */
char *tc_path_parent(const char *path);
/* Is this relative path that name, or below it? */
bool tc_path_below(const char *name, const char *path);
/* The last component; borrows. "" for "/". */
const char *tc_path_base(const char *path);
/* dir + "/" + name, with "/" handled. Owned by the caller. */
char *tc_path_join(const char *dir, const char *name);
/* Has the path these components, one after the other: "/home/me/.git/hooks/x" holds ".git/hooks"?
 */
bool tc_path_holds(const char *path, const char *components);
/* How many components: 0 for "/". */
size_t tc_path_depth(const char *path);

/* Paths without the links on their way. Most have none, which the kernel says in one step where
 * realpath(3) asks for each component. */

/* Of a path that tc_path_is_clean(): 1: it leads through no link; 0: as far as it is there it leads
 * through none; -1: another answer, for which its components are to be asked. */
int tc_path_straight(const char *path);

/* realpath(3): owned; NULL with errno. */
char *tc_path_real(const char *path);

#endif
