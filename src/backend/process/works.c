/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The process backend's works: the slots that are too small for a file of their own. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/statfs.h>

#include "backend/process/process.h"
#include "backend/process/works.h"
#include "base/fd.h"
#include "base/sys.h"

static bool oomed(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    return p->group && tc_cgroup_oomed(p->group);
}

/* Adds the processor time of one process, its reaped children included, to *ticks. */
static void add_ticks(pid_t pid, int64_t *ticks)
{
    char path[32];
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    long long times[4];
    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    if (tc_read_file(AT_FDCWD, path, &text) < 0)
        return;
    const char *after = strrchr(text.data, ')');
    if (after && sscanf(after, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lld %lld %lld %lld",
                        &times[0], &times[1], &times[2], &times[3]) == 4)
        *ticks += times[0] + times[1] + times[2] + times[3];
}

struct pids {
    pid_t *items;
    size_t count;
};

/* Adds the children of every thread of a process. */
static bool add_children(pid_t pid, struct pids *all)
{
    char path[32], children[32];
    (void)snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    _autodir_ DIR *dir = opendir(path);
    struct dirent *e;
    while (dir && (e = readdir(dir))) {
        _autobuf_ struct tc_buf text = TC_BUF_INIT;
        (void)snprintf(children, sizeof(children), "%.16s/children", e->d_name);
        if (e->d_name[0] == '.' || tc_read_file(dirfd(dir), children, &text) < 0)
            continue;
        char *end = text.data;
        for (char *at = end; at && *at; at = end) {
            long child = strtol(at, &end, 10);
            pid_t *slot = end == at ? NULL : TC_PUSH(all->items, all->count);
            if (!slot)
                break;
            *slot = (pid_t)child;
        }
    }
    return dir != NULL;
}

/* Sum over the cage's processes, which are the descendants of PID 1: whoever is orphaned becomes
 * its child. The cage's own /proc would list them too, but an ordinary caller's helper may not look
 * into it. A sample. */
static int64_t sampled_cpu(const struct tc_process_cage *p)
{
    struct pids all = {0};
    int64_t ticks = 0;
    bool seen = add_children(p->pid, &all);
    for (size_t i = 0; i < all.count; i++) {
        (void)add_children(all.items[i], &all);
        add_ticks(all.items[i], &ticks);
    }
    add_ticks(p->pid, &ticks);
    free(all.items);
    return seen ? ticks * 1000000 / sysconf(_SC_CLK_TCK) : -1;
}

static int64_t cpu_us(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    struct tc_cgroup_usage usage = {.cpu_us = -1};
    if (p->reaped)
        return p->child_cpu_us;
    if (p->group) {
        tc_cgroup_sample(p->group);
        tc_cgroup_usage(p->group, &usage);
    }
    int64_t now = usage.cpu_us >= 0 ? usage.cpu_us : sampled_cpu(p);
    p->seen_cpu_us = now > p->seen_cpu_us ? now : p->seen_cpu_us;
    return now;
}

static void end(struct tc_cage *cage, bool kill)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    /* whom the kernel ends with PID 1 nobody reaps, so their times would be lost */
    if (kill && p->pid > 0 && !p->reaped)
        (void)cpu_us(cage);
    /* PID 1 passes SIGTERM on to everybody; when it is killed the kernel ends the rest */
    if (p->pidfd >= 0)
        (void)tc_pidfd_signal(p->pidfd, kill ? SIGKILL : SIGTERM);
}

/* Is the private storage full, in bytes or in files? */
static bool full(int fd)
{
    struct statfs s;
    return fd >= 0 && fstatfs(fd, &s) == 0 && (s.f_bfree == 0 || s.f_ffree == 0);
}

static bool storage_full(const struct tc_process_cage *p)
{
    for (size_t i = 0; i < p->item_count; i++)
        if (full(p->items[i].copy))
            return true;
    return full(p->storage);
}

static const char *usage(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    struct tc_outcome *o = cage->outcome;
    struct tc_cgroup_usage u = {-1, -1, -1, -1, -1};
    if (p->group)
        tc_cgroup_usage(p->group, &u);
    o->cpu_us = p->child_cpu_us > p->seen_cpu_us ? p->child_cpu_us : p->seen_cpu_us;
    o->memory_peak = u.memory_peak >= 0 ? u.memory_peak : p->max_rss;
    o->pids_peak = u.pids_peak;
    if (u.oom_kills > 0)
        return "memory";
    if (storage_full(p))
        return "disk";
    return u.pids_refused > 0 ? "pids" : NULL;
}

static void close_fds(struct tc_process_cage *p)
{
    int own[] = {p->report, p->child_report, p->pidfd, p->listener, p->box.out, p->box.err};
    for (size_t i = 0; i < TC_COUNT(own); i++)
        if (own[i] >= 0)
            (void)close(own[i]);
    for (size_t i = 0; i < p->fd_count; i++)
        (void)close(p->fds[i]);
}

static void destroy(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    tc_cage_close_streams(cage);
    if (!p)
        return;
    if (p->pid > 0 && !p->reaped) {
        end(cage, true);
        tc_process_reap(cage);
    }
    close_fds(p);
    if (p->host)
        tc_process_reap_carriers(p->host);
    if (p->group)
        (void)tc_cgroup_give(p->group);
    if (p->id != (uid_t)-1)
        tc_ids_give(&p->host->ids, p->id);
    tc_resolver_done(&p->resolver);
    free(p->mounts);
    free(p->masked);
    free(p->copied);
    free(p->fds);
    tc_arena_done(&p->arena);
    free(p);
    cage->priv = NULL;
}

static void close_host(void)
{
    struct tc_process_host *host = tc_process_host_opened();
    if (host)
        tc_cgroups_close(host->cgroups);
}

static unsigned sweep(void)
{
    struct tc_outcome outcome = {0};
    struct tc_process_host *host;
    unsigned removed =
        tc_process_host_get(&outcome, &host) == 0 ? tc_cgroups_sweep(host->cgroups) : 0;
    tc_outcome_done(&outcome);
    return removed;
}

/* A clause that nothing holds is found before anything runs. */
static int start(struct tc_cage *cage)
{
    return tc_process_enforced(cage) < 0 ? -1 : tc_process_start(cage);
}

const struct tc_works tc_process_works = {
    .name = "process",
    .probe = tc_process_probe,
    .prepare = tc_process_prepare,
    .start = start,
    .event = tc_process_event,
    .notify = tc_process_notify,
    .oomed = oomed,
    .signal = end,
    .reap = tc_process_reap,
    .cpu_us = cpu_us,
    .usage = usage,
    .collect = tc_process_collect,
    .collected = tc_process_collected,
    .destroy = destroy,
    .open = tc_process_ahead,
    .close = close_host,
    .sweep = sweep,
};
