/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The form for places without namespaces: the tool shares the machine's, and Landlock and seccomp
 * alone hold what they can. Only for a policy that gives up, by name, what they cannot (`without`).
 * It shows paths as they are on the host, has no /tmp, no /proc and no sockets. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/path.h"
#include "base/sys.h"
#include "cage/cage.h"
#include "cage/orphans.h"
#include "policy/system_paths.h"

/* From here on Landlock keeps signals inside and knows truncation and devices' ioctls. */
enum { ABI_LEAST = 6 };

static int refuse(struct tc_cage *cage, enum tc_clause clause, const char *subject,
                  const char *hint, const char *message)
{
    return tc_cage_fail(cage, TC_WHY(TOOLCAGE_EUNENFORCEABLE, "shared", subject, hint), clause,
                        "%s", message);
}

/* ---- full cages, or this ---- */

/* Does this say that the place forbids namespaces for good? What passes by, like a lack of memory
 * or of free namespaces, must not lead to less cage. */
static bool forbids(int64_t errnum)
{
    return errnum == EPERM || errnum == EACCES || errnum == ENOSYS || errnum == EINVAL;
}

/* In the place of a cage's child: the two steps that places forbid although they allow the
 * namespaces. Nothing of it is left when the process ends. */
static int try_steps(void)
{
    int fs = tc_fsopen("proc");
    if (fs < 0 || tc_fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL) < 0 || tc_fsmount(fs, 0) < 0)
        return forbids(errno) ? 1 : 2;
    if (tc_pivot_root(".", ".") < 0 && forbids(errno) && errno != EINVAL)
        return 1;
    return 0;
}

static int try_child(void)
{
    struct clone_args args = {.flags = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET |
                                       CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP |
                                       CLONE_CLEAR_SIGHAND,
                              .exit_signal = SIGCHLD};
    int status = 0;
    pid_t pid = tc_clone3(&args);
    if (pid == 0)
        _exit(try_steps());
    if (pid < 0)
        return forbids(errno) ? 1 : 2;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 2;
}

/* A full cage, unless it is sure that there can be none. */
static bool whole(struct tc_process_host *h)
{
    if (h->whole)
        return h->whole > 0;
    int answer = try_child();
    if (answer < 2)
        h->whole = answer ? -1 : 1;
    return answer != 1;
}

static int check_place(struct tc_cage *cage, const struct tc_process_host *h, const char *fix)
{
    if (h->tree->privileged || geteuid() != h->tree->uid)
        return refuse(cage, TC_CLAUSE_IDS_UNPRIVILEGED, "uid", fix,
                      "without namespaces no cage of root can be built");
    if (h->landlock_abi < ABI_LEAST)
        return refuse(cage, TC_CLAUSE_FS_READ, "landlock", fix,
                      "without namespaces a cage needs Landlock's ABI 6 (Linux 6.12)");
    if (!tc_orphans_known())
        return refuse(cage, TC_CLAUSE_LIMIT_TIMEOUT, "/proc", fix,
                      "without namespaces a cage needs a kernel that lists children in /proc");
    return 0;
}

int tc_process_choose(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    struct tc_outcome found = {0};
    if (!cage->plan->without)
        return tc_process_host_get(cage->outcome, &p->host);
    int rc = tc_process_host_get(&found, &p->host);
    struct tc_outcome_failure *f = &found.failure;
    if (rc == 0 && whole(p->host))
        return 0;
    if (rc < 0 && !forbids(f->errnum)) {
        cage->outcome->failure = *f;
        cage->outcome->status = found.status;
        *f = (struct tc_outcome_failure){0};
        tc_outcome_done(&found);
        return -1;
    }
    p->host = tc_process_host_known();
    p->shared = p->trees.unmounted = true;
    rc = check_place(cage, p->host,
                     f->hint ? f->hint : "docs/places.md says what a full cage needs");
    tc_outcome_done(&found);
    return rc;
}

/* ---- how the clauses are held ---- */

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

static const char *hold(const struct tc_cage *cage, enum tc_clause clause)
{
    static const char *const words[TC_CLAUSE_COUNT] = {
        [TC_CLAUSE_PRIV_NONE] = "no_new_privs, empty capability sets",
        [TC_CLAUSE_IDS_UNPRIVILEGED] = "the caller's own id",
        [TC_CLAUSE_IDS_GROUPS] = "Landlock: the caller's groups act on granted paths only",
        [TC_CLAUSE_IPC_NONE] = "seccomp: no System V IPC and no message queues",
        [TC_CLAUSE_DEV_MINIMAL] = "Landlock: five devices",
        [TC_CLAUSE_ENV_CLEAN] = "environment made by toolcage",
        [TC_CLAUSE_FDS_CLEAN] = "close_range, three pipes",
        [TC_CLAUSE_TTY_NONE] = "setsid, Landlock, seccomp",
        [TC_CLAUSE_SYSCALLS] = "seccomp allowlist",
        [TC_CLAUSE_SETID_NONE] = "seccomp, no_new_privs",
        [TC_CLAUSE_FS_READ] = "Landlock: contents and listings",
        [TC_CLAUSE_FS_WRITE] = "Landlock; seccomp: no modes, owners, times, attributes anywhere",
        [TC_CLAUSE_NET_NONE] = "seccomp: no sockets",
        [TC_CLAUSE_NET_UNIX] = "seccomp, Landlock",
        [TC_CLAUSE_LIMIT_TIMEOUT] = "timer in the helper",
        [TC_CLAUSE_LIMIT_CPU_TIME] = "times of the tool's processes, sampled every 100 ms",
        [TC_CLAUSE_LIMIT_DISK] = "no private storage",
        [TC_CLAUSE_LIMIT_OPEN_FILES] = "RLIMIT_NOFILE",
        [TC_CLAUSE_LIMIT_OUTPUT] = "bounded buffers in the helper",
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

const char *tc_shared_mechanism(const struct tc_cage *cage, enum tc_clause clause)
{
    const char *how = hold(cage, clause);
    if (!how && (cage->plan->without & TC_CLAUSE_BIT(clause)))
        return "not enforced: given up by the policy";
    return how;
}

/* Everything that is missing at once, so that the operator decides once. */
static int check_clauses(struct tc_cage *cage)
{
    _autobuf_ struct tc_buf names = TC_BUF_INIT, hint = TC_BUF_INIT;
    int first = -1;
    for (int clause = 0; clause < TC_CLAUSE_COUNT; clause++) {
        if (!(cage->plan->clauses & TC_CLAUSE_BIT(clause)) ||
            tc_shared_mechanism(cage, (enum tc_clause)clause))
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
    return refuse(cage, (enum tc_clause)first, tc_clause_name((enum tc_clause)first), hint.data,
                  message ? message : "out of memory");
}

/* ---- the ruleset ---- */

/* There are no mounts: nothing can be shown elsewhere, nor taken away inside of what is granted. */
static int check_item(struct tc_cage *cage, const struct tc_item *item)
{
    const struct tc_process_cage *p = TC_PRIV(cage);
    if (item->name) /* its descriptor is that of the directory around it */
        return refuse(cage, TC_CLAUSE_FS_WRITE, item->path, "grant its directory",
                      "without namespaces no single file can be writable");
    if (strcmp(item->path, item->mount->from) != 0)
        return refuse(cage, TC_CLAUSE_FS_READ, item->path,
                      "grant it by its path on the host, without `from`",
                      "without namespaces no path can be shown under another name");
    for (size_t i = 0; i < p->trees.item_count; i++)
        if (!item->writable && p->trees.items[i].writable &&
            tc_path_within(p->trees.items[i].path, item->path))
            return refuse(cage, TC_CLAUSE_FS_WRITE, item->path,
                          "grant them beside each other, or both in the same way",
                          "without namespaces nothing can be read-only inside a writable path");
    return 0;
}

static int allow(struct tc_process_cage *p, int fd, bool directory, bool writable)
{
    enum tc_landlock_kind kind = directory ? TC_LANDLOCK_READ_TREE : TC_LANDLOCK_READ_FILE;
    if (writable)
        kind = directory ? TC_LANDLOCK_WRITE_TREE : TC_LANDLOCK_WRITE_FILE;
    return tc_landlock_allow(p->box.ruleset, p->host->landlock_abi, fd, kind);
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
            tc_landlock_allow(p->box.ruleset, p->host->landlock_abi, fd, TC_LANDLOCK_DEVICE) < 0)
            return -1;
    }
    return 0;
}

static int fill(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    for (size_t i = 0; i < cage->plan->mount_count; i++) {
        const struct tc_mount *m = &cage->plan->mounts[i];
        if ((m->kind == TC_MOUNT_SYSTEM || m->kind == TC_MOUNT_COPY) &&
            allow_system(p, m->from) < 0)
            return -1;
    }
    for (size_t i = 0; i < p->trees.item_count; i++)
        if (allow(p, p->trees.items[i].fd, p->trees.items[i].directory,
                  p->trees.items[i].writable) < 0)
            return -1;
    return allow_devices(p);
}

int tc_shared_prepare(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    if (cage->plan->workspace != TC_WORKSPACE_BIND)
        return refuse(cage, TC_CLAUSE_FS_WRITE, "workspace", "use workspace = { mode = \"bind\" }",
                      "without namespaces there is no private copy of a workspace");
    if (cage->plan->terminal)
        return refuse(cage, TC_CLAUSE_TTY_NONE, "terminal", "run commands with toolcage exec",
                      "without namespaces there is no terminal of the cage's own");
    for (size_t i = 0; i < p->trees.item_count; i++)
        if (check_item(cage, &p->trees.items[i]) < 0)
            return -1;
    if (check_clauses(cage) < 0)
        return -1;
    p->box.shared = true;
    p->box.ruleset = tc_process_keep(&p->trees, tc_landlock_open(p->host->landlock_abi));
    if (p->box.ruleset >= 0 && fill(cage) == 0)
        return 0;
    return tc_cage_fail(cage,
                        TC_WHY_ERRNO(TOOLCAGE_EUNENFORCEABLE, "landlock", "ruleset", errno,
                                     "docs/places.md says what a full cage needs"),
                        TC_CLAUSE_FS_READ, "cannot make the Landlock ruleset");
}
