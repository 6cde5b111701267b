/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "footprint.h"

#include <ctype.h>
#include <dirent.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "bench.h"

enum { HELPER_HOST_FD = 4, PROCESSES_MAX = 4096 };

struct process {
    int pid, parent;
};

/* The number after `field` in /proc/PID/NAME, or -1. */
static long proc_field(int pid, const char *name, const char *field)
{
    char path[64], line[256];
    long value = -1;
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
    f = fopen(path, "re");
    while (f && value < 0 && fgets(line, sizeof(line), f))
        if (strncmp(line, field, strlen(field)) == 0)
            value = strtol(line + strlen(field), NULL, 10);
    if (f)
        fclose(f);
    return value;
}

static long count_fds(int pid)
{
    char path[64];
    struct dirent *entry;
    long count = 0;
    DIR *dir;

    snprintf(path, sizeof(path), "/proc/%d/fd", pid);
    dir = opendir(path);
    if (!dir)
        return 0;
    while ((entry = readdir(dir)))
        count += entry->d_name[0] != '.';
    closedir(dir);
    return count - (pid == getpid()); /* the directory's own */
}

/* rollup, not VmRSS: that one lags behind by up to 64 pages a thread. */
static long resident_kib(int pid)
{
    long kib = proc_field(pid, "smaps_rollup", "Rss:");

    return kib < 0 ? 0 : kib;
}

static size_t list_processes(struct process *list)
{
    DIR *proc = opendir("/proc");
    struct dirent *entry;
    size_t count = 0;

    while (proc && count < PROCESSES_MAX && (entry = readdir(proc))) {
        if (!isdigit((unsigned char)entry->d_name[0]))
            continue;
        list[count].pid = (int)strtol(entry->d_name, NULL, 10);
        list[count].parent = (int)proc_field(list[count].pid, "status", "PPid:");
        count++;
    }
    if (proc)
        closedir(proc);
    return count;
}

/* The helper holds a pidfd of its host as descriptor 4, whatever it is called. Its children may
 * have inherited that: the first one counts. */
static int find_helper(const struct process *list, size_t count)
{
    char name[32];

    snprintf(name, sizeof(name), "fdinfo/%d", HELPER_HOST_FD);
    for (size_t i = 0; i < count; i++)
        if (list[i].pid != getpid() && proc_field(list[i].pid, name, "Pid:") == getpid())
            return list[i].pid;
    return 0;
}

static bool descends(const struct process *list, size_t count, int pid, int ancestor)
{
    for (int hops = 0; pid > 1 && hops < 64; hops++) {
        if (pid == ancestor)
            return true;
        size_t i = 0;

        while (i < count && list[i].pid != pid)
            i++;
        pid = i < count ? list[i].parent : 0;
    }
    return false;
}

struct footprint_mean footprint_of(const char *name)
{
    static struct process list[PROCESSES_MAX];
    struct footprint_mean sum = {0};
    size_t count = list_processes(list);
    int helper = find_helper(list, count);

    for (size_t i = 0; helper && i < count; i++) {
        char path[64], word[64] = "";
        FILE *f;

        snprintf(path, sizeof(path), "/proc/%d/comm", list[i].pid);
        f = fopen(path, "re");
        if (f && fgets(word, sizeof(word), f))
            word[strcspn(word, "\n")] = '\0';
        if (f)
            fclose(f);
        if (strcmp(word, name) != 0 || !descends(list, count, list[i].pid, helper))
            continue;
        sum.count++;
        sum.resident_kib += resident_kib(list[i].pid);
        sum.shared_out_kib += proc_field(list[i].pid, "smaps_rollup", "Pss:");
        sum.private_kib += proc_field(list[i].pid, "smaps_rollup", "Private_Clean:") +
                           proc_field(list[i].pid, "smaps_rollup", "Private_Dirty:");
    }
    if (sum.count) {
        sum.resident_kib /= sum.count;
        sum.shared_out_kib /= sum.count;
        sum.private_kib /= sum.count;
    }
    return sum;
}

static long groups_seen;

static int count_group(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    groups_seen += kind == FTW_D && strstr(path, "toolcage") != NULL;
    return 0;
}

struct footprint footprint_take(void)
{
    static struct process list[PROCESSES_MAX];
    size_t count = list_processes(list);
    int helper = find_helper(list, count);
    struct footprint now = {.host_kib = resident_kib(getpid()), .host_fds = count_fds(getpid())};

    for (size_t i = 0; helper && i < count; i++) {
        if (!descends(list, count, list[i].pid, helper))
            continue;
        now.helper_processes++;
        now.helper_kib += resident_kib(list[i].pid);
        now.helper_fds += count_fds(list[i].pid);
    }
    groups_seen = 0;
    nftw("/sys/fs/cgroup", count_group, 32, FTW_PHYS);
    now.groups = groups_seen;
    return now;
}
