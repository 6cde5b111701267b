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
#include "backend/local/proxy.h"
#include "backend/local/sample.h"
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
    int64_t now = usage.cpu_us >= 0 ? usage.cpu_us : tc_sample_cpu(p->pid);
    p->seen_cpu_us = now > p->seen_cpu_us ? now : p->seen_cpu_us;
    return now;
}

/* Does nothing bound what its processes share, so that it has to be looked for? */
static bool is_sampled(const struct tc_process_cage *p)
{
    bool bounded = p->group && p->group_limits.memory;
    return !bounded && !(p->form && p->form->sentry);
}

int64_t tc_local_segments_max(const struct tc_cage *cage)
{
    const struct tc_process_cage *p = TC_PRIV(cage);
    const struct tc_limits *l = &cage->plan->limits;
    return l->memory_any && !p->shared && is_sampled(p) ? l->memory : 0;
}

int64_t tc_local_shared_bytes(struct tc_cage *cage)
{
    const struct tc_process_cage *p = TC_PRIV(cage);
    if (cage->over || p->reaped || !is_sampled(p))
        return 0;
    int64_t seen = tc_sample_shared(p->pid, cage->plan->limits.memory);
    return seen > p->segments ? seen : p->segments;
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
    tc_proxy_finish(cage);
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
    tc_proxy_end(cage);
    tc_buf_done(&p->trusted);
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
    tc_proxy_close();
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
