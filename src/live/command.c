/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The cage of a command in a live session: streams, and a socket to the PID 1 that runs it. */
#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/arena.h"
#include "base/fd.h"
#include "cage/proxy.h"
#include "live/inside/order.h"
#include "live/session.h"
#include "live/shell.h"

/* PID 1 ends killed processes in this time, which is shorter than the helper waits for a cage. */
enum { KILLED_US = 1500000 };

enum { UNREAD_MAX = 16 << 10 /* bytes, as the kernel counts them */ };

struct command {
    struct tc_live *live;
    struct tc_arena arena;
    int reply, life;
    bool counted;   /* among the session's running commands */
    int64_t due_us; /* when the session is killed, because PID 1 has not ended the command */
    int64_t cpu_us, max_rss;
    /* of the session, when the command started */
    struct tc_seen_mark denials;
    struct tc_proxy_mark network;
    struct tc_cgroup_usage usage;
};

#define COMMAND(cage) ((struct command *)(cage)->priv)

static int fail_system(struct tc_cage *cage, const char *what)
{
    return tc_cage_fail(
        cage,
        TC_WHY_ERRNO(TOOLCAGE_ESYSTEM, "start", what, errno,
                     "run fewer commands at once, or raise the limit of open files"),
        -1, "cannot create the command's %s", what);
}

static int fail_ended(struct tc_cage *cage)
{
    return tc_cage_fail(cage,
                        TC_WHY(TOOLCAGE_ENOT_FOUND, "session", cage->plan->live_in,
                               "start a new session (toolcage session start NAME)"),
                        -1, "the live session has ended");
}

static int make_command(struct tc_cage *cage)
{
    struct tc_live *live = tc_live_find(cage->plan->live_in);
    if (!live)
        return fail_ended(cage);
    struct command *c = calloc(1, sizeof(*c));
    if (!c)
        return tc_cage_fail_memory(cage, "prepare");
    c->live = tc_live_use(live);
    c->reply = c->life = -1;
    cage->priv = c;
    cage->lingers = true;
    return 0;
}

/* ---- start ---- */

/* PID 1's ends of everything; -1: none. */
struct ends {
    int fds[TC_LIVE_FDS];
};

static void close_ends(const struct ends *ends)
{
    for (size_t i = 0; i < TC_LIVE_FDS; i++)
        if (ends->fds[i] >= 0)
            (void)close(ends->fds[i]);
}

#define _autoends_ __attribute__((cleanup(close_ends)))

static int open_pipe(int *ret_ours, int *ret_theirs)
{
    int pair[2];
    if (pipe2(pair, O_CLOEXEC) < 0)
        return -1;
    *ret_ours = pair[0];
    *ret_theirs = pair[1];
    return fcntl(pair[0], F_SETFL, O_NONBLOCK);
}

static int open_ends(struct tc_cage *cage, struct ends *ends)
{
    struct command *c = COMMAND(cage);
    int pair[2];
    ends->fds[TC_LIVE_IN] = TAKE_FD(cage->stdin_fd);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return -1;
    c->reply = pair[0];
    ends->fds[TC_LIVE_REPLY] = pair[1];
    if (open_pipe(&c->life, &ends->fds[TC_LIVE_LIFE]) < 0)
        return -1;
    if (cage->plan->terminal) /* PID 1 sends it */
        return 0;
    if (open_pipe(&cage->out_fd, &ends->fds[TC_LIVE_OUT]) < 0)
        return -1;
    return open_pipe(&cage->err_fd, &ends->fds[TC_LIVE_ERR]);
}

/* Reopening /dev/stdout checks permissions against the pipe's owner. */
static int give_streams(const struct tc_live *live, const struct ends *ends)
{
    uid_t id = TC_PRIV(live->cage)->trees.id;
    for (int i = TC_LIVE_OUT; i <= TC_LIVE_IN && id != (uid_t)-1; i++)
        if (ends->fds[i] >= 0 && fchown(ends->fds[i], id, (gid_t)id) < 0)
            return -1;
    return 0;
}

static int make_order(struct tc_cage *cage)
{
    static const char *const none[] = {NULL};
    const struct tc_plan *plan = cage->plan;
    if (!plan->argv.count || !plan->cwd.count) {
        errno = EINVAL;
        return -1;
    }
    const struct tc_live_lists lists = {
        .argv = plan->live_shell ? tc_live_shell_argv(plan, &COMMAND(cage)->arena)
                                 : (const char *const *)plan->argv.items,
        .envp = plan->env.count ? (const char *const *)plan->env.items : none,
        .programs = tc_process_programs(plan, &COMMAND(cage)->arena),
        .directories = (const char *const *)plan->cwd.items,
        .extras = {plan->rows, plan->columns, plan->live_shell}};
    errno = ENOMEM;
    return lists.programs && lists.argv ? tc_live_order_make(&lists) : -1;
}

static void read_usage(const struct tc_live *live, struct tc_cgroup_usage *ret)
{
    *ret = (struct tc_cgroup_usage){-1, -1, -1, -1, -1};
    if (live->cage && TC_PRIV(live->cage)->group)
        tc_cgroup_usage(TC_PRIV(live->cage)->group, ret);
}

static void note_start(struct command *c)
{
    c->denials = tc_observe_mark(c->live->cage);
    tc_proxy_mark(c->live->cage, &c->network);
    read_usage(c->live, &c->usage);
    tc_live_count(c->live, 1);
    c->counted = true;
}

/* The mechanisms of the session's cage, which are the command's. */
static int copy_enforced(struct tc_cage *cage)
{
    const struct tc_outcome *from = COMMAND(cage)->live->cage->outcome;
    for (size_t i = 0; i < from->enforced_count; i++) {
        bool shared = from->enforced[i].clause == TC_CLAUSE_PROC_OWN;
        struct tc_enforced *e = TC_PUSH(cage->outcome->enforced, cage->outcome->enforced_count);
        if (e)
            *e = (struct tc_enforced){
                .clause = from->enforced[i].clause,
                .mechanism = tc_format("%s%s", from->enforced[i].mechanism,
                                       shared ? "; shared by the session's commands" : "")};
        if (!e || !e->mechanism)
            return tc_cage_fail_memory(cage, "enforce");
    }
    return 0;
}

static int start_command(struct tc_cage *cage)
{
    struct command *c = COMMAND(cage);
    const int32_t word = cage->plan->live_file ? TC_LIVE_FILE : TC_LIVE_RUN;
    _autoends_ struct ends ends = {{-1, -1, -1, -1, -1, -1}};
    if (!c->live->cage || c->live->ending)
        return fail_ended(cage);
    if (open_ends(cage, &ends) < 0 || give_streams(c->live, &ends) < 0)
        return fail_system(cage, "streams");
    ends.fds[TC_LIVE_ORDER] = make_order(cage);
    if (ends.fds[TC_LIVE_ORDER] < 0)
        return fail_system(cage, "arguments");
    if (copy_enforced(cage) < 0)
        return -1;
    note_start(c);
    size_t count = cage->plan->terminal       ? (size_t)TC_LIVE_OUT
                   : ends.fds[TC_LIVE_IN] < 0 ? (size_t)TC_LIVE_IN
                                              : (size_t)TC_LIVE_FDS;
    if (tc_send_now(TC_PRIV(c->live->cage)->talk, &word, sizeof(word), ends.fds, count) < 0)
        return errno == EPIPE || errno == ECONNRESET ? fail_ended(cage)
                                                     : fail_system(cage, "process");
    cage->event_fd = c->reply;
    cage->exit_fd = c->life;
    return 0;
}

/* ---- the command's reports ---- */

static int fail_start(struct tc_cage *cage, const struct tc_live_report *r)
{
    errno = r->errnum;
    if (r->step == TC_LIVE_AT_CWD)
        return tc_process_no_directory(cage, "cwd", r->errnum);
    if (r->step == TC_LIVE_AT_FORK && r->errnum == ESHUTDOWN)
        return fail_ended(cage);
    if (r->step == TC_LIVE_AT_FORK && r->errnum == EBUSY)
        return tc_cage_fail(cage,
                            TC_WHY(TOOLCAGE_EBACKEND, "session", cage->plan->live_in,
                                   "wait until one of them has ended"),
                            -1, "the session runs %d commands, its maximum", TC_LIVE_COMMANDS_MAX);
    if (r->step == TC_LIVE_AT_STREAMS && cage->plan->terminal)
        return tc_cage_fail(cage,
                            TC_WHY_ERRNO(TOOLCAGE_EBACKEND, "session", "terminal", r->errnum,
                                         "end commands that have a terminal, or run it without"),
                            -1, "the session could not open a terminal for the command");
    return tc_cage_fail(cage,
                        TC_WHY_ERRNO(TOOLCAGE_EBACKEND, "session", "process", r->errnum,
                                     r->errnum == EAGAIN
                                         ? "end some of the session's processes, or start a "
                                           "session with more `pids`"
                                         : "end the session and start a new one"),
                        -1, "the session could not start the command");
}

static void set_exit(struct tc_cage *cage, const struct tc_live_report *r)
{
    struct command *c = COMMAND(cage);
    cage->over = true;
    c->cpu_us = r->cpu_us;
    c->max_rss = r->max_rss;
    cage->outcome->exit_code = WIFEXITED(r->status) ? WEXITSTATUS(r->status) : -1;
    cage->outcome->signal = WIFSIGNALED(r->status) ? WTERMSIG(r->status) : 0;
}

/* The terminal, for input and output; non-blocking, because a block would delay other calls. */
static int take_terminal(struct tc_cage *cage, int fd)
{
    if (fd >= 0 && cage->plan->terminal && cage->out_fd < 0) {
        cage->out_fd = fd;
        if (fcntl(fd, F_SETFL, O_NONBLOCK) == 0)
            return 0;
    } else if (fd >= 0) {
        (void)close(fd);
    }
    return fail_system(cage, "terminal");
}

static bool next_report(const struct command *c, struct tc_live_report *ret, int *ret_fd)
{
    size_t count = 0;
    int fd = -1;
    ssize_t n = tc_recv(c->reply, ret, sizeof(*ret), &fd, 1, &count, NULL, NULL, false);
    *ret_fd = count ? fd : -1;
    if (n == (ssize_t)sizeof(*ret) && (ret->kind == TC_LIVE_TERMINAL || !count))
        return true;
    if (count)
        (void)close(fd);
    return false;
}

static int event_of_command(struct tc_cage *cage)
{
    struct command *c = COMMAND(cage);
    struct tc_live_report r;
    int fd;
    int rc = 0;
    if (c->due_us && tc_now_us() >= c->due_us) {
        c->due_us = cage->look_at_us = 0;
        tc_live_kill(c->live, "it was killed because a command in it did not end");
    }
    while (rc == 0 && !cage->over && next_report(c, &r, &fd)) {
        if (r.kind == TC_LIVE_TERMINAL)
            rc = take_terminal(cage, fd);
        else if (r.kind == TC_LIVE_READY)
            cage->running = true;
        else if (r.kind == TC_LIVE_FAILED)
            rc = fail_start(cage, &r);
        else if (r.kind == TC_LIVE_EXEC_FAILED)
            rc = tc_process_exec_failed(cage, r.errnum);
        else if (r.kind == TC_LIVE_EXITED)
            set_exit(cage, &r);
    }
    return rc;
}

static void signal_command(struct tc_cage *cage, bool at_once)
{
    const char word = at_once ? TC_LIVE_SIGNAL_KILL : TC_LIVE_SIGNAL_TERM;
    struct command *c = COMMAND(cage);
    (void)tc_send_now(c->reply, &word, 1, NULL, 0);
    if (at_once && !c->due_us)
        c->due_us = cage->look_at_us = tc_now_us() + KILLED_US;
}

/* Not while PID 1 is behind: the socket must have room for the kill. */
static void pass_signal(struct tc_cage *cage, int number)
{
    const struct command *c = COMMAND(cage);
    const char word = (char)number;
    int unread = 0;
    if (c && c->reply >= 0 && number > 0 && number <= TC_LIVE_SIGNAL_MAX &&
        ioctl(c->reply, SIOCOUTQ, &unread) == 0 && unread < UNREAD_MAX)
        (void)tc_send_now(c->reply, &word, 1, NULL, 0);
}

/* PID 1 has closed the command's pipe: the command has ended, or the session has. */
static void reap_command(struct tc_cage *cage)
{
    struct command *c = COMMAND(cage);
    struct tc_outcome *o = cage->outcome;
    if (!o->failure.code)
        (void)event_of_command(cage);
    (void)close(TAKE_FD(c->life));
    cage->exit_fd = -1;
    if (cage->over || o->failure.code)
        return;
    o->exit_code = -1;
    o->signal = SIGKILL;
    if (cage->running)
        tc_outcome_note(o, strdup("its live session ended while it ran"));
    else
        (void)fail_ended(cage);
}

/* ---- the end ---- */

static void end_count(struct command *c)
{
    if (c->counted)
        tc_live_count(c->live, -1);
    c->counted = false;
}

static const char *usage_of_command(struct tc_cage *cage)
{
    struct command *c = COMMAND(cage);
    struct tc_outcome *o = cage->outcome;
    struct tc_cgroup_usage now;
    read_usage(c->live, &now);
    if (c->live->cage && cage->running) { /* other commands may have caused some, too */
        tc_observe_since(c->live->cage, &c->denials, o);
        tc_proxy_since(c->live->cage, &c->network, o);
    }
    end_count(c);
    o->cpu_us = c->cpu_us;
    o->memory_peak = c->max_rss ? c->max_rss : -1;
    o->pids_peak = -1;
    if (now.oom_kills > c->usage.oom_kills)
        return "memory";
    return now.pids_refused > c->usage.pids_refused ? "pids" : NULL;
}

static bool destroy_command(struct tc_cage *cage, enum tc_may_block may_block)
{
    struct command *c = COMMAND(cage);
    (void)may_block;
    tc_cage_close_streams(cage);
    if (!c)
        return true;
    end_count(c);
    if (c->reply >= 0)
        (void)close(c->reply);
    if (c->life >= 0)
        (void)close(c->life);
    tc_arena_done(&c->arena);
    free(c->denials.counts);
    tc_live_leave(c->live);
    free(c);
    cage->priv = NULL;
    return true;
}

const struct tc_executor tc_live_command_executor = {
    .name = "process",
    .make = make_command,
    .start = start_command,
    .event = event_of_command,
    .signal = signal_command,
    .pass_signal = pass_signal,
    .reap = reap_command,
    .usage = usage_of_command,
    .destroy = destroy_command,
};
