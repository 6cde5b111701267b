/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The child's command, resource limits and seccomp filter, computed before the child exists. */
#include <errno.h>
#include <string.h>

#include "cage/cage.h"
#include "linux/seccomp_filter.h"

static int out_of_memory(struct tc_cage *cage)
{
    return tc_cage_fail_memory(cage, "argv");
}

static const char *search_path(const struct tc_plan *plan)
{
    for (size_t i = 0; i < plan->env.count; i++)
        if (tc_startswith(plan->env.items[i], "PATH="))
            return plan->env.items[i] + 5;
    return "/usr/local/bin:/usr/bin:/bin";
}

const char *const *tc_process_programs(const struct tc_plan *plan, struct tc_arena *arena)
{
    const char *command = plan->argv.items[0], *path = search_path(plan);
    size_t places = 2;
    for (const char *c = path; *c; c++)
        places += *c == ':';
    const char **list = tc_arena_alloc(arena, (places + 1) * sizeof(*list));
    if (!list)
        return NULL;
    if (strchr(command, '/') || !command[0]) {
        list[0] = command;
        return list;
    }
    for (size_t n = 0; *path;) {
        size_t len = strcspn(path, ":");
        if (len && path[0] == '/') { /* relative: skipped */
            list[n] = tc_arena_format(arena, "%.*s/%s", (int)len, path, command);
            if (!list[n++])
                return NULL;
        }
        path += len + (path[len] == ':');
    }
    return list;
}

int tc_process_argv(struct tc_cage *cage)
{
    static char *empty[] = {NULL};
    struct tc_process_cage *p = TC_PRIV(cage);
    const struct tc_plan *plan = cage->plan;
    if (plan->argv.count == 0)
        return tc_cage_fail(
            cage,
            &(struct tc_why){.code = TOOLCAGE_EUSAGE,
                             .stage = "argv",
                             .hint = "give the tool a `command`, or name one in the call"},
            -1, "there is no command to run");
    p->init.argv = plan->argv.items;
    p->init.envp = plan->env.count ? plan->env.items : empty;
    p->init.directories = (const char *const *)plan->cwd.items;
    p->init.programs = tc_process_programs(plan, &p->trees.arena);
    return p->init.programs ? 0 : out_of_memory(cage);
}

static void add_limit(struct tc_process_cage *p, struct tc_init_limit *list, int resource,
                      int64_t value)
{
    rlim_t most = (rlim_t)value;
    struct rlimit now;
    if (getrlimit((__rlimit_resource_t)resource, &now) == 0 && now.rlim_max < most)
        most = now.rlim_max; /* never above the caller's limit */
    list[p->init.limit_count++] = (struct tc_init_limit){resource, {most, most}};
}

/* Is every writable directory in storage that `disk` limits? */
static bool all_private(const struct tc_cage *cage)
{
    const struct tc_process_cage *p = TC_PRIV(cage);
    for (size_t i = 0; i < p->trees.item_count; i++) {
        const struct tc_item *item = &p->trees.items[i];
        if (item->writable && item->directory && !item->single_dir &&
            (item->on_disk || !tc_tree_copied(cage->plan, item)))
            return false;
    }
    return !p->trees.unmounted;
}

int tc_process_limits(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    const struct tc_limits *l = &cage->plan->limits;
    struct tc_init_limit *list = tc_arena_alloc(&p->trees.arena, 8 * sizeof(*list));
    if (!list)
        return out_of_memory(cage);
    /* 1, not 0: the kernel runs the host's core handler even at 0, but not at 1 */
    add_limit(p, list, RLIMIT_CORE, 1);
    add_limit(p, list, RLIMIT_NOFILE, l->open_files);
    add_limit(p, list, RLIMIT_MSGQUEUE, 0);
    /* a sparse file may be larger than the storage, a file in memory as large as `memory` */
    if (all_private(cage) || cage->plan->uid)
        add_limit(p, list, RLIMIT_FSIZE, l->disk > l->memory ? l->disk : l->memory);
    bool grouped = p->group != NULL;
    if (!grouped || !tc_cgroups_has(p->host->cgroups, TC_CGROUP_MEMORY))
        add_limit(p, list, RLIMIT_DATA, l->memory);
    /* without namespaces it would also count the user's processes outside the cage */
    if (!p->trees.unmounted && (!grouped || !tc_cgroups_has(p->host->cgroups, TC_CGROUP_PIDS)))
        add_limit(p, list, RLIMIT_NPROC, l->pids + 1);
    p->init.limits = list;
    p->init.umask = (mode_t)cage->plan->umask & 0777;
    p->init.cpus = (l->cpus_milli + 999) / 1000;
    return 0;
}

/* ---- the seccomp filter: the profile with the changes of the plan ---- */

static enum tc_seccomp_watch watch_of_plan(const struct tc_plan *plan)
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

static int refuse_command(struct tc_cage *cage, const char *subject, const char *hint,
                          const char *message)
{
    return tc_cage_fail(cage, TC_WHY(TOOLCAGE_EUNENFORCEABLE, "seccomp", subject, hint),
                        TC_CLAUSE_SYSCALLS, "%s", message);
}

/* Does the tool write to private storage only? Then it may set the set-group-id bit, as `git init
 * --shared` does for directories: a commit gives it to directories alone. In a bind mount another
 * user could run a file with that bit. */
static bool has_layers_only(const struct tc_trees *t)
{
    bool some = false;
    for (size_t i = 0; i < t->item_count; i++) {
        if (t->items[i].writable && !t->items[i].part && t->items[i].copy < 0)
            return false;
        some = some || t->items[i].copy >= 0;
    }
    return some;
}

static int change(struct tc_cage *cage, bool set_group)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    const char *bad = "syscalls";
    const struct sock_fprog *base = tc_seccomp_program(p->init.watch, p->init.unix_sockets);
    struct tc_seccomp_changes *changes = tc_arena_alloc(&p->trees.arena, sizeof(*changes));
    struct sock_filter *code = tc_arena_alloc(&p->trees.arena, TC_SECCOMP_CODE_MAX * sizeof(*code));
    if (!changes || !code)
        return tc_cage_fail_memory(cage, "seccomp");
    if (!tc_seccomp_changes(changes, &cage->plan->syscalls_deny, &cage->plan->syscalls_allow, &bad))
        return refuse_command(cage, bad, "remove it from `syscalls`",
                              "the seccomp profile cannot be changed for this system call");
    changes->set_group = set_group;
    size_t len = tc_seccomp_change(base, changes, p->init.watch, code);
    if (!len)
        return refuse_command(cage, bad, "list fewer system calls",
                              "the changed filter is too long");
    p->init.code = (char *)code;
    p->init.code_len = len * sizeof(*code);
    p->changes = changes;
    return 0;
}

int tc_process_filter(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    bool set_group = has_layers_only(&p->trees);
    p->init.watch = watch_of_plan(cage->plan);
    if (!cage->plan->syscalls_allow.count && !cage->plan->syscalls_deny.count && !set_group)
        return 0;
    return change(cage, set_group);
}
