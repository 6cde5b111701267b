/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Reads the resource usage of a cage's processes from /proc. */
#include "cage/cage.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/strv.h"

/* Did the process end meanwhile? */
static bool has_gone(void)
{
    return errno == ENOENT || errno == ESRCH;
}

/* Adds the CPU time of a process and its reaped children to *ticks. 1; 0: the process does not
 * exist; -1 with errno. */
static int add_ticks(pid_t pid, int64_t *ticks)
{
    char path[32];
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    long long times[4];
    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    if (tc_read_file(AT_FDCWD, path, &text) < 0)
        return has_gone() ? 0 : -1;
    const char *after = strrchr(text.data, ')');
    if (after && sscanf(after, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lld %lld %lld %lld",
                        &times[0], &times[1], &times[2], &times[3]) == 4)
        *ticks += times[0] + times[1] + times[2] + times[3];
    return 1;
}

struct pids {
    pid_t *items;
    size_t count;
};

static bool add_list(const char *text, struct pids *all)
{
    char *end;
    for (long child; (child = strtol(text, &end, 10)) > 0; text = end) {
        pid_t *slot = TC_PUSH(all->items, all->count);
        if (!slot)
            return false;
        *slot = (pid_t)child;
    }
    return true;
}

/* Adds the children of every thread of a process. */
static bool add_children(pid_t pid, struct pids *all)
{
    char path[32];
    (void)snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    _autodir_ DIR *dir = opendir(path);
    struct dirent *e;
    int more = dir || has_gone() ? 0 : -1;
    while (dir && (more = tc_next_entry(dir, &e)) > 0) {
        _autobuf_ struct tc_buf text = TC_BUF_INIT;
        char children[32];
        (void)snprintf(children, sizeof(children), "%.16s/children", e->d_name);
        if (e->d_name[0] == '.')
            continue;
        if (tc_read_file(dirfd(dir), children, &text) < 0 ? !has_gone()
                                                          : text.data && !add_list(text.data, all))
            return false;
    }
    return more == 0 || has_gone();
}

/* Lists PID 1 and its descendants; orphans become children of PID 1. The cage's own /proc lists the
 * same processes, but an ordinary user's helper may not read it. */
static bool list_all(pid_t pid, struct pids *all)
{
    pid_t *first = TC_PUSH(all->items, all->count);
    if (!first)
        return false;
    *first = pid;
    for (size_t i = 0; i < all->count; i++)
        if (!add_children(all->items[i], all))
            return false;
    return true;
}

int64_t tc_sample_cpu(pid_t pid)
{
    struct pids all = {0};
    int64_t ticks = 0;
    bool seen = list_all(pid, &all);
    for (size_t i = 0; i < all.count && seen; i++) {
        int rc = add_ticks(all.items[i], &ticks);
        seen = rc > 0 || (rc == 0 && i > 0);
    }
    free(all.items);
    return seen ? ticks * 1000000 / sysconf(_SC_CLK_TCK) : -1;
}

/* ---- shared memory ---- */

/* The value of a line in a /proc/PID file, converted from kB to bytes; -1: unreadable. */
static int64_t field(pid_t pid, const char *file, const char *name)
{
    char path[48];
    long long kilobytes = 0;
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    (void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
    if (tc_read_file(AT_FDCWD, path, &text) < 0 || !text.data)
        return has_gone() ? 0 : -1;
    const char *line = strstr(text.data, name);
    if (line && sscanf(line + strlen(name), " %lld", &kilobytes) != 1)
        return -1;
    return kilobytes * 1024;
}

/* Mapped shared memory: if the plain sum exceeds the limit, each process's proportional share (Pss)
 * where the kernel provides it. */
static int64_t mapped(const struct pids *all, int64_t limit)
{
    int64_t most = 0, shares = 0;
    for (size_t i = 0; i < all->count; i++) {
        int64_t bytes = field(all->items[i], "status", "\nRssShmem:");
        most += bytes > 0 ? bytes : 0;
    }
    if (most <= limit)
        return most;
    for (size_t i = 0; i < all->count; i++) {
        int64_t share = field(all->items[i], "smaps_rollup", "\nPss_Shmem:");
        if (share < 0)
            share = field(all->items[i], "status", "\nRssShmem:");
        shares += share > 0 ? share : 0;
    }
    return shares;
}

struct seen {
    struct file {
        dev_t dev;
        ino_t ino;
    } * files;
    size_t count;
    int64_t bytes;
};

static void add_file(struct seen *seen, const struct stat *st)
{
    for (size_t i = 0; i < seen->count; i++)
        if (seen->files[i].ino == st->st_ino && seen->files[i].dev == st->st_dev)
            return;
    struct file *file = TC_PUSH(seen->files, seen->count);
    if (file)
        *file = (struct file){st->st_dev, st->st_ino};
    seen->bytes += (int64_t)st->st_blocks * 512;
}

/* Adds memfd files, which have no name. Skips processes that may not be inspected. */
static void add_unnamed(pid_t pid, struct seen *seen)
{
    static const char memory[] = "/memfd:";
    char path[32], target[sizeof(memory)];
    (void)snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
    _autodir_ DIR *dir = opendir(path);
    struct dirent *e;
    struct stat st;
    while (dir && tc_next_entry(dir, &e) > 0) {
        ssize_t n = readlinkat(dirfd(dir), e->d_name, target, sizeof(target));
        if (n >= (ssize_t)sizeof(memory) - 1 && memcmp(target, memory, sizeof(memory) - 1) == 0 &&
            fstatat(dirfd(dir), e->d_name, &st, 0) == 0)
            add_file(seen, &st);
    }
}

int64_t tc_sample_shared(pid_t pid, int64_t limit)
{
    struct pids all = {0};
    struct seen seen = {0};
    if (list_all(pid, &all))
        for (size_t i = 0; i < all.count; i++)
            add_unnamed(all.items[i], &seen);
    int64_t most = mapped(&all, limit);
    free(all.items);
    free(seen.files);
    return most > seen.bytes ? most : seen.bytes;
}
