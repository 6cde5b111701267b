/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "base/root.h"

#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>

/* The kernel's own settings belong to the machine's root, in every user namespace. */
static const char owned[] = "/proc/sys/kernel";

struct tc_root tc_machine_root(void)
{
    struct statfs fs;
    struct stat st;
    if (statfs(owned, &fs) < 0 || fs.f_type != PROC_SUPER_MAGIC || stat(owned, &st) < 0)
        return (struct tc_root){0, 0};
    return (struct tc_root){st.st_uid, st.st_gid};
}
