/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * This process and others of the host: how long they waited, the path of this one's program,
 * which uid is root. */
#ifndef TC_BASE_PROCESS_H
#define TC_BASE_PROCESS_H

#include <stdint.h>
#include <sys/types.h>

/* How long other processes kept a process from running. On a host that runs twenty VMs a boot
 * takes twenty times as long, and nothing is wrong with the guest, so time spent waiting for a
 * CPU does not count against it. A process that hangs or loops does not wait. */

/* How long it was runnable while the CPUs ran other processes; 0: unknown. */
int64_t tc_waited_us(pid_t pid);
/* The sum for all processes in /proc except the caller. */
int64_t tc_waited_all_us(void);

/* Which CPU a new process starts on. */

/* Lets a new process start on another CPU than the caller's, which still has about a millisecond
 * of work. Kernels that pack virtual CPUs leave both on one while another is idle, and the new
 * process has the longer work. With one CPU, or where it is forbidden, it does nothing;
 * afterwards the process may run wherever the caller may. */
void tc_spread(pid_t pid);

/* The path of this program's file. */

/* The path at the first call, which must come before threads are started and before the process
 * leaves its mount namespace: the kernel reports the path in the namespace that the program was
 * started in, relative to that namespace's root, and a process in a chroot has another root.
 * NULL with errno: /proc does not have it. */
const char *tc_self_path(void);
/* The current path; owned. NULL with errno. */
char *tc_self_now(void);
/* The path of a file with this name next to it; owned. NULL with errno. */
char *tc_self_beside(const char *name);

/* Which uid is root here. In a user namespace (a rootless container, `unshare -r`, bubblewrap)
 * uid 0 may be an ordinary user of the host, and the host's root may have no number. */

/* The ids under which this process sees the host's root: the overflow ids where its user
 * namespace does not map them, 0 where that is unknown. */
struct tc_root {
    uid_t uid;
    gid_t gid;
};
struct tc_root tc_host_root_user(void);

struct stat;
/* Why one of toolcage's programs with this status must not be run: other users could change it.
 * NULL: it is safe. */
const char *tc_program_unsafe(const struct stat *st);

#endif
