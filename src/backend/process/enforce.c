/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Which mechanism holds each clause, said for a call that is about to run and for the doctor. */
#include "backend/process/enforce.h"

#include <stdio.h>
#include <string.h>

static const char *group_word(const struct tc_process_host *h, enum tc_cgroup_controller controller)
{
    return tc_cgroups_describe(h->cgroups, controller).mechanism;
}

static const char *memory(const struct tc_process_host *h, bool grouped)
{
    const char *word = grouped ? group_word(h, TC_CGROUP_MEMORY) : NULL;
    return word ? word : "RLIMIT_DATA, each process by itself";
}

static const char *pids(const struct tc_process_host *h, bool grouped)
{
    const char *word = grouped ? group_word(h, TC_CGROUP_PIDS) : NULL;
    return word ? word : "RLIMIT_NPROC in the cage's user namespace";
}

static const char *cpu_time(const struct tc_process_host *h, bool grouped)
{
    const char *word = grouped ? group_word(h, TC_CGROUP_CPUACCT) : NULL;
    return word ? word : "times of the cage's processes, sampled every 100 ms";
}

static const char *ids(const struct tc_process_host *h)
{
    return h->privileged ? "user namespace, an id leased for this cage"
                         : "user namespace, the caller's own id";
}

static const char *second(const struct tc_process_host *h, const char *with, const char *without)
{
    return h->landlock_abi ? with : without;
}

const char *tc_process_mechanism(const struct tc_process_host *h, enum tc_clause clause,
                                 bool grouped)
{
    switch (clause) {
    case TC_CLAUSE_PRIV_NONE:
        return "no_new_privs, empty capability sets, locked securebits";
    case TC_CLAUSE_IDS_UNPRIVILEGED:
        return ids(h);
    case TC_CLAUSE_IDS_GROUPS:
        return h->privileged ? "cleared" : "the caller's groups act on granted paths only";
    case TC_CLAUSE_PROC_OWN:
        return "pid namespace, own procfs";
    case TC_CLAUSE_PROC_SURVIVORS:
        return "pid namespace ends with PID 1, parent-death signal";
    case TC_CLAUSE_IPC_NONE:
        return "ipc namespace";
    case TC_CLAUSE_TMP_PRIVATE:
        return "tmpfs";
    case TC_CLAUSE_DEV_MINIMAL:
        return "bind mounts of five devices, nodev elsewhere";
    case TC_CLAUSE_ENV_CLEAN:
        return "environment made by toolcage";
    case TC_CLAUSE_FDS_CLEAN:
        return "close_range, three pipes";
    case TC_CLAUSE_TTY_NONE:
        return "setsid, no terminal device, seccomp";
    case TC_CLAUSE_SYSCALLS:
        return "seccomp allowlist";
    case TC_CLAUSE_SETID_NONE:
        return "seccomp, nosuid mounts";
    case TC_CLAUSE_FS_READ:
    case TC_CLAUSE_FS_WRITE:
        return second(h, "mount namespace, Landlock", "mount namespace");
    case TC_CLAUSE_FS_DENIED:
        return "overlay of whiteouts below read-only paths; masks over existing names below "
               "writable ones, "
               "until the host replaces them";
    case TC_CLAUSE_FS_STEERING:
        return "read-only mounts over existing names";
    case TC_CLAUSE_NET_NONE:
        return "network namespace without interfaces";
    case TC_CLAUSE_NET_ALLOW:
        return "";
    case TC_CLAUSE_NET_UNIX:
        return "seccomp";
    case TC_CLAUSE_LIMIT_TIMEOUT:
        return "timer in the helper";
    case TC_CLAUSE_LIMIT_MEMORY:
        return memory(h, grouped);
    case TC_CLAUSE_LIMIT_PIDS:
        return pids(h, grouped);
    case TC_CLAUSE_LIMIT_CPU_TIME:
        return cpu_time(h, grouped);
    case TC_CLAUSE_LIMIT_CPUS:
        return grouped ? group_word(h, TC_CGROUP_CPU) : "";
    case TC_CLAUSE_LIMIT_DISK:
        return "size and inodes of a tmpfs";
    case TC_CLAUSE_LIMIT_OPEN_FILES:
        return "RLIMIT_NOFILE";
    case TC_CLAUSE_LIMIT_OUTPUT:
        return "bounded buffers in the helper";
    case TC_CLAUSE_COUNT:
        break;
    }
    return "";
}

int tc_process_enforced(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    struct tc_outcome *o = cage->outcome;
    for (int clause = 0; clause < TC_CLAUSE_COUNT; clause++) {
        if (!(cage->plan->clauses & TC_CLAUSE_BIT(clause)))
            continue;
        const char *how = tc_process_mechanism(p->host, (enum tc_clause)clause, p->group != NULL);
        struct tc_enforced *e = how && how[0] ? TC_PUSH(o->enforced, o->enforced_count) : NULL;
        if (!e)
            return tc_cage_fail(cage,
                                &(struct tc_why){.code = TOOLCAGE_EUNENFORCEABLE,
                                                 .stage = "enforce",
                                                 .subject = tc_clause_name((enum tc_clause)clause),
                                                 .hint = "name another backend for this tool"},
                                clause, "nothing here enforces %s",
                                tc_clause_name((enum tc_clause)clause));
        e->clause = clause;
        e->mechanism = strdup(how);
    }
    return 0;
}
