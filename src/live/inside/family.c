/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "live/inside/family.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/sys.h"

enum { PIDS_MAX = 1 << 22, PASSES_MAX = 32 };

struct process {
    pid_t pid, parent, session;
};

/* Memory that only a session's PID 1 touches. */
static unsigned char members[PIDS_MAX / 8];

static bool is_member(pid_t pid)
{
    return pid > 0 && pid < PIDS_MAX && (members[pid / 8] & (1U << (pid % 8)));
}

static void set_member(pid_t pid, bool is)
{
    unsigned char bit = (unsigned char)(1U << (pid % 8));
    if (pid > 0 && pid < PIDS_MAX)
        members[pid / 8] = (unsigned char)(is ? members[pid / 8] | bit : members[pid / 8] & ~bit);
}

static int64_t read_number(const char **at)
{
    int64_t n = 0;
    while (**at == ' ')
        (*at)++;
    for (; **at >= '0' && **at <= '9' && n < PIDS_MAX; (*at)++)
        n = n * 10 + (**at - '0');
    return n;
}

/* Reads "PID (NAME) STATE PARENT GROUP SESSION …"; NAME may contain anything. False: the process
 * has ended. */
static bool read_process(int proc, const char *name, struct process *ret)
{
    char path[32], text[512];
    (void)snprintf(path, sizeof(path), "%.20s/stat", name);
    _autofd_ int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (n <= 0)
        return false;
    text[n] = '\0';
    const char *at = strrchr(text, ')');
    if (!at || strlen(at) < 4 || at[2] == 'Z' || at[2] == 'X')
        return false;
    const char *pid = text;
    at += 3;
    ret->pid = (pid_t)read_number(&pid);
    ret->parent = (pid_t)read_number(&at);
    (void)read_number(&at);
    ret->session = (pid_t)read_number(&at);
    return ret->pid > 1;
}

/* Marks the members in a piece of the listing; their number. */
static size_t mark_entries(int proc, const char *bytes, long length, pid_t leader)
{
    size_t marked = 0;
    for (long at = 0; at < length;) {
        const struct dirent64 *entry = (const struct dirent64 *)(const void *)(bytes + at);
        struct process p;
        at += entry->d_reclen;
        if (entry->d_name[0] < '1' || entry->d_name[0] > '9' ||
            !read_process(proc, entry->d_name, &p) || is_member(p.pid))
            continue;
        if (p.pid == leader || p.session == leader || is_member(p.parent)) {
            set_member(p.pid, true);
            marked++;
        }
    }
    return marked;
}

/* Parents mostly come before their children, so that few rounds suffice. readdir() would allocate.
 */
static size_t mark_members(pid_t leader)
{
    static char bytes[32768] __attribute__((aligned(16)));
    size_t all = 0, before;
    long n;
    _autofd_ int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    do {
        before = all;
        (void)lseek(proc, 0, SEEK_SET);
        while ((n = tc_sys(SYS_getdents64, proc, TC_ARG(bytes), sizeof(bytes), 0, 0, 0)) > 0)
            all += mark_entries(proc, bytes, n, leader);
    } while (all != before);
    return all;
}

static void signal_members(int sig)
{
    for (size_t i = 0; i < sizeof(members); i++)
        for (pid_t pid = (pid_t)i * 8; members[i]; pid++)
            if (is_member(pid)) {
                set_member(pid, false);
                (void)kill(pid, sig);
            }
}

void tc_family_signal(pid_t leader, int sig)
{
    for (int pass = 0; pass < (sig == SIGKILL ? PASSES_MAX : 1); pass++) {
        size_t count = mark_members(leader);
        /* not found: it has ended, or /proc cannot be read */
        if (!is_member(leader) && kill(-leader, sig) < 0)
            (void)kill(leader, sig);
        signal_members(sig);
        if (!count)
            return;
    }
}
