/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * sysinfo() reports the call's memory limit where that is less than the host's memory: programs
 * that size themselves by the memory of the machine (a JVM's heap, a sort's buffer) would exceed
 * the limit. */
#include <fcntl.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "observe/watch.h"

static unsigned long least(unsigned long a, unsigned long b)
{
    return a < b ? a : b;
}

/* The host's values, within the limit. False: they are below it anyway. */
static bool within_limit(int64_t limit, struct sysinfo *ret)
{
    if (limit <= 0 || sysinfo(ret) < 0 || !ret->mem_unit)
        return false;
    unsigned long most = (unsigned long)limit / ret->mem_unit;
    if (ret->totalram <= most)
        return false;
    ret->totalram = most;
    ret->freeram = least(ret->freeram, most);
    ret->sharedram = least(ret->sharedram, most);
    ret->bufferram = least(ret->bufferram, most);
    ret->totalswap = ret->freeswap = 0; /* a cage has none */
    return true;
}

bool tc_notify_memory(const struct tc_cage *cage, int listener, const struct seccomp_notif *n)
{
    struct sysinfo info;
    char path[32];
    if (!within_limit(cage->plan->limits.memory, &info))
        return false;
    (void)snprintf(path, sizeof(path), "/proc/%u/mem", n->pid);
    _autofd_ int fd = open(path, O_WRONLY | O_CLOEXEC);
    /* the fd stays with this memory, so the pid cannot be another process's after the check */
    return fd >= 0 && tc_notify_waits(listener, n) &&
           pwrite(fd, &info, sizeof(info), (off_t)n->data.args[0]) == (ssize_t)sizeof(info);
}
