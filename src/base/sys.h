/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * System calls without a libc wrapper, or whose failure tests inject. All code that builds or
 * ends a cage calls tc_sys(), so one hook can make the n-th call fail. Usable in a freshly
 * cloned child: no allocation, no locks. */
#ifndef TC_BASE_SYS_H
#define TC_BASE_SYS_H

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

/* As syscall(2). With TC_FAULTS in the build, tests/ replace it by one that fails on demand. */
long tc_sys(long nr, long a, long b, long c, long d, long e, long f);

#define TC_ARG(x) ((long)(uintptr_t)(x))

static inline pid_t tc_clone3(struct clone_args *args)
{
    return (pid_t)tc_sys(SYS_clone3, TC_ARG(args), sizeof(*args), 0, 0, 0, 0);
}

/* A child and its pidfd, created together, where clone3 is refused (docker's filter returns
 * ENOSYS). */
static inline pid_t tc_fork(int *ret_pidfd)
{
    return (pid_t)tc_sys(SYS_clone, CLONE_PIDFD | SIGCHLD, 0, TC_ARG(ret_pidfd), 0, 0, 0);
}

static inline int tc_pidfd_open(pid_t pid)
{
    return (int)tc_sys(SYS_pidfd_open, pid, 0, 0, 0, 0, 0);
}

/* A copy of another process's fd. */
static inline int tc_pidfd_getfd(int pidfd, int fd)
{
    return (int)tc_sys(SYS_pidfd_getfd, pidfd, fd, 0, 0, 0, 0);
}

/* The kernel aborts a scoped walk over ".." (EAGAIN) whenever any process on the host renames or
 * mounts something meanwhile, whatever the path. Retries are bounded, so that a process that
 * renames endlessly cannot block us. */
static inline int tc_openat2(int dirfd, const char *path, const struct open_how *how)
{
    enum { TRIES = 128 };
    int fd = -1;
    for (int i = 0; i < TRIES; i++) {
        fd = (int)tc_sys(SYS_openat2, dirfd, TC_ARG(path), TC_ARG(how), sizeof(*how), 0, 0);
        if (fd >= 0 || errno != EAGAIN)
            break;
    }
    return fd;
}

static inline int tc_open_tree(int dirfd, const char *path, unsigned flags)
{
    return (int)tc_sys(SYS_open_tree, dirfd, TC_ARG(path), (long)flags, 0, 0, 0);
}

/* Attaches the mount `fd` at dirfd/path. */
static inline int tc_move_mount(int fd, int dirfd, const char *path)
{
    unsigned flags = MOVE_MOUNT_F_EMPTY_PATH | (path[0] ? 0 : MOVE_MOUNT_T_EMPTY_PATH);
    return (int)tc_sys(SYS_move_mount, fd, TC_ARG(""), dirfd, TC_ARG(path), (long)flags, 0);
}

static inline int tc_mount_setattr(int fd, unsigned flags, const struct mount_attr *attr)
{
    return (int)tc_sys(SYS_mount_setattr, fd, TC_ARG(""), (long)(flags | AT_EMPTY_PATH),
                       TC_ARG(attr), sizeof(*attr), 0);
}

static inline int tc_fsopen(const char *type)
{
    return (int)tc_sys(SYS_fsopen, TC_ARG(type), FSOPEN_CLOEXEC, 0, 0, 0, 0);
}

static inline int tc_fsconfig(int fs, unsigned command, const char *key, const char *value)
{
    return (int)tc_sys(SYS_fsconfig, fs, (long)command, TC_ARG(key), TC_ARG(value), 0, 0);
}

static inline int tc_fsmount(int fs, unsigned attributes)
{
    return (int)tc_sys(SYS_fsmount, fs, FSMOUNT_CLOEXEC, (long)attributes, 0, 0, 0);
}

static inline int tc_pivot_root(const char *new_root, const char *put_old)
{
    return (int)tc_sys(SYS_pivot_root, TC_ARG(new_root), TC_ARG(put_old), 0, 0, 0, 0);
}

static inline int tc_close_range(unsigned first, unsigned last, unsigned flags)
{
    return (int)tc_sys(SYS_close_range, first, last, (long)flags, 0, 0, 0);
}

/* No capability in any set of the calling thread. */
static inline int tc_clear_capabilities(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {0};
    return (int)tc_sys(SYS_capset, TC_ARG(&header), TC_ARG(none), 0, 0, 0, 0);
}

#endif
