/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Names the mechanism that enforces each clause, for the result of a call and for the doctor. */
#include <stdio.h>
#include <string.h>

#include "cage/cage.h"
#include "policy/endpoint.h"

static const char *group_word(const struct tc_process_host *h, enum tc_cgroup_controller controller,
                              bool grouped, const char *otherwise)
{
    const char *word = grouped ? tc_cgroups_describe(h->cgroups, controller).mechanism : NULL;
    return word ? word : otherwise;
}

/* Mechanisms common to all full cages. */
static const char *const words[TC_CLAUSE_COUNT] = {
    [TC_CLAUSE_PRIV_NONE] = "no_new_privs, empty capability sets, locked securebits",
    [TC_CLAUSE_PROC_OWN] = "pid namespace, own procfs",
    [TC_CLAUSE_PROC_SURVIVORS] = "pid namespace ends with PID 1, parent-death signal",
    [TC_CLAUSE_IPC_NONE] = "ipc namespace",
    [TC_CLAUSE_TMP_PRIVATE] = "tmpfs",
    [TC_CLAUSE_DEV_MINIMAL] =
        "bind mounts of five devices and of /dev/tty, a private devpts, nodev "
        "elsewhere",
    [TC_CLAUSE_ENV_CLEAN] = "environment made by toolcage",
    [TC_CLAUSE_FDS_CLEAN] = "close_range, three pipes (without input: two and /dev/null)",
    [TC_CLAUSE_TTY_NONE] = "setsid, terminals of a private devpts, seccomp",
    [TC_CLAUSE_SYSCALLS] = "seccomp allowlist",
    [TC_CLAUSE_SETID_NONE] = "seccomp, nosuid mounts",
    [TC_CLAUSE_FS_STAT] = "mount namespace",
    [TC_CLAUSE_FS_DENIED] = "overlay of whiteouts below read-only paths; below writable ones, "
                            "masks over the names that exist at the start, until the host replaces "
                            "one",
    [TC_CLAUSE_FS_STEERING] =
        "read-only mounts over existing names, or an overlay where they are too many",
    [TC_CLAUSE_NET_NONE] = "network namespace without interfaces",
    [TC_CLAUSE_NET_ALLOW] =
        "network namespace without interfaces; all connections use the egress proxy outside",
    [TC_CLAUSE_NET_INSPECT] = "the egress proxy inspects each request and terminates TLS with a "
                              "per-cage CA limited to the granted names",
    [TC_CLAUSE_NET_SECRET] =
        "the egress proxy outside the cage injects the values into requests; the cage holds none",
    [TC_CLAUSE_NET_UNIX] = "seccomp",
    [TC_CLAUSE_LIMIT_TIMEOUT] = "timer in the helper",
    [TC_CLAUSE_LIMIT_DISK] = "size and inodes of a tmpfs",
    [TC_CLAUSE_LIMIT_OPEN_FILES] = "RLIMIT_NOFILE",
    [TC_CLAUSE_LIMIT_OUTPUT] = "size-limited buffers outside the cage",
};

/* cgroup v1 counts socket buffers separately, and toolcage does not limit them. */
static const char *memory_word(const struct tc_process_host *h, bool grouped)
{
    const char *word = group_word(
        h, TC_CGROUP_MEMORY, grouped,
        "RLIMIT_DATA for the private memory that each process reserves, used or not (8 MiB for a "
        "thread; sanitizers and Deno do not start); shared memory sampled every 100 ms");
    return word && strcmp(word, "cgroup v1") == 0 ? "cgroup v1, socket buffers not counted" : word;
}

const char *tc_process_mechanism(const struct tc_process_host *h, enum tc_clause clause,
                                 bool grouped)
{
    switch ((int)clause) {
    case TC_CLAUSE_IDS_UNPRIVILEGED:
        return h->tree->privileged ? "user namespace, an id leased for this cage"
                                   : "user namespace, the caller's own id";
    case TC_CLAUSE_IDS_GROUPS:
        return h->tree->privileged ? "cleared" : "the caller's groups act on granted paths only";
    case TC_CLAUSE_FS_READ:
    case TC_CLAUSE_FS_WRITE:
        return h->landlock_abi ? "mount namespace, Landlock" : "mount namespace";
    case TC_CLAUSE_LIMIT_MEMORY:
        return memory_word(h, grouped);
    case TC_CLAUSE_LIMIT_PIDS:
        return group_word(h, TC_CGROUP_PIDS, grouped, "RLIMIT_NPROC in the cage's user namespace");
    case TC_CLAUSE_LIMIT_CPU_TIME:
        return group_word(h, TC_CGROUP_CPUACCT, grouped,
                          "CPU time of the cage's processes, sampled every 100 ms");
    case TC_CLAUSE_LIMIT_CPUS:
        return group_word(h, TC_CGROUP_CPU, grouped, NULL);
    default:
        return words[clause];
    }
}

/* For this call: where the tool's writes are stored first. */
static char *how_written(const struct tc_cage *cage, const char *how)
{
    const struct tc_process_cage *p = TC_PRIV(cage);
    bool files = false, layers = false, near = false, far = false, copies = false;
    for (size_t i = 0; i < p->trees.item_count; i++) {
        bool copied = tc_tree_copied(cage->plan, &p->trees.items[i]);
        near = near || p->trees.items[i].near;
        far = far || (p->trees.items[i].on_disk && !p->trees.items[i].near);
        files = files || (p->trees.items[i].name && !p->trees.items[i].part);
        layers = layers || (copied && p->trees.items[i].layers >= 0 && !p->trees.items[i].on_disk);
        copies = copies || (copied && p->trees.items[i].layers < 0);
    }
    return tc_format("%s%s%s%s%s%s", how, near ? "; in a layer on the workspace's disk" : "",
                     far ? "; in a layer in the state directory, copied when it is applied" : "",
                     layers ? "; in a private layer" : "", copies ? "; in a private copy" : "",
                     files ? "; single files in a private directory, written back one by one" : "");
}

static char *how_steered(const struct tc_cage *cage, const char *how)
{
    bool bind = cage->plan->workspace == TC_WORKSPACE_BIND;
    const char *because = cage->instead_because;
    return tc_format("%s%s%s", bind ? how : "left out when changes are committed",
                     !because ? ""
                     : bind   ? "; a bind instead of an overlay: "
                              : "; an overlay instead of a bind, because ",
                     because ? because : "");
}

/* For this call: the sockets that the tool may connect to, and the connecting process. */
static char *how_connected(const struct tc_cage *cage, const char *how)
{
    size_t granted = 0;
    for (size_t i = 0; i < cage->plan->mount_count; i++)
        granted += cage->plan->mounts[i].kind == TC_MOUNT_SOCKET;
    return tc_format("%s; a process with the cage's ids connects to the cage's sockets%s", how,
                     granted ? " and granted ones" : "");
}

/* For this call: the policy's changes are part of the profile's filter. */
static char *how_filtered(const struct tc_plan *plan, const char *how)
{
    _autobuf_ struct tc_buf out = TC_BUF_INIT;
    const struct tc_strv *lists[] = {&plan->syscalls_deny, &plan->syscalls_allow};
    tc_buf_adds(&out, how);
    for (size_t i = 0; i < TC_COUNT(lists); i++)
        for (size_t j = 0; j < lists[i]->count; j++)
            tc_buf_addf(&out, "%s%s",
                        j   ? ", "
                        : i ? "; allowed: "
                            : "; denied: ",
                        lists[i]->items[j]);
    return tc_buf_steal(&out);
}

/* For this call: whether the upstream proxy resolves the names. */
static char *how_reached(const struct tc_upstream *up, const char *how)
{
    _autofree_ char *at = tc_upstream_write(up);
    return at ? tc_format("%s, through %s%s", how, at,
                          up->names ? ", which resolves the names: addresses are not checked" : "")
              : NULL;
}

static char *how_here(const struct tc_cage *cage, enum tc_clause clause, const char *how)
{
    if (cage->plan->terminal && clause == TC_CLAUSE_FDS_CLEAN)
        return strdup("close_range, a private terminal");
    if (clause == TC_CLAUSE_FS_WRITE)
        return how_written(cage, how);
    if (clause == TC_CLAUSE_SYSCALLS)
        return how_filtered(cage->plan, how);
    if (clause == TC_CLAUSE_NET_ALLOW && cage->plan->upstream.host)
        return how_reached(&cage->plan->upstream, how);
    if (clause == TC_CLAUSE_LIMIT_CPU_TIME && cage->plan->fuel)
        return strdup("fuel, counted by the engine");
    /* with cage ops only a toolcage program around the tool uses sockets, and none are granted to
     * the tool */
    if (clause == TC_CLAUSE_NET_UNIX && cage->plan->unix_sockets && !TC_PRIV(cage)->ops)
        return how_connected(cage, how);
    if (clause == TC_CLAUSE_FS_DENIED && TC_PRIV(cage)->trees.beside)
        return tc_format("%s; also masks in directories with mounts below them", how);
    if (clause == TC_CLAUSE_FS_STEERING)
        return how_steered(cage, how);
    return strdup(how);
}

/* The cage's mechanism, and the mechanism inside the cage. */
static char *how_layered(const struct tc_cage *cage, enum tc_clause clause, const char *how)
{
    const struct tc_process_cage *p = TC_PRIV(cage);
    const char *inner = p->inner ? p->inner(clause) : NULL;
    char *outer = how_here(cage, clause, how);
    if (!inner || !outer)
        return outer;
    char *both = tc_format("%s; within it %s", outer, inner);
    free(outer);
    return both;
}

static const char *mechanism(const struct tc_cage *cage, enum tc_clause clause)
{
    const struct tc_process_cage *p = TC_PRIV(cage);
    if (p->ops)
        return p->ops->mechanism(cage, clause);
    if (p->worker && cage->plan->calls &&
        (clause == TC_CLAUSE_FS_READ || clause == TC_CLAUSE_FS_WRITE))
        return "mount namespace without host paths; the call's root, passed as an fd";
    return tc_process_mechanism(p->host, clause, p->group != NULL);
}

int tc_process_enforced(struct tc_cage *cage)
{
    struct tc_outcome *o = cage->outcome;
    for (int clause = 0; clause < TC_CLAUSE_COUNT; clause++) {
        if (!(cage->plan->clauses & TC_CLAUSE_BIT(clause)))
            continue;
        const char *how = mechanism(cage, (enum tc_clause)clause);
        if (!how || !how[0])
            return tc_cage_fail(cage,
                                TC_WHY(TOOLCAGE_EUNENFORCEABLE, "enforce",
                                       tc_clause_name((enum tc_clause)clause),
                                       "choose another backend for this tool"),
                                clause, "this backend cannot enforce %s here",
                                tc_clause_name((enum tc_clause)clause));
        struct tc_enforced *e = TC_PUSH(o->enforced, o->enforced_count);
        if (e)
            *e = (struct tc_enforced){.clause = clause,
                                      .mechanism = how_layered(cage, (enum tc_clause)clause, how)};
        if (!e || !e->mechanism) /* an unreported mechanism must not count as enforced */
            return tc_cage_fail_memory(cage, "enforce");
    }
    return 0;
}
