/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "linux/userns.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/stacks.h"
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

enum { STACK = 16 << 10 };

/* The process that holds a user namespace until its fd is open. It shares the helper's memory and
 * fds, so it makes only system calls. It ends with the helper, also if the helper is killed now. */
static int carry(void *arg)
{
    const pid_t *parent = arg;
    (void)syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    while (syscall(SYS_getppid) == *parent)
        (void)syscall(SYS_pause);
    return 0;
}

static int begin_holder(struct tc_userns_holder *c)
{
    c->pid = -1;
    c->stack =
        mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (c->stack == MAP_FAILED)
        return -1;
    pid_t *parent = c->stack; /* at its far end */
    *parent = getpid();
    c->pid = clone(carry, (char *)c->stack + STACK,
                   CLONE_VM | CLONE_FILES | CLONE_NEWUSER | SIGCHLD, parent);
    return c->pid < 0 ? -1 : 0;
}

void tc_userns_holder_reap(struct tc_userns_holder *c)
{
    while (c->pid > 0 && waitpid(c->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    c->pid = -1;
    if (c->stack != MAP_FAILED)
        tc_stack_free(c->stack, STACK);
    c->stack = MAP_FAILED;
}

int tc_idmap_userns(uid_t file_uid, gid_t file_gid, uid_t cage_uid, gid_t cage_gid,
                    struct tc_userns_holder *ret_holder)
{
    if (begin_holder(ret_holder) < 0)
        return -1;
    char proc[16], path[64], uid_map[TC_ID_MAP_SIZE], gid_map[TC_ID_MAP_SIZE];
    (void)snprintf(proc, sizeof(proc), "%d", (int)ret_holder->pid);
    (void)snprintf(path, sizeof(path), "/proc/%s/ns/user", proc);
    tc_id_map(uid_map, file_uid, cage_uid);
    tc_id_map(gid_map, file_gid, cage_gid);
    int fd = -1;
    if (tc_write_id_maps(proc, uid_map, gid_map, 0) == 0)
        fd = open(path, O_RDONLY | O_CLOEXEC);
    int saved = errno;
    (void)kill(ret_holder->pid, SIGKILL); /* our child, not yet reaped */
    errno = saved;
    return fd;
}

/* Outside of a chroot "/" is the root of a mount. */
bool tc_userns_chrooted(void)
{
    struct statx st, first;
    if (statx(AT_FDCWD, "/", 0, STATX_INO, &st) < 0 ||
        !(st.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT))
        return false;
    bool elsewhere = statx(AT_FDCWD, "/proc/1/root", 0, STATX_INO, &first) == 0 &&
                     (first.stx_ino != st.stx_ino || first.stx_dev_minor != st.stx_dev_minor ||
                      first.stx_dev_major != st.stx_dev_major);
    return !(st.stx_attributes & STATX_ATTR_MOUNT_ROOT) || elsewhere;
}
