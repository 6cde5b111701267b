/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * How large a tree is on its disk: what a tool left in it is not trusted. */
#ifndef TC_BASE_SIZE_H
#define TC_BASE_SIZE_H

#include <stdint.h>

/* What a name and all below it take of their disk, in bytes; never through a link. -1 with errno:
 * not all of it could be looked at. */
int64_t tc_tree_bytes(int dirfd, const char *name);

#endif
