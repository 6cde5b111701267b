/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "linux/userns.h"

#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/sys.h"

void tc_id_map(char out[TC_ID_MAP_SIZE], unsigned inside, unsigned outside)
{
    (void)snprintf(out, TC_ID_MAP_SIZE, "%u %u 1\n", inside, outside);
}

static int write_one(const char *proc, const char *file, const char *text)
{
    char path[64] = "/proc/";
    char *end = stpcpy(path + strlen("/proc/"), proc);
    *end++ = '/';
    (void)stpcpy(end, file);
    return tc_write_file(AT_FDCWD, path, text);
}

int tc_write_id_maps(const char *proc, const char *uid_map, const char *gid_map, int deny_setgroups)
{
    if (deny_setgroups && write_one(proc, "setgroups", "deny") < 0)
        return -1;
    if (write_one(proc, "uid_map", uid_map) < 0)
        return -1;
    return write_one(proc, "gid_map", gid_map);
}

int tc_idmap_userns(uid_t file_uid, gid_t file_gid, uid_t cage_uid, gid_t cage_gid,
                    pid_t *ret_carrier)
{
    int pidfd = -1;
    struct clone_args args = {.flags = CLONE_NEWUSER | CLONE_PIDFD | CLONE_CLEAR_SIGHAND,
                              .pidfd = (uintptr_t)&pidfd,
                              .exit_signal = SIGCHLD};
    pid_t parent = getpid(), pid = tc_clone3(&args);
    *ret_carrier = -1;
    if (pid < 0)
        return -1;
    if (pid == 0) { /* whoever kills the helper just now must not leave this behind */
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        while (getppid() == parent)
            (void)pause();
        _exit(0);
    }
    _autofd_ int owned = pidfd;
    char proc[16], path[64], uid_map[TC_ID_MAP_SIZE], gid_map[TC_ID_MAP_SIZE];
    (void)snprintf(proc, sizeof(proc), "%d", (int)pid);
    (void)snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)pid);
    tc_id_map(uid_map, file_uid, cage_uid);
    tc_id_map(gid_map, file_gid, cage_gid);
    int fd = -1;
    if (tc_write_id_maps(proc, uid_map, gid_map, 0) == 0)
        fd = open(path, O_RDONLY | O_CLOEXEC);
    int saved = errno;
    (void)tc_pidfd_signal(owned, SIGKILL);
    *ret_carrier = pid;
    errno = saved;
    return fd;
}
