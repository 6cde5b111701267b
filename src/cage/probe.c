/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The doctor's probe: builds a real cage with every clause, which runs a program that always
 * exists. A failure names its clause. Cgroups are probed per controller. */
#include <string.h>

#include "base/sys.h"
#include "cage/cage.h"
#include "cage/proxy.h"
#include "observe/observe.h"

static struct tc_probe *row(struct tc_outcome *o, const struct tc_cage *probe, int clause)
{
    struct tc_probe *p = TC_PUSH(o->probes, o->probe_count);
    if (p)
        *p = (struct tc_probe){
            .backend = strdup(probe->executor->name), .clause = clause, .works = true};
    return p;
}

static void set_broken(struct tc_probe *p, const char *reason, const char *fix)
{
    p->works = false;
    p->reason = strdup(reason ? reason : "");
    p->fix = strdup(fix ? fix : "");
}

/* The smallest cage: no granted path, and a program that every host has. If the program is missing,
 * the sandbox still counts as complete. */
bool tc_process_probe_plan(const struct tc_executor *executor, struct tc_plan *plan)
{
    static const char *const system[] = {"/usr", "/bin", "/lib", "/lib64", "/etc/ld.so.cache"};
    *plan = (struct tc_plan){.clauses = tc_clauses_always() | TC_CLAUSE_BIT(TC_CLAUSE_NET_NONE),
                             .limits = {.timeout_ms = 5000,
                                        .memory = 64 << 20,
                                        .memory_any = true,
                                        .pids = 16,
                                        .disk = 1 << 20,
                                        .inodes = 64,
                                        .open_files = 64}};
    plan->backend = strdup(executor->name);
    plan->mounts = calloc(TC_COUNT(system), sizeof(*plan->mounts));
    for (size_t i = 0; plan->mounts && i < TC_COUNT(system); i++)
        plan->mounts[plan->mount_count++] = (struct tc_mount){
            .kind = TC_MOUNT_SYSTEM, .path = strdup(system[i]), .from = strdup(system[i])};
    return plan->backend && plan->mounts && tc_strv_add(&plan->argv, "/bin/true") &&
           tc_strv_add(&plan->cwd, "/") && tc_strv_add(&plan->env, "PATH=/usr/bin:/bin");
}

static void add_group_row(struct tc_outcome *o, const struct tc_cage *probe,
                          const struct tc_process_host *h, int clause,
                          enum tc_cgroup_controller controller)
{
    struct tc_cgroup_state state = tc_cgroups_describe(h->cgroups, controller);
    struct tc_probe *p = row(o, probe, clause);
    if (!p)
        return;
    if (!state.mechanism)
        set_broken(p, state.reason, state.fix);
    /* memory has a substitute, which a policy accepts unless it says otherwise */
    const char *how = tc_process_mechanism(h, (enum tc_clause)clause, state.mechanism != NULL);
    p->mechanism = how ? strdup(how) : NULL;
}

static const struct {
    int clause;
    enum tc_cgroup_controller controller;
} grouped[] = {{TC_CLAUSE_LIMIT_MEMORY, TC_CGROUP_MEMORY}, {TC_CLAUSE_LIMIT_CPUS, TC_CGROUP_CPU}};

static bool by_group(int clause)
{
    for (size_t i = 0; i < TC_COUNT(grouped); i++)
        if (grouped[i].clause == clause)
            return true;
    return false;
}

/* Sockets exist only by a grant, and a grant has further requirements. */
static char *about_sockets(const char *how)
{
    const char *fix, *lack = tc_broker_lacks(&fix);
    return lack ? tc_format("%s; sockets cannot be granted here: %s: %s", how, lack, fix)
                : strdup(how);
}

/* Checks for missing parts of the build or installation. */
static bool is_lacking(struct tc_probe *p, int clause, const char *how)
{
    bool by_proxy = clause == TC_CLAUSE_NET_ALLOW || clause == TC_CLAUSE_NET_INSPECT ||
                    clause == TC_CLAUSE_NET_SECRET;
    const char *lack = by_proxy ? tc_proxy_lacks() : NULL;
    _autofree_ char *told = lack ? tc_format("toolcage-egress %s", lack) : NULL;
    if (lack)
        set_broken(p, told, "install toolcage completely, or set network = \"none\"");
    else if (!how)
        set_broken(p, "not supported by this backend", "remove `secrets`");
    return lack || !how;
}

/* Adds a row for each clause without cgroup. If the probe cage came up, every clause is enforced as
 * described. Otherwise none is, because calls would be refused, and the failed clause has the
 * reason. */
static void add_rows(struct tc_outcome *o, const struct tc_cage *probe)
{
    const struct tc_outcome_failure *f = &probe->outcome->failure;
    const struct tc_process_host *h = tc_process_host_opened();
    for (int clause = 0; clause < TC_CLAUSE_COUNT; clause++) {
        bool no_group = clause == TC_CLAUSE_LIMIT_PIDS || clause == TC_CLAUSE_LIMIT_CPU_TIME;
        if (by_group(clause) && h)
            continue;
        struct tc_probe *p = row(o, probe, clause);
        if (!p)
            return;
        const char *how = h ? tc_process_mechanism(h, (enum tc_clause)clause, no_group) : "";
        if (is_lacking(p, clause, how))
            continue;
        if (!probe->running && (f->clause == clause || f->clause < 0))
            set_broken(p, f->message ? f->message : "the probe cage did not start within 5 s",
                       f->hint ? f->hint : "try again when this host is less busy");
        else if (!probe->running)
            set_broken(p, "no cage can be built here", "see the failed clause");
        else
            p->mechanism = clause == TC_CLAUSE_NET_UNIX ? about_sockets(how) : strdup(how);
    }
}

void tc_process_probed(const struct tc_cage *probe, struct tc_outcome *outcome)
{
    const struct tc_process_host *h = tc_process_host_opened();
    add_rows(outcome, probe);
    for (size_t i = 0; h && i < TC_COUNT(grouped); i++)
        add_group_row(outcome, probe, h, grouped[i].clause, grouped[i].controller);
}
