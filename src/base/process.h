/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * This process and others of the machine: how long they waited, where this one's program is, who
 * is root. */
#ifndef TC_BASE_PROCESS_H
#define TC_BASE_PROCESS_H

#include <stdint.h>
#include <sys/types.h>

/* How long processes were kept from running by others. On a host that is busy with twenty machines
 * a boot takes twenty times as long, and nothing is wrong with the guest: what it had to wait for a
 * processor is no time that it took. One that hangs, or runs in circles, does not wait. */

/* How long it was ready to run while the processors ran others; 0: that is not known. */
int64_t tc_waited_us(pid_t pid);
/* The same of all processes in /proc but the one that asks, together. */
int64_t tc_waited_all_us(void);

/* Which processor a new process begins on. */

/* Lets a process that was just made begin on another processor than the caller's, which has a
 * millisecond of work to do yet. Kernels that pack virtual processors leave both on one while
 * another is idle, and the one that waits is the longer one. Where there is one processor, or this
 * is forbidden, it changes nothing; afterwards the process may run wherever the caller may. */
void tc_spread(pid_t pid);

/* Where this program's own file is. */

/* As it was at the first call, which is to come before there are threads, and before a mount
 * namespace is left: the kernel tells the path in the one that the program was started in, from
 * that one's root, and who is in a chroot has another. NULL with errno: /proc does not tell. */
const char *tc_self_path(void);
/* As it is now; owned. NULL with errno. */
char *tc_self_now(void);
/* Where a file of this name is beside it; owned. NULL with errno. */
char *tc_self_beside(const char *name);

/* Who is root here. In a user namespace (a rootless container, `unshare -r`, bubblewrap) uid 0 may
 * be an ordinary user of the machine, and the machine's root somebody without a number. */

/* The ids by which this process knows the machine's root: the overflow ids where its user namespace
 * does not map them, 0 where nothing can be known. */
struct tc_root {
    uid_t uid;
    gid_t gid;
};
struct tc_root tc_host_root_user(void);

struct stat;
/* Why a program of ours with this status is not to be run: others could change it. NULL: it is
 * fine. */
const char *tc_program_unsafe(const struct stat *st);

#endif
