/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "base/waited.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"

enum { NS_US = 1000, PATH_SIZE = 64, LINE_SIZE = 128 };

/* "RAN WAITED TIMES", both in nanoseconds; 0 where the kernel does not count. */
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

/* Its threads wait for one another, too: the one that waited longest stands for all. */
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
