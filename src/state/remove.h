/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A tree that goes: what a tool left in it is not trusted. */
#ifndef TC_STATE_REMOVE_H
#define TC_STATE_REMOVE_H

/* Removes a name with all below it, never through a link. 0, or -1 with errno: something is left.
 */
int tc_remove_tree(int dirfd, const char *name);

#endif
