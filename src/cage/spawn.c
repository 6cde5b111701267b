/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Runs a cage from a prepared init config to the tool's start and end. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/sys.h"
#include "cage/cage.h"
#include "cage/init_config.h"
#include "cage/proxy.h"
#include "cage/spare.h"
#include "cage/worker.h"
#include "linux/seccomp_filter.h"
#include "observe/observe.h"

enum { LATE_MS = 500 }; /* grace for a late helper */

static int fail_system(struct tc_cage *cage, const char *what)
{
    return tc_cage_fail(cage,
                        TC_WHY_ERRNO(TOOLCAGE_ESYSTEM, "start", what, errno,
                                     "`toolcage doctor` shows what this host lacks"),
                        -1, "cannot create the cage's %s", what);
}

static int open_pipe(struct tc_cage *cage, int *ret_ours, int *ret_theirs)
{
    int pair[2];
    if (pipe2(pair, O_CLOEXEC) < 0)
        return fail_system(cage, "output pipe");
    *ret_ours = pair[0];
    *ret_theirs = pair[1];
    /* non-blocking: waiting for a tool's output would block all other calls */
    return fcntl(pair[0], F_SETFL, O_NONBLOCK) < 0 ? fail_system(cage, "output pipe") : 0;
}

/* A call without input has no pipe for it: the child opens the cage's null device, because Landlock
 * would not allow the tool to reopen the host's. */
static int open_streams(struct tc_cage *cage)
{
    struct tc_init_config *init = &TC_PRIV(cage)->init;
    if (init->terminal)
        return 0;
    init->in = cage->stdin_fd;
    if (open_pipe(cage, &cage->out_fd, &init->out) < 0)
        return -1;
    return open_pipe(cage, &cage->err_fd, &init->err);
}

/* Reopening /dev/stdout checks permissions against the pipe's owner. */
static int give_streams(struct tc_cage *cage)
{
    const struct tc_process_cage *p = TC_PRIV(cage);
    const int ends[] = {p->init.in, p->init.out, p->init.err};
    if (p->trees.id == (uid_t)-1 || p->init.terminal)
        return 0;
    for (size_t i = 0; i < TC_COUNT(ends); i++)
        if (ends[i] >= 0 && fchown(ends[i], p->trees.id, (gid_t)p->trees.id) < 0)
            return fail_system(cage, "standard streams");
    return 0;
}

void tc_process_close_ends(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    int *ends[] = {&cage->stdin_fd, &p->init.out, &p->init.err, &p->init.talk, &p->child.theirs};
    for (size_t i = 0; i < TC_COUNT(ends); i++) {
        if (*ends[i] >= 0)
            (void)close(*ends[i]);
        *ends[i] = -1;
    }
}

static int refuse_namespaces(struct tc_cage *cage, const char *call)
{
    return tc_cage_fail(cage,
                        TC_WHY_ERRNO(TOOLCAGE_EUNENFORCEABLE, "namespaces", call, errno,
                                     tc_process_fix(TC_LACK_USERNS, errno)),
                        TC_CLAUSE_PRIV_NONE, "this host does not allow the cage's namespaces");
}

static int fail_root(struct tc_cage *cage)
{
    return tc_cage_fail(cage,
                        TC_WHY_ERRNO(TOOLCAGE_ESYSTEM, "root", "root", errno,
                                     "`toolcage doctor` shows what this host lacks"),
                        TC_CLAUSE_FS_READ, "cannot prepare a root for the cage");
}

static int open_report(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return fail_system(cage, "report socket");
    p->child.report = pair[0];
    p->child.theirs = p->init.report = pair[1];
    p->init.helper = pair[0];
    return 0;
}

/* Forks a copy of the helper, in the helper's namespaces. */
static int fork_here(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    if (open_report(cage) < 0)
        return -1;
    p->child.pid = tc_fork(&p->child.pidfd);
    if (p->child.pid == 0)
        tc_init_enter(&p->init, NULL);
    return p->child.pid < 0 ? fail_system(cage, "process") : 0;
}

/* Forks the process that makes the engine start PID 1, with the prepared root. */
static int fork_apart(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    p->init.root = tc_tree_keep(&p->trees, tc_root_copy(p->root));
    return p->init.root < 0 ? fail_root(cage) : fork_here(cage);
}

static int clone_cold(struct tc_cage *cage, const struct tc_init_config *init)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    p->child.pid = tc_process_clone(p->group, init, &p->child.pidfd);
    if (p->child.pid < 0)
        return refuse_namespaces(cage, "clone3");
    return tc_process_map_ids(p->child.pid, init, p->child.report) < 0
               ? fail_system(cage, "id maps")
               : 0;
}

int tc_process_clone_outer(struct tc_cage *cage, const struct tc_init_config *init,
                           int (*tell)(struct tc_process_cage *p, int report))
{
    struct tc_process_cage *p = TC_PRIV(cage);
    if (clone_cold(cage, init) < 0)
        return -1;
    if (tc_process_announce(p->host, p->child.report) < 0 || tell(p, p->child.report) < 0)
        return fail_system(cage, "orders");
    return 0;
}

/* No prestarted process fits: clones one now. */
static int start_cold(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    if (open_report(cage) < 0)
        return -1;
    p->init.root = tc_tree_keep(&p->trees, tc_root_copy(p->root));
    if (p->init.root < 0)
        return fail_root(cage);
    return p->ops && p->ops->outer ? p->ops->outer(cage) : clone_cold(cage, &p->init);
}

/* A plan with a fixed id is one of a VM's guest: there the granted ports are the host's. A replay
 * reaches no service of this host. */
static void tell_observer(struct tc_process_cage *p, const struct tc_plan *plan)
{
    const struct tc_init_config *init = &p->init;
    p->observer.of = (struct tc_observed){.watch = init->watch,
                                          .unix_sockets = init->unix_sockets,
                                          .mounts = !p->trees.unmounted,
                                          .lasting = plan->lifetime_ms > 0,
                                          .loopback = !plan->uid && !plan->replays,
                                          .uid = init->uid,
                                          .gid = init->gid,
                                          .clear_groups = init->wait_for_maps,
                                          .changes = p->changes};
}

/* Uses a prestarted process if there is one. */
static int start_inside(struct tc_cage *cage)
{
    int rc = tc_worker_go(cage);
    if (rc != 0)
        return rc > 0 ? 0 : -1;
    if (tc_handoff_program(cage) < 0)
        return -1;
    return tc_spare_go(TC_PRIV(cage)) ? 0 : start_cold(cage);
}

int tc_process_start(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    const struct tc_limits *l = &cage->plan->limits;
    if (open_streams(cage) < 0 || give_streams(cage) < 0)
        return -1;
    tell_observer(p, cage->plan);
    tc_workspace_start(&p->workspace);
    if (l->timeout_ms)
        p->init.last_us = cage->begun_us + (l->timeout_ms + l->grace_ms + LATE_MS) * 1000;
    bool apart = p->ops && p->ops->apart;
    int rc = apart ? fork_apart(cage) : p->trees.unmounted ? fork_here(cage) : start_inside(cage);
    cage->exit_fd = p->child.pid > 0 ? p->child.pidfd : -1;
    if (rc < 0)
        return -1;
    if (!apart)
        tc_process_close_ends(cage);
    else if (p->child.theirs >= 0)
        (void)close(TAKE_FD(p->child.theirs));
    if (tc_events_open(cage) < 0 || tc_events_add(cage, p->child.report, EPOLLIN) < 0 ||
        tc_events_add(cage, tc_proxy_fd(cage), EPOLLIN) < 0 ||
        tc_events_add(cage, tc_worker_fd(p), EPOLLIN) < 0 || tc_limits_begin(cage) < 0)
        return fail_system(cage, "event descriptor");
    return 0;
}

/* Will the tool's next call have the same root? No, if an argument determines a mount. */
static bool comes_again(const struct tc_cage *cage)
{
    for (size_t i = 0; i < cage->plan->mount_count; i++)
        if (cage->plan->mounts[i].bound)
            return false;
    return true;
}

/* Finds a clause that cannot be enforced before any process of the cage runs. */
int tc_process_run(struct tc_cage *cage)
{
    if (tc_process_complete(cage) < 0 || tc_process_enforced(cage) < 0 ||
        tc_process_start(cage) < 0)
        return -1;
    if (!tc_worker_next(cage) && comes_again(cage))
        tc_spare_next(TC_PRIV(cage), cage->plan->tool);
    return 0;
}

/* ---- the child's reports ---- */

/* The granted path of the mount that failed, or NULL. */
static const char *path_of(const struct tc_cage *cage, const struct tc_report *r)
{
    const struct tc_init_config *init = &TC_PRIV(cage)->init;
    bool known = r->status >= 0 && (size_t)r->status < init->mount_count;
    return known ? init->mounts[r->status].path : NULL;
}

static int path_failed(struct tc_cage *cage, const struct tc_report *r,
                       const struct tc_stage *stage, const char *hint, const char *what)
{
    const char *path = path_of(cage, r);
    _autofree_ char *shown = tc_format("/%s", path + strspn(path, "/"));
    return tc_cage_fail(
        cage, TC_WHY_ERRNO(TOOLCAGE_EPATH, stage->name, shown ? shown : path, r->errnum, hint),
        stage->clause, "%s %s", shown ? shown : path, what);
}

/* Another process replaced the path after it was looked up: an editor that saves, or another
 * cage. */
static bool is_replaced(int errnum)
{
    return errnum == ESTALE || errnum == ENOENT || errnum == ENOTDIR || errnum == ELOOP;
}

static int replaced(struct tc_cage *cage, const struct tc_report *r, const struct tc_stage *stage)
{
    cage->changed = true;
    return path_failed(
        cage, r, stage,
        "call it again; copy a path that keeps changing: workspace = { mode = \"copy\" }",
        "was replaced while the cage was being built");
}

/* Fails the call: the tool may not enter a parent directory of the mount point, such as /root of an
 * image that belongs to another id. */
static int closed(struct tc_cage *cage, const struct tc_report *r, const struct tc_stage *stage)
{
    return path_failed(cage, r, stage,
                       "mount it where the tool can enter: { path = \"/data\", from = \"...\" }",
                       "cannot be mounted there: the tool may not enter a parent directory (of the "
                       "image or another grant)");
}

static int no_overlay(struct tc_cage *cage, const struct tc_report *r, const struct tc_stage *stage)
{
    return tc_cage_fail(cage,
                        TC_WHY_ERRNO(TOOLCAGE_EUNENFORCEABLE, stage->name, "overlay", r->errnum,
                                     "use workspace = { mode = \"copy\" }"),
                        tc_cage_unlayered(cage, stage->clause), "no overlay can be mounted on /%s",
                        path_of(cage, r));
}

int tc_process_no_directory(struct tc_cage *cage, const char *stage, int errnum)
{
    const char *last = cage->plan->cwd.items[cage->plan->cwd.count - 1];
    return tc_cage_fail(
        cage,
        TC_WHY_ERRNO(TOOLCAGE_EPATH, stage, last, errnum,
                     "create it, grant it to the tool, or name another directory with --cwd"),
        -1, "the working directory %s does not exist in the cage", last);
}

/* Does the cage's network need a packet filter? */
static bool filters(const struct tc_init_config *init)
{
    return init->network && init->network->requests[TC_GATEWAY_FILTER_V4].len;
}

static int stage_failed(struct tc_cage *cage, const struct tc_report *r)
{
    const struct tc_init_config *init = &TC_PRIV(cage)->init;
    const struct tc_stage *stage = tc_init_stage(init, r->stage);
    enum tc_process_lack lack = stage->lack;
    errno = r->errnum;
    bool of_path = lack == TC_LACK_PATH && path_of(cage, r);
    if (of_path && is_replaced(r->errnum))
        return replaced(cage, r, stage);
    if (of_path && r->errnum == EACCES)
        return closed(cage, r, stage);
    if (lack == TC_LACK_USERNS)
        return refuse_namespaces(cage, "unshare");
    if (lack == TC_LACK_CWD)
        return tc_process_no_directory(cage, stage->name, r->errnum);
    if (of_path && init->mounts[r->status].layered)
        return no_overlay(cage, r, stage);
    if (lack == TC_LACK_FILTER && !filters(init))
        lack = TC_LACK_OTHER;
    return tc_cage_fail(cage,
                        TC_WHY_ERRNO(TOOLCAGE_EUNENFORCEABLE, stage->name, stage->name, r->errnum,
                                     tc_process_fix(lack, r->errnum)),
                        stage->clause, "the cage's stage \"%s\" failed", stage->name);
}

int tc_process_exec_failed(struct tc_cage *cage, int errnum)
{
    const char *command = cage->plan->argv.items[0];
    bool missing = errnum == ENOENT || errnum == ENOTDIR;
    struct tc_why why = {.code = missing ? TOOLCAGE_ECOMMAND_NOT_FOUND : TOOLCAGE_ENOT_EXECUTABLE,
                         .stage = "exec",
                         .subject = command,
                         .errnum = errnum};
    if (missing)
        why.hint =
            "the cage sees the system directories and granted paths only; grant the program's "
            "directory, or name it in `programs`";
    else if (errnum == ENOEXEC)
        why.hint = "wrong format: another architecture, or a script without a #! line";
    else
        why.hint = "check its mode and the interpreter that it names";
    return tc_cage_fail(cage, &why, -1,
                        missing ? "command not found in the cage: %s" : "cannot execute %s",
                        command);
}

/* The terminal, for input and output; non-blocking, because a block would delay other calls. */
static int take_terminal(struct tc_cage *cage, int fd)
{
    if (fd >= 0 && cage->plan->terminal && cage->out_fd < 0) {
        cage->out_fd = fd;
        if (fcntl(fd, F_SETFL, O_NONBLOCK) == 0)
            return 1;
    } else if (fd >= 0) {
        (void)close(fd);
    }
    return fail_system(cage, "terminal");
}

static int note_ready(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    p->child.ready = true;
    if (tc_observe_begin(cage) < 0)
        return fail_system(cage, "process that observes the tool");
    cage->running = true;
    return 1;
}

/* The last report of PID 1, after it has ended and reaped all other processes. */
static void set_exit(struct tc_cage *cage, const struct tc_report *r)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    cage->over = true;
    p->child.cpu_us = r->cpu_us;
    p->child.max_rss = r->max_rss;
    cage->outcome->exit_code = WIFEXITED(r->status) ? WEXITSTATUS(r->status) : -1;
    cage->outcome->signal = WIFSIGNALED(r->status) ? WTERMSIG(r->status) : 0;
}

/* Closes the fds of a report; used for kinds that carry none. */
static void drop_fds(const int *fds, size_t count)
{
    for (size_t i = 0; i < count; i++)
        (void)close(fds[i]);
}

/* Handles one report; 0 when there was none, 1 when there was, -1 when the cage failed. */
static int take_report(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    struct tc_report r;
    size_t count = 0;
    int fds[TC_FDS_MAX];
    ssize_t n = tc_recv(p->child.report, &r, sizeof(r), fds, TC_FDS_MAX, &count, NULL, NULL, false);
    int fd = count ? fds[0] : -1;
    if (n < 0 && errno == EMSGSIZE) /* the helper had no free fd number for the passed fd */
        return tc_cage_fail(cage, TC_WHY_ERRNO(TOOLCAGE_ESYSTEM, "start", "listener", EMFILE, NULL),
                            -1, "the helper cannot receive the cage's listener");
    if (n == 0) /* closed: exit_fd signals the end */
        tc_events_drop(cage, p->child.report);
    if (n != (ssize_t)sizeof(r))
        return 0;
    if (r.kind == TC_REPORT_NETWORK)
        return tc_proxy_listen(cage, fds, count, r.status) < 0 ? -1 : 1;
    bool one = r.kind == TC_REPORT_LISTENER || r.kind == TC_REPORT_TERMINAL;
    drop_fds(fds + one, count > one ? count - one : 0);
    switch (r.kind) {
    case TC_REPORT_LISTENER:
        if (tc_observe_take(cage, count ? fd : -1) && tc_events_add(cage, fd, EPOLLIN) < 0)
            return fail_system(cage, "listener");
        return 1;
    case TC_REPORT_TERMINAL:
        return take_terminal(cage, count ? fd : -1);
    case TC_REPORT_READY:
        return note_ready(cage);
    case TC_REPORT_FAILED:
        return stage_failed(cage, &r);
    case TC_REPORT_EXEC_FAILED:
        return tc_process_exec_failed(cage, r.errnum);
    case TC_REPORT_SEGMENTS:
        p->child.segments = r.max_rss;
        return 1;
    case TC_REPORT_EXITED:
        if (!p->child.ready) /* killed before exec: no tool ran, and reap() reports the failure */
            return 0;
        set_exit(cage, &r);
        return 1;
    default:
        return 0;
    }
}

/* Handles waiting notifications at once: the tool's exec, which waits for one, comes right after
 * READY. */
static void serve_listener(struct tc_cage *cage)
{
    if (tc_notify_share(cage))
        return;
    tc_events_drop(cage, cage->observer->listener);
    tc_observe_release(cage->observer);
}

int tc_process_event(struct tc_cage *cage)
{
    int rc;
    while ((rc = take_report(cage)) > 0)
        ;
    if (rc < 0 || tc_proxy_event(cage) < 0)
        return -1;
    tc_worker_event(cage);
    serve_listener(cage);
    if (!cage->over)
        tc_limits_look(cage);
    return 0;
}

/* Was PID 1's last report lost? In a container, PID 1 also exits without a report after a kill by
 * the helper, or after the kernel has killed a process for memory: neither is a loss. */
static bool lost_word(const struct tc_process_cage *p, int status)
{
    if (!p->ops || p->trees.unmounted)
        return WEXITSTATUS(status) == TC_INIT_MUTE;
    bool killed = p->asked_us || (p->group && tc_cgroup_oomed(p->group));
    return p->child.ready && !killed;
}

/* PID 1 has ended, and with it all processes of the cage. */
void tc_process_reap(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    struct rusage usage = {0};
    int status = 0;
    if (!cage->outcome->failure.code)
        (void)tc_process_event(cage);
    while (wait4(p->child.pid, &status, 0, &usage) < 0 && errno == EINTR)
        ;
    p->child.reaped = true;
    cage->exit_fd = -1;
    if (cage->over)
        return;
    p->child.cpu_us = ((int64_t)usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 +
                      usage.ru_utime.tv_usec + usage.ru_stime.tv_usec;
    p->child.max_rss = (int64_t)usage.ru_maxrss * 1024;
    if (cage->outcome->failure.code)
        return;
    if (WIFEXITED(status) && lost_word(p, status)) {
        (void)tc_cage_fail(cage,
                           TC_WHY(TOOLCAGE_EBACKEND, "supervise", "PID 1",
                                  "the host may be out of memory: try again"),
                           -1, "the cage could not report how the tool started or ended");
        return;
    }
    if (p->child.ready) { /* killed from outside, by the helper or the kernel */
        cage->outcome->exit_code = -1;
        cage->outcome->signal = WIFSIGNALED(status) ? WTERMSIG(status) : SIGKILL;
        return;
    }
    (void)tc_cage_fail(
        cage,
        TC_WHY(TOOLCAGE_EBACKEND, "start", "PID 1",
               "the host may be out of memory: raise `memory`, or check the kernel log"),
        -1, "the cage ended before it was complete");
}
