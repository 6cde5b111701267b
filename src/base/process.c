/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "base/process.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/magic.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"

enum { NS_US = 1000, PATH_SIZE = 64, LINE_SIZE = 128 };

/* "RAN WAITED TIMES", the first two in nanoseconds; 0 where the kernel does not count. */
static int64_t waited_ns(int tasks, const char *thread)
{
    char path[PATH_SIZE], line[LINE_SIZE];
    int64_t ran, waited;
    (void)snprintf(path, sizeof(path), "%.20s/schedstat", thread);
    _autofd_ int fd = openat(tasks, path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, line, sizeof(line) - 1);
    line[n > 0 ? n : 0] = '\0';
    return sscanf(line, "%" SCNd64 " %" SCNd64, &ran, &waited) == 2 && waited > 0 ? waited : 0;
}

/* Threads also wait for one another: the one that waited longest counts. */
int64_t tc_waited_us(pid_t pid)
{
    char path[PATH_SIZE];
    struct dirent *e;
    int64_t most = 0;
    (void)snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    _autodir_ DIR *tasks = tc_take_dir(open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    while (tasks && tc_next_entry(tasks, &e) > 0) {
        int64_t one = waited_ns(dirfd(tasks), e->d_name);
        most = one > most ? one : most;
    }
    return most / NS_US;
}

int64_t tc_waited_all_us(void)
{
    struct dirent *e;
    int64_t sum = 0;
    _autodir_ DIR *processes = tc_take_dir(open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    while (processes && tc_next_entry(processes, &e) > 0) {
        long pid = strtol(e->d_name, NULL, 10); /* 0: not a process */
        sum += pid > 0 && pid != getpid() ? tc_waited_us((pid_t)pid) : 0;
    }
    return sum;
}

void tc_spread(pid_t pid)
{
    cpu_set_t all, others;
    int here = sched_getcpu();
    if (here < 0 || here >= CPU_SETSIZE || sched_getaffinity(0, sizeof(all), &all) < 0)
        return;
    others = all;
    CPU_CLR((size_t)here, &others);
    if (CPU_COUNT(&others) && sched_setaffinity(pid, sizeof(others), &others) == 0)
        (void)sched_setaffinity(pid, sizeof(all), &all);
}

char *tc_self_now(void)
{
    char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
    return n < 0 ? NULL : strndup(path, (size_t)n);
}

const char *tc_self_path(void)
{
    static char *path;
    if (!path)
        path = tc_self_now();
    return path;
}

char *tc_self_beside(const char *name)
{
    _autofree_ char *self = tc_self_now(), *dir = self ? tc_path_parent(self) : NULL;
    return dir ? tc_path_join(dir, name) : NULL;
}

/* The kernel's settings are owned by the host's root, in every user namespace. */
static const char owned[] = "/proc/sys/kernel";

struct tc_root tc_host_root_user(void)
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
    /* if root has no number in the namespace, the owner of the library's directory is trusted,
     * whose code this is */
    if (st->st_uid != 0 && st->st_uid != geteuid() && st->st_uid != tc_host_root_user().uid)
        return "belongs to neither root nor the caller";
    if (st->st_mode & (S_IWGRP | S_IWOTH))
        return "can be written by its group or by others";
    return NULL;
}
