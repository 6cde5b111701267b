/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The system call filter of a cage: the profile, with the changes that its plan asks for. */
#include "cage/cage.h"
#include "linux/seccomp_filter.h"

static enum tc_seccomp_watch watch(const struct tc_plan *plan)
{
    switch ((enum tc_denials)plan->denials) {
    case TC_DENIALS_OFF:
        return TC_WATCH_NOTHING;
    case TC_DENIALS_PATHS:
        return TC_WATCH_PATHS;
    case TC_DENIALS_ACCESSES:
        return TC_WATCH_ACCESSES;
    case TC_DENIALS_CALLS:
    default:
        return TC_WATCH_CALLS;
    }
}

static int refuse(struct tc_cage *cage, const char *subject, const char *hint, const char *message)
{
    return tc_cage_fail(cage, TC_WHY(TOOLCAGE_EUNENFORCEABLE, "seccomp", subject, hint),
                        TC_CLAUSE_SYSCALLS, "%s", message);
}

static int change(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    const char *bad = "syscalls";
    struct tc_seccomp_changes *changes = tc_arena_alloc(&p->trees.arena, sizeof(*changes));
    struct sock_fprog *program = tc_arena_alloc(&p->trees.arena, sizeof(*program));
    struct sock_filter *code = tc_arena_alloc(&p->trees.arena, TC_SECCOMP_CODE_MAX * sizeof(*code));
    if (!changes || !program || !code)
        return tc_cage_fail_memory(cage, "seccomp");
    if (!tc_seccomp_changes(changes, &cage->plan->syscalls_deny, &cage->plan->syscalls_allow, &bad))
        return refuse(cage, bad, "remove it from `syscalls`",
                      "the profile cannot be changed by this call");
    size_t len = tc_seccomp_change(p->box.filter, changes, p->box.watch, code);
    if (!len)
        return refuse(cage, bad, "name fewer calls", "the changed filter is too long");
    *program = (struct sock_fprog){.len = (unsigned short)len, .filter = code};
    p->box.filter = p->box.changed = program;
    p->changes = changes;
    return 0;
}

int tc_process_filter(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    p->box.watch = watch(cage->plan);
    p->box.filter = tc_seccomp_program(p->box.watch, p->box.unix_sockets);
    if (!cage->plan->syscalls_allow.count && !cage->plan->syscalls_deny.count)
        return 0;
    return change(cage);
}
