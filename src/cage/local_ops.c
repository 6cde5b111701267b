/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Small operations that all local backends share. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/sys.h"
#include "cage/cage.h"
#include "cage/proxy.h"
#include "cage/spare.h"
#include "cage/worker.h"
#include "observe/observe.h"
#include "workspace/held.h"
#include "workspace/journal.h"
#include "workspace/layer.h"
#include "workspace/session.h"

/* PID 1 is an unreaped child, so its pid is valid. PID 1 forwards SIGTERM to all processes; if PID
 * 1 is killed, the kernel kills the rest. */
void tc_local_signal(struct tc_cage *cage, bool at_once)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    if (p->child.pid <= 0 || p->child.reaped)
        return;
    tc_worker_ends(p);
    if (at_once) {
        tc_limits_end(cage);
        tc_proxy_kill(cage);
    }
    (void)kill(p->child.pid, at_once ? SIGKILL : SIGTERM);
}

/* A supervisor inside the cage enforces CPU time with SIGXCPU, like the kernel's rlimit. */
static bool spent_its_time(const struct tc_cage *cage)
{
    int64_t most = cage->plan->limits.cpu_time_ms;
    int64_t used = cage->outcome->cpu_us + 1000; /* its clock has a resolution of 1 ms */
    return most && cage->outcome->signal == SIGXCPU && used >= tc_us_of_ms(most);
}

/* The signals with which a runtime aborts on a failed allocation; there is no better indication. */
static bool gave_up(const struct tc_outcome *o)
{
    return o->signal == SIGABRT || o->signal == SIGTRAP;
}

/* Some runtimes, above all Node.js, reserve far more memory than they use. */
static void note_reserved(struct tc_cage *cage)
{
    struct tc_outcome *o = cage->outcome;
    const struct tc_process_cage *p = TC_PRIV(cage);
    if (!cage->plan->limits.memory_any || (p->group && p->group_limits.memory) || !gave_up(o))
        return;
    tc_outcome_note(
        o,
        strdup("there is no cgroup here, so the memory limit applied to each process and counted "
               "reserved memory, not used memory: grant more, or run toolcage in a delegated "
               "cgroup (toolcage doctor), which sanitizers and Deno need"));
}

/* The tool could send itself this signal; then it only misleads its own reader. */
static bool exceeded_file_size(const struct tc_cage *cage)
{
    const struct tc_init_config *init = &TC_PRIV(cage)->init;
    size_t i = 0;
    while (i < init->limit_count && init->limits[i].resource != RLIMIT_FSIZE)
        i++;
    if (i == init->limit_count || cage->outcome->signal != SIGXFSZ)
        return false;
    tc_outcome_note(cage->outcome,
                    tc_format("a file may have at most %lld bytes here, the larger of `disk` and "
                              "`memory`",
                              (long long)init->limits[i].value.rlim_max));
    return true;
}

const char *tc_local_usage(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    struct tc_outcome *o = cage->outcome;
    struct tc_cgroup_usage u = {-1, -1, -1, -1, -1};
    if (p->group)
        tc_cgroup_usage(p->group, &u);
    tc_watcher_finish(cage);
    char *notice = tc_journal_notice(); /* before the network's notices */
    if (notice) {
        free(o->notice);
        o->notice = notice;
    }
    tc_proxy_finish(cage);
    note_reserved(cage);
    int64_t own = p->child.cpu_us - p->earlier_cpu_us;
    o->cpu_us = own > p->seen_cpu_us ? own : p->seen_cpu_us;
    o->memory_peak = u.memory_peak >= 0 ? u.memory_peak : p->child.max_rss;
    o->pids_peak = u.pids_peak;
    if (spent_its_time(cage))
        return "cpu_time";
    if (u.oom_kills > 0)
        return "memory";
    if (p->looks.filled || tc_workspace_full(&p->trees) || exceeded_file_size(cage))
        return "disk";
    if (tc_proxy_spent(cage))
        return "transfer";
    return u.pids_refused > 0 ? "pids" : NULL;
}

/* Releases resources of this cage only. */
static void release(struct tc_process_cage *p, void (*trees)(struct tc_trees *))
{
    tc_session_let_go(&p->workspace);
    int *own[] = {&p->child.report, &p->child.theirs, &p->child.pidfd, &p->talk,
                  &p->init.talk,    &p->init.out,     &p->init.err};
    for (size_t i = 0; i < TC_COUNT(own); i++) {
        if (*own[i] >= 0)
            (void)close(*own[i]);
        *own[i] = -1;
    }
    tc_observe_release(&p->observer);
    tc_layers_remove(&p->workspace);
    trees(&p->trees);
    p->released = true;
}

static void drop_cage(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    tc_watcher_end(cage);
    tc_proxy_end(cage);
    tc_buf_done(&p->trusted);
    release(p, tc_trees_release);
    tc_worker_leave(p);
    tc_spare_leave(p);
    if (p->host)
        tc_tree_reap_holders(p->trees.host);
    if (p->group)
        (void)tc_cgroup_give(p->group);
    if (p->trees.id != (uid_t)-1)
        tc_ids_give(&p->host->ids, p->trees.id);
    tc_workspace_done(&p->workspace);
    tc_trees_done(&p->trees);
    tc_pool_want(TAKE(p->next), false);
    free(p);
    if (cage->begun_us) /* a call, which has been answered */
        tc_pool_answered();
    cage->priv = NULL;
    cage->trees = NULL;
    cage->workspace = NULL;
    cage->observer = NULL;
}

bool tc_local_destroy(struct tc_cage *cage, enum tc_may_block may_block)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    bool large = p && !p->released && (p->trees.remote || tc_workspace_large(cage));
    if (large && may_block == TC_BLOCK_YES) {
        tc_worker_forget_root(p);
        release(p, tc_trees_put_away);
    }
    if (large)
        return false;
    tc_cage_close_streams(cage);
    if (p)
        drop_cage(cage);
    return true;
}

static void close_host(void)
{
    tc_pool_close();
    tc_proxy_close();
    tc_journal_close();
    tc_cgroups_close(tc_process_host_known()->cgroups);
}

/* A helper that could not enter its namespaces has created no cgroups, nor have earlier helpers
 * here. */
static unsigned sweep(void)
{
    const struct tc_process_host *host = tc_process_host_opened();
    return tc_journal_sweep() + tc_held_sweep() + tc_session_sweep() + tc_layers_sweep() +
           (host ? tc_cgroups_sweep(host->cgroups) : 0);
}

const struct tc_host_ops tc_local_host_ops = {
    .open = tc_process_ahead, .tick = tc_process_tick, .sweep = sweep, .close = close_host};
