/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The executor for environments without namespaces. The tool shares the host's namespaces; only
 * Landlock and seccomp confine it. It runs only if the policy gives up, by name, the clauses that
 * they cannot enforce (`without`). The tool sees host paths unchanged and has no private /tmp or
 * /proc and no sockets. */
#include "backend/registry.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "backend/landlock/child.h"
#include "base/clock.h"
#include "base/path.h"
#include "base/sys.h"
#include "cage/cage.h"
#include "policy/names/system_paths.h"
#include "workspace/session.h"

/* The first ABI in which Landlock scopes signals and handles truncation and device ioctls. */
enum { ABI_LEAST = 6 };
enum { PATIENCE_MS = 2000 };

static int refuse_clause(struct tc_cage *cage, int clause, const char *subject, const char *hint,
                         const char *message)
{
    return tc_cage_fail(cage, TC_WHY(TOOLCAGE_EUNENFORCEABLE, "shared", subject, hint), clause,
                        "%s", message);
}

/* The hint is the remedy for the missing namespaces: with a full cage, this executor is not needed.
 */
static int refuse_place(struct tc_cage *cage, enum tc_clause clause, const char *subject,
                        const char *message)
{
    struct tc_outcome found = {0};
    struct tc_process_host *host;
    const char *fix = tc_process_host_get(&found, &host) < 0 ? found.failure.hint : NULL;
    int rc = refuse_clause(cage, clause, subject,
                           fix ? fix : "docs/places.md says what a full cage needs", message);
    tc_outcome_done(&found);
    return rc;
}

static int check_place(struct tc_cage *cage)
{
    const struct tc_process_host *h = TC_PRIV(cage)->host;
    if (h->tree->privileged || geteuid() != h->tree->uid)
        return refuse_place(cage, TC_CLAUSE_IDS_UNPRIVILEGED, "uid",
                            "without namespaces no cage of root can be built");
    if (h->landlock_abi < ABI_LEAST)
        return refuse_place(cage, TC_CLAUSE_FS_READ, "landlock",
                            "without namespaces a cage needs Landlock's ABI 6 (Linux 6.12)");
    if (!tc_landlock_orphans_known())
        return refuse_place(cage, TC_CLAUSE_LIMIT_TIMEOUT, "/proc",
                            "without namespaces a cage needs a kernel that lists children in "
                            "/proc");
    return 0;
}

/* ---- mechanisms of the clauses ---- */

static bool denies_inside(const struct tc_cage *cage)
{
    const struct tc_process_cage *p = TC_PRIV(cage);
    for (size_t i = 0; i < cage->plan->deny_count; i++)
        for (size_t k = 0; k < p->trees.item_count; k++)
            if (tc_path_within(p->trees.items[k].path, cage->plan->denies[i].path))
                return true;
    return false;
}

static bool writes(const struct tc_cage *cage)
{
    const struct tc_process_cage *p = TC_PRIV(cage);
    for (size_t i = 0; i < p->trees.item_count; i++)
        if (p->trees.items[i].writable)
            return true;
    return false;
}

/* The mechanism that enforces a clause; NULL: none. */
static const char *hold(const struct tc_cage *cage, enum tc_clause clause)
{
    static const char *const words[TC_CLAUSE_COUNT] = {
        [TC_CLAUSE_PRIV_NONE] = "no_new_privs, empty capability sets",
        [TC_CLAUSE_IDS_UNPRIVILEGED] = "the caller's own id",
        [TC_CLAUSE_IDS_GROUPS] = "Landlock: the caller's groups act on granted paths only",
        [TC_CLAUSE_IPC_NONE] = "seccomp: no System V IPC and no message queues",
        [TC_CLAUSE_DEV_MINIMAL] = "Landlock: five devices",
        [TC_CLAUSE_ENV_CLEAN] = "environment made by toolcage",
        [TC_CLAUSE_FDS_CLEAN] = "close_range, three pipes (without input: two and /dev/null)",
        [TC_CLAUSE_TTY_NONE] = "setsid, Landlock, seccomp",
        [TC_CLAUSE_SYSCALLS] = "seccomp allowlist",
        [TC_CLAUSE_SETID_NONE] = "seccomp, no_new_privs",
        [TC_CLAUSE_FS_READ] = "Landlock: contents and listings; seccomp: no extended attributes",
        [TC_CLAUSE_FS_WRITE] = "Landlock; seccomp: no modes, owners, times, attributes anywhere",
        [TC_CLAUSE_NET_NONE] = "seccomp: no sockets",
        [TC_CLAUSE_NET_UNIX] = "seccomp, Landlock",
        [TC_CLAUSE_LIMIT_TIMEOUT] = "timer in the helper",
        [TC_CLAUSE_LIMIT_CPU_TIME] = "times of the tool's processes, sampled every 100 ms",
        [TC_CLAUSE_LIMIT_DISK] = "no private storage",
        [TC_CLAUSE_LIMIT_OPEN_FILES] = "RLIMIT_NOFILE",
        [TC_CLAUSE_LIMIT_OUTPUT] = "bounded buffers outside of the cage",
    };
    if (clause == TC_CLAUSE_LIMIT_MEMORY && cage->plan->limits.memory_any)
        return "RLIMIT_DATA, private memory of each process; what they share, sampled every "
               "100 ms";
    if (clause == TC_CLAUSE_FS_DENIED && !denies_inside(cage))
        return "Landlock: nothing denied lies below a granted path";
    if (clause == TC_CLAUSE_FS_STEERING && !writes(cage))
        return "Landlock: nothing can be written";
    return words[clause];
}

static const char *mechanism(const struct tc_cage *cage, enum tc_clause clause)
{
    const char *how = hold(cage, clause);
    if (!how && (cage->plan->without & TC_CLAUSE_BIT(clause)))
        return "not enforced: given up by the policy";
    return how;
}

/* Reports all missing clauses at once, so that the operator decides once. */
static int check_clauses(struct tc_cage *cage)
{
    _autobuf_ struct tc_buf names = TC_BUF_INIT, hint = TC_BUF_INIT;
    int first = -1;
    for (int clause = 0; clause < TC_CLAUSE_COUNT; clause++) {
        if (!(cage->plan->clauses & TC_CLAUSE_BIT(clause)) ||
            mechanism(cage, (enum tc_clause)clause))
            continue;
        const char *name = tc_clause_name((enum tc_clause)clause);
        tc_buf_addf(&names, "%s%s", first < 0 ? "" : ", ", name);
        if (tc_clauses_yielding() & TC_CLAUSE_BIT(clause))
            tc_buf_addf(&hint, "%s\"%s\"", hint.len ? ", " : "add to `without`: ", name);
        first = first < 0 ? clause : first;
    }
    if (first < 0)
        return 0;
    tc_buf_addf(&hint, "%s`toolcage doctor` names what a full cage needs here",
                hint.len ? "; or: " : "");
    _autofree_ char *message =
        tc_format("no namespaces can be made here, and Landlock and seccomp alone cannot "
                  "enforce %s",
                  names.data);
    return refuse_clause(cage, (enum tc_clause)first, tc_clause_name((enum tc_clause)first),
                         hint.data, message ? message : "out of memory");
}

/* ---- the ruleset ---- */

/* Without mounts no path can be shown under another name, and no part of a granted tree can be
 * hidden. */
static int check_item(struct tc_cage *cage, const struct tc_item *item)
{
    const struct tc_process_cage *p = TC_PRIV(cage);
    if (item->name) /* a single writable file: its fd is that of its directory */
        return refuse_clause(cage, TC_CLAUSE_FS_WRITE, item->path, "grant its directory",
                             "without namespaces no single file can be writable");
    if (strcmp(item->path, item->mount->from) != 0)
        return refuse_clause(cage, TC_CLAUSE_FS_READ, item->path,
                             "grant it by its path on the host, without `from`",
                             "without namespaces no path can be shown under another name");
    for (size_t i = 0; i < p->trees.item_count; i++)
        if (!item->writable && p->trees.items[i].writable &&
            tc_path_within(p->trees.items[i].path, item->path))
            return refuse_clause(
                cage, TC_CLAUSE_FS_WRITE, item->path,
                "grant both in the same way, or paths that do not contain each other",
                "without namespaces nothing can be read-only inside a writable path");
    return 0;
}

static int allow(struct tc_process_cage *p, int fd, bool directory, bool writable)
{
    enum tc_landlock_kind kind = directory ? TC_LANDLOCK_READ_TREE : TC_LANDLOCK_READ_FILE;
    if (writable)
        kind = directory ? TC_LANDLOCK_WRITE_TREE : TC_LANDLOCK_WRITE_FILE;
    return tc_landlock_allow(p->init.ruleset, p->host->landlock_abi, fd, kind);
}

static int allow_system(struct tc_process_cage *p, const char *path)
{
    struct stat st;
    _autofd_ int fd = open(path, O_PATH | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? 0 : -1;
    return fstat(fd, &st) < 0 ? -1 : allow(p, fd, S_ISDIR(st.st_mode), false);
}

static int allow_devices(struct tc_process_cage *p)
{
    for (size_t i = 0; i < TC_DEVICES; i++) {
        char path[32];
        (void)snprintf(path, sizeof(path), "/dev/%s", tc_devices[i]);
        _autofd_ int fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0 ||
            tc_landlock_allow(p->init.ruleset, p->host->landlock_abi, fd, TC_LANDLOCK_DEVICE) < 0)
            return -1;
    }
    return 0;
}

static int fill_config(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    for (size_t i = 0; i < cage->plan->mount_count; i++) {
        const struct tc_mount *m = &cage->plan->mounts[i];
        if (m->kind == TC_MOUNT_SYSTEM && allow_system(p, m->from) < 0)
            return -1;
    }
    char path[PATH_MAX];
    for (const char *at = cage->plan->system; tc_system_next(&at, path);)
        if (allow_system(p, path) < 0)
            return -1;
    for (size_t i = 0; i < p->trees.item_count; i++)
        if (allow(p, p->trees.items[i].fd, p->trees.items[i].directory,
                  p->trees.items[i].writable) < 0)
            return -1;
    return allow_devices(p);
}

/* ---- operations ---- */

static int make_landlock(struct tc_cage *cage)
{
    static const struct tc_cage_ops ops = {.mechanism = mechanism};
    if (tc_local_new(cage, &ops, NULL) < 0)
        return -1;
    struct tc_process_cage *p = TC_PRIV(cage);
    p->host = tc_process_host_known();
    p->trees.unmounted = true;
    if (check_place(cage) < 0)
        return -1;
    cage->may_block = tc_local_may_block(cage);
    if (!cage->plan->unix_sockets)
        return 0;
    return tc_cage_fail(
        cage,
        TC_WHY(TOOLCAGE_EUNENFORCEABLE, "unix sockets", tc_clause_name(TC_CLAUSE_NET_UNIX),
               "set unix_sockets = \"none\", or run it where namespaces can be made"),
        TC_CLAUSE_NET_UNIX, "without namespaces toolcage cannot connect in place of the tool");
}

static int check_items(struct tc_cage *cage)
{
    const struct tc_process_cage *p = TC_PRIV(cage);
    if (cage->plan->workspace != TC_WORKSPACE_BIND)
        return refuse_clause(cage, tc_cage_unlayered(cage, TC_CLAUSE_FS_WRITE), "workspace",
                             "use workspace = { mode = \"bind\" }",
                             "without namespaces there is no private copy of a workspace");
    if (cage->plan->terminal)
        return refuse_clause(cage, TC_CLAUSE_TTY_NONE, "terminal",
                             "run commands with toolcage exec",
                             "without namespaces there is no private terminal");
    for (size_t i = 0; i < p->trees.item_count; i++)
        if (check_item(cage, &p->trees.items[i]) < 0)
            return -1;
    return 0;
}

/* Uses only those fields of the host record that never change. */
static int prepare_landlock(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    tc_trees_open(&p->trees, cage->plan);
    if (tc_session_open(cage) < 0 || tc_tree_resolve(cage) < 0 || check_items(cage) < 0 ||
        check_clauses(cage) < 0)
        return -1;
    p->init.stages = &tc_landlock_stages;
    p->init.reaper = &tc_landlock_reaper;
    p->init.ruleset = tc_tree_keep(&p->trees, tc_landlock_open(p->host->landlock_abi, 0));
    if (p->init.ruleset >= 0 && fill_config(cage) == 0)
        return 0;
    return tc_cage_fail(cage,
                        TC_WHY_ERRNO(TOOLCAGE_EUNENFORCEABLE, "landlock", "ruleset", errno,
                                     "docs/places.md says what a full cage needs"),
                        TC_CLAUSE_FS_READ, "cannot make the Landlock ruleset");
}

/* The process that ends the tool's processes runs under the same filter, and it needs more system
 * calls and sees other processes. */
static int check_syscalls(struct tc_cage *cage)
{
    const struct tc_plan *plan = cage->plan;
    if (!plan->syscalls_allow.count && !plan->syscalls_deny.count)
        return 0;
    return tc_cage_fail(
        cage,
        TC_WHY(TOOLCAGE_EUNENFORCEABLE, "seccomp", "syscalls",
               "remove allow and deny; `toolcage doctor` names what a full cage needs here"),
        TC_CLAUSE_SYSCALLS, "without namespaces `syscalls` stays the default profile");
}

static int start_landlock(struct tc_cage *cage)
{
    if (tc_process_argv(cage) < 0 || tc_process_limits(cage) < 0 || check_syscalls(cage) < 0 ||
        tc_process_filter(cage) < 0 || tc_process_enforced(cage) < 0)
        return -1;
    return tc_process_start(cage);
}

/* This process is not PID 1 of a namespace, so it must kill the rest itself; SIGKILL follows only
 * after PATIENCE_MS. */
static int end_signal(struct tc_process_cage *p)
{
    int64_t now = tc_now_us();
    if (!p->asked_us)
        p->asked_us = now;
    return now - p->asked_us < PATIENCE_MS * 1000 ? TC_INIT_END : SIGKILL;
}

static void ask_to_end(struct tc_cage *cage, bool at_once)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    if (p->child.pid <= 0 || p->child.reaped)
        return;
    if (at_once)
        tc_limits_end(cage);
    (void)kill(p->child.pid, at_once ? end_signal(p) : SIGTERM);
    (void)kill(p->child.pid, SIGCONT); /* a process outside the cage may have stopped it */
}

const struct tc_executor tc_landlock_executor = {
    .name = "landlock",
    .make = make_landlock,
    .prepare = prepare_landlock,
    .start = start_landlock,
    .event = tc_process_event,
    .signal = ask_to_end,
    .reap = tc_process_reap,
    .usage = tc_local_usage,
    .destroy = tc_local_destroy,
};
