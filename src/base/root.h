/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Who is root here. In a user namespace (a rootless container, `unshare -r`, bubblewrap) uid 0 may
 * be an ordinary user of the machine, and the machine's root somebody without a number. */
#ifndef TC_BASE_ROOT_H
#define TC_BASE_ROOT_H

#include <sys/types.h>

/* The ids by which this process knows the machine's root: the overflow ids where its user namespace
 * does not map them, 0 where nothing can be known. */
struct tc_root {
    uid_t uid;
    gid_t gid;
};
struct tc_root tc_machine_root(void);

struct stat;
/* Why a program of ours with this status is not to be run: others could change it. NULL: it is
 * fine. */
const char *tc_program_unsafe(const struct stat *st);

#endif
