/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The slots that are the same for every backend of this machine, and too small for a file of their
 * own. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/statfs.h>

#include "backend/local/held.h"
#include "backend/local/journal.h"
#include "backend/local/local.h"
#include "backend/local/session.h"
#include "backend/local/slots.h"
#include "backend/local/spare.h"
#include "backend/local/watch.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/sys.h"

enum { PATIENCE_MS = 2000 };

bool tc_local_oomed(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    return p->group && tc_cgroup_oomed(p->group);
}

/* Has a process that was there a moment ago just ended? */
static bool has_gone(void)
{
    return errno == ENOENT || errno == ESRCH;
}

/* Adds the processor time of one process, its reaped children included, to *ticks. 1; 0: it is not
 * there; or -1 with errno. */
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

/* Sum over the cage's processes, which are the descendants of PID 1: whoever is orphaned becomes
 * its child. The cage's own /proc would list them too, but an ordinary caller's helper may not look
 * into it. A sample. */
static int64_t sampled_cpu(const struct tc_process_cage *p)
{
    struct pids all = {0};
    int64_t ticks = 0;
    bool seen = add_ticks(p->pid, &ticks) > 0 && add_children(p->pid, &all);
    for (size_t i = 0; i < all.count && seen; i++)
        seen = add_ticks(all.items[i], &ticks) >= 0 && add_children(all.items[i], &all);
    free(all.items);
    return seen ? ticks * 1000000 / sysconf(_SC_CLK_TCK) : -1;
}

int64_t tc_local_cpu_us(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    struct tc_cgroup_usage usage = {.cpu_us = -1};
    if (cage->over || p->reaped)
        return p->child_cpu_us;
    if (p->group) {
        tc_cgroup_sample(p->group);
        tc_cgroup_usage(p->group, &usage);
    }
    int64_t now = usage.cpu_us >= 0 ? usage.cpu_us : sampled_cpu(p);
    p->seen_cpu_us = now > p->seen_cpu_us ? now : p->seen_cpu_us;
    return now;
}

/* What is no PID 1 has to end the rest itself, and gets time for it. */
static int end_signal(struct tc_process_cage *p)
{
    int64_t now = tc_now_us();
    if (p->shared && !p->asked_us)
        p->asked_us = now;
    return p->shared && now - p->asked_us < PATIENCE_MS * 1000 ? TC_BOX_END : SIGKILL;
}

/* PID 1 is our child and not yet reaped, so the pid is its own. It passes SIGTERM on to everybody;
 * when it is killed the kernel ends the rest. */
void tc_local_signal(struct tc_cage *cage, bool at_once)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    if (p->pid <= 0 || p->reaped)
        return;
    if (at_once) /* whom the kernel ends with PID 1 nobody reaps, so their times would be lost */
        (void)tc_local_cpu_us(cage);
    (void)kill(p->pid, at_once ? end_signal(p) : SIGTERM);
    if (p->shared) /* somebody outside may have stopped it */
        (void)kill(p->pid, SIGCONT);
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

const char *tc_local_usage(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    struct tc_outcome *o = cage->outcome;
    struct tc_cgroup_usage u = {-1, -1, -1, -1, -1};
    if (p->group)
        tc_cgroup_usage(p->group, &u);
    tc_watcher_finish(cage);
    o->cpu_us = p->child_cpu_us > p->seen_cpu_us ? p->child_cpu_us : p->seen_cpu_us;
    o->memory_peak = u.memory_peak >= 0 ? u.memory_peak : p->max_rss;
    o->pids_peak = u.pids_peak;
    o->notice = tc_journal_notice();
    if (u.oom_kills > 0)
        return "memory";
    if (storage_full(p))
        return "disk";
    return u.pids_refused > 0 ? "pids" : NULL;
}

/* A private storage of this size is freed in less than a millisecond. */
static bool is_large(int storage)
{
    enum { BYTES = 4 << 20, FILES = 1000 };
    struct statfs s;
    return storage >= 0 && fstatfs(storage, &s) == 0 &&
           ((s.f_blocks - s.f_bfree) * (uint64_t)s.f_bsize > BYTES ||
            s.f_files - s.f_ffree > FILES);
}

bool tc_local_holds_much(const struct tc_cage *cage)
{
    const struct tc_process_cage *p = TC_PRIV(cage);
    if (!p || p->remote)
        return p != NULL;
    for (size_t i = 0; i < p->item_count; i++)
        if (is_large(p->items[i].copy))
            return true;
    return is_large(p->storage);
}

void tc_local_release(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    tc_session_let_go(p);
    int *own[] = {&p->report, &p->child_report, &p->pidfd, &p->listener, &p->box.out, &p->box.err};
    for (size_t i = 0; i < TC_COUNT(own); i++) {
        if (*own[i] >= 0)
            (void)close(*own[i]);
        *own[i] = -1;
    }
    while (p->fd_count)
        (void)close(p->fds[--p->fd_count]);
}

void tc_local_destroy(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    tc_cage_close_streams(cage);
    if (!p)
        return;
    tc_watcher_end(cage);
    tc_local_release(cage);
    tc_spare_leave(p);
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
    free(p->places);
    free(p->fds);
    tc_session_free(p);
    tc_arena_done(&p->arena);
    free(p);
    cage->priv = NULL;
}

void tc_local_close(void)
{
    struct tc_process_host *host = tc_process_host_opened();
    tc_spare_close();
    if (host)
        tc_cgroups_close(host->cgroups);
}

/* A host that could not be entered has no groups, nor had another of this kind. */
unsigned tc_local_sweep(void)
{
    const struct tc_process_host *host = tc_process_host_opened();
    return tc_journal_sweep() + tc_held_sweep() + tc_session_sweep() +
           (host ? tc_cgroups_sweep(host->cgroups) : 0);
}
