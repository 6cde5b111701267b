/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The second filter of a cage without namespaces: it refuses calls that mounts and namespaces make
 * harmless in other cages, and that Landlock does not restrict.
 *
 * Decisions that are not obvious:
 * - modes, owners, times, extended attributes: no call may change them. Reading extended attributes
 *   fails as on a file system without them, after which programs (ls -l, cp -p, git) continue.
 * - ioctl: a closed list: with an ioctl, a program can change a file's flags through a read-only
 * fd.
 * - System V IPC, message queues, inotify: refused; Landlock restricts only files, sockets and
 * signals.
 * - limits, CPUs, priorities: only the caller's own (pid 0), because other processes of the same
 * user are visible. Signals: Landlock's scope restricts them.
 * - sockets: only unix sockets pass this filter, and the profile's filter refuses and lists those.
 */
#include "linux/seccomp_filter.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/syscall.h>

#include "base/cleanup.h"

/* a table, one entry per line */
/* clang-format off */
#define LOAD(field) {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, field)}
#define IF_NOT(value, skip) {BPF_JMP | BPF_JEQ | BPF_K, 0, skip, (unsigned)(value)}
#define IF(value, skip) {BPF_JMP | BPF_JEQ | BPF_K, skip, 0, (unsigned)(value)}
#define REFUSE(errnum) {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | (errnum)}
#define ALLOW {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW}

#define NEVER(nr) IF_NOT(nr, 1), REFUSE(EPERM)
#define NONE(nr) IF_NOT(nr, 1), REFUSE(EOPNOTSUPP)
/* allowed only with this value in the low half of an argument (both architectures are little-endian) */
#define ONLY(nr, arg, value, errnum) IF_NOT(nr, 4), LOAD(args[arg]), IF(value, 1), REFUSE(errnum), ALLOW
#define ONLY_2(nr, first, second) \
    IF_NOT(nr, 6), LOAD(args[0]), IF_NOT(first, 3), LOAD(args[1]), IF_NOT(second, 1), ALLOW, REFUSE(EPERM)

static const struct sock_filter code[] = {
    LOAD(nr),
#ifdef SYS_chmod
    NEVER(SYS_chmod), NEVER(SYS_chown), NEVER(SYS_lchown), NEVER(SYS_utime), NEVER(SYS_utimes), NEVER(SYS_futimesat),
#endif
    NEVER(SYS_fchmod), NEVER(SYS_fchmodat), NEVER(452 /* fchmodat2 */), NEVER(SYS_fchown), NEVER(SYS_fchownat),
    NEVER(SYS_utimensat), NEVER(SYS_setxattr), NEVER(SYS_lsetxattr), NEVER(SYS_fsetxattr), NEVER(463 /* setxattrat */),
    NEVER(SYS_removexattr), NEVER(SYS_lremovexattr), NEVER(SYS_fremovexattr), NEVER(466 /* removexattrat */),
    NONE(SYS_getxattr), NONE(SYS_lgetxattr), NONE(SYS_fgetxattr), NONE(464 /* getxattrat */),
    NONE(SYS_listxattr), NONE(SYS_llistxattr), NONE(SYS_flistxattr), NONE(465 /* listxattrat */),
    NEVER(SYS_shmget), NEVER(SYS_shmat), NEVER(SYS_shmctl), NEVER(SYS_semget), NEVER(SYS_semop), NEVER(SYS_semtimedop),
    NEVER(SYS_semctl), NEVER(SYS_msgget), NEVER(SYS_msgsnd), NEVER(SYS_msgrcv), NEVER(SYS_msgctl), NEVER(SYS_mq_open),
    NEVER(SYS_mq_unlink), NEVER(SYS_mq_timedsend), NEVER(SYS_mq_timedreceive), NEVER(SYS_mq_notify), NEVER(SYS_mq_getsetattr),
    NEVER(SYS_inotify_add_watch), NEVER(SYS_pidfd_getfd), NEVER(SYS_get_robust_list),
    ONLY(SYS_socket, 0, 1 /* AF_UNIX */, EACCES),
    ONLY(SYS_prlimit64, 0, 0, EPERM), ONLY(SYS_sched_setaffinity, 0, 0, EPERM), ONLY(SYS_sched_setscheduler, 0, 0, EPERM),
    ONLY(SYS_sched_setparam, 0, 0, EPERM), ONLY(SYS_sched_setattr, 0, 0, EPERM),
    ONLY_2(SYS_setpriority, 0 /* PRIO_PROCESS */, 0), ONLY_2(SYS_ioprio_set, 1 /* IOPRIO_WHO_PROCESS */, 0),
    IF_NOT(SYS_ioctl, 10), LOAD(args[1]),
    IF(0x5401 /* TCGETS */, 8), IF(0x5413 /* TIOCGWINSZ */, 7), IF(0x540f /* TIOCGPGRP */, 6), IF(0x541b /* FIONREAD */, 5),
    IF(0x5421 /* FIONBIO */, 4), IF(0x5450 /* FIONCLEX */, 3), IF(0x5451 /* FIOCLEX */, 2), IF(0x40049409 /* FICLONE */, 1),
    REFUSE(ENOTTY),
    ALLOW,
};
/* clang-format on */

/* The kernel copies the instructions and writes nothing back. */
static const struct sock_fprog program = {.len = TC_COUNT(code),
                                          .filter = (struct sock_filter *)code};

const struct sock_fprog *tc_seccomp_shared(void)
{
    return &program;
}
