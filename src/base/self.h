/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Where this program's own file is. */
#ifndef TC_BASE_SELF_H
#define TC_BASE_SELF_H

/* As it was at the first call, which is to come before there are threads, and before a mount
 * namespace is left: the kernel tells the path in the one that the program was started in, from
 * that one's root, and who is in a chroot has another. NULL with errno: /proc does not tell. */
const char *tc_self_path(void);
/* As it is now; owned. NULL with errno. */
char *tc_self_now(void);
/* Where a file of this name is beside it; owned. NULL with errno. */
char *tc_self_beside(const char *name);

#endif
