/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Paths without the links on their way. Most have none, which the kernel says in one step where
 * realpath(3) asks for each component. */
#ifndef TC_BASE_LINKS_H
#define TC_BASE_LINKS_H

/* Of a path that tc_path_is_clean(): 1: it leads through no link; 0: as far as it is there it leads
 * through none; -1: another answer, for which its components are to be asked. */
int tc_path_straight(const char *path);

/* realpath(3): owned; NULL with errno. */
char *tc_path_real(const char *path);

#endif
