/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "base/root.h"

#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

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

const char *tc_program_unsafe(const struct stat *st)
{
    if (!S_ISREG(st->st_mode))
        return "is not a regular file";
    /* where the namespace has no number for root, the owner of what lies beside the library, whose
     * code this is */
    if (st->st_uid != 0 && st->st_uid != geteuid() && st->st_uid != tc_machine_root().uid)
        return "belongs to neither root nor the caller";
    if (st->st_mode & (S_IWGRP | S_IWOTH))
        return "can be written by its group or by others";
    return NULL;
}
