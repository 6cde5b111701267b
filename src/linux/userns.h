/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * User namespaces: entering one, and making ones that only carry an id mapping. */
#ifndef TC_LINUX_USERNS_H
#define TC_LINUX_USERNS_H

#include <stdbool.h>
#include <sys/types.h>

enum { TC_ID_MAP_SIZE = 64 };

/* "inside outside 1\n" into `out`. */
void tc_id_map(char out[TC_ID_MAP_SIZE], unsigned inside, unsigned outside);

/* Writes the maps of a process in a new user namespace. `deny_setgroups` is needed by writers
 * without privileges. `proc` is "self" or the pid as text. 0, or -1 with errno. Async-signal-safe.
 */
int tc_write_id_maps(const char *proc, const char *uid_map, const char *gid_map,
                     int deny_setgroups);

/* A killed child that held a namespace, and the memory of its stack. */
struct tc_userns_holder {
    pid_t pid; /* -1: none */
    void *stack;
};

/* An fd of a user namespace that maps one uid and one gid, for id-mapped mounts: files that
 * belong to file_uid:file_gid on disk belong to cage_uid:cage_gid through the mount. Needs
 * CAP_SETUID and CAP_SETGID in our namespace. -1 with errno. Reap *ret_carrier in either case. */
int tc_idmap_userns(uid_t file_uid, gid_t file_gid, uid_t cage_uid, gid_t cage_gid,
                    struct tc_userns_holder *ret_holder);

/* Waits for the child's end, already begun by a SIGKILL: call it late, when it need not wait. A
 * second call does nothing. */
void tc_userns_holder_reap(struct tc_userns_holder *holder);

/* Is this process in a chroot? There the kernel refuses new user namespaces with EPERM. False where
 * that cannot be determined: the directory is a mount point, and PID 1 is another user's. */
bool tc_userns_chrooted(void);
#define TC_USERNS_CHROOT_FIX                                                                       \
    "this process is in a chroot, where the kernel allows no user namespace: enter the directory " \
    "with pivot_root instead, as systemd-nspawn -D DIR and bwrap do, or run toolcage outside of "  \
    "it"

#endif
