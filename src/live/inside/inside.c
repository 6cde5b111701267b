/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "live/inside/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/sys.h"
#include "live/files/files.h"
#include "live/inside/execute.h"
#include "live/inside/family.h"
#include "live/inside/order.h"
#include "live/inside/shell_state.h"
#include "live/inside/sockets.h"
#include "live/inside/terminal.h"

struct command {
    pid_t pid; /* 0: the place is free */
    int reply, life;
    bool dropped; /* the helper has closed its end of `reply` */
    int state;    /* of the session's shell; -1: the command is none */
    off_t old_state;
};

/* Memory that only a session's PID 1 touches. */
static struct command commands[TC_LIVE_COMMANDS_MAX];
static bool ending, ended;
static int proxy = -1; /* requests sockets for published ports; -1: none */

/* ---- the command's process, before its exec ---- */

/* What the order of a process says. */
struct order {
    int *fds;
    bool input;    /* fds[TC_LIVE_IN] is given */
    bool terminal; /* instead of streams */
    bool file;     /* a file action instead of a program */
    const struct rlimit *files;
};

static void tell(int reply, const struct tc_live_report *report)
{
    (void)tc_send_now(reply, report, sizeof(*report), NULL, 0);
}

static void tell_failed(int reply, int step, int errnum)
{
    tell(reply, &(struct tc_live_report){.kind = TC_LIVE_FAILED, .step = step, .errnum = errnum});
}

static int place_streams(const int *fds, bool input)
{
    _autofd_ int null = input ? -1 : tc_open_null();
    const int ends[] = {input ? fds[TC_LIVE_IN] : null, fds[TC_LIVE_OUT], fds[TC_LIVE_ERR]};
    for (int i = 0; i < (int)TC_COUNT(ends); i++)
        if (ends[i] < 0 || dup2(ends[i], i) < 0)
            return -1;
    return 0;
}

/* A Landlock domain of the command. It restricts nothing that the cage allows, but processes of
 * other domains can neither trace this command nor open its streams in /proc. */
static bool part_from_others(void)
{
    /* a right that every cage denies */
    const struct landlock_ruleset_attr attr = {.handled_access_fs = LANDLOCK_ACCESS_FS_MAKE_BLOCK};
    _autofd_ int ruleset =
        (int)tc_sys(SYS_landlock_create_ruleset, TC_ARG(&attr), sizeof(attr), 0, 0, 0, 0);
    return ruleset >= 0 && tc_sys(SYS_landlock_restrict_self, ruleset, 0, 0, 0, 0, 0) == 0;
}

/* Moves the fd of the reports away from the number of the state's. */
static int place_state(int *reply, int state)
{
    if (state < 0)
        return 0;
    if (*reply <= TC_STATE_FD)
        *reply = fcntl(*reply, F_DUPFD_CLOEXEC, TC_STATE_FD + 1);
    if (*reply < 0 || (state != TC_STATE_FD && dup2(state, TC_STATE_FD) < 0))
        return -1;
    return fcntl(TC_STATE_FD, F_SETFD, 0);
}

static int place_all(const struct tc_live_lists *lists, const struct order *order)
{
    return lists->extras.rows ? tc_live_terminal_open(order->fds[TC_LIVE_REPLY], &lists->extras)
                              : place_streams(order->fds, order->input);
}

/* Without an exec, the descriptors of PID 1 must be closed here. */
static _Noreturn void become_file_action(const struct tc_live_lists *lists)
{
    _exit(tc_close_range(STDERR_FILENO + 1, ~0U, 0) < 0 ? 1 : tc_files_run(lists->argv));
}

static _Noreturn void become_command(const struct tc_live_lists *lists, const struct order *order,
                                     int state)
{
    int reply = order->fds[TC_LIVE_REPLY];
    sigset_t none;
    (void)signal(SIGCHLD, SIG_DFL);
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    if (setsid() < 0 || place_all(lists, order) < 0 || place_state(&reply, state) < 0) {
        tell_failed(reply, TC_LIVE_AT_STREAMS, errno);
        _exit(1);
    }
    if (tc_enter_first(lists->directories) < 0) {
        tell_failed(reply, TC_LIVE_AT_CWD, errno);
        _exit(1);
    }
    struct tc_live_report report = {.kind = TC_LIVE_READY, .status = part_from_others()};
    if (order->files && setrlimit(RLIMIT_NOFILE, order->files) < 0) {
        tell_failed(reply, TC_LIVE_AT_FORK, errno);
        _exit(1);
    }
    tell(reply, &report);
    if (order->file)
        become_file_action(lists);
    report = (struct tc_live_report){.kind = TC_LIVE_EXEC_FAILED};
    report.errnum = tc_execute(lists->programs, (char *const *)(uintptr_t)lists->argv,
                               (char *const *)(uintptr_t)lists->envp);
    tell(reply, &report);
    _exit(127);
}

/* ---- PID 1 ---- */

static struct command *find_place(void)
{
    for (size_t i = 0; i < TC_COUNT(commands); i++)
        if (!commands[i].pid)
            return &commands[i];
    return NULL;
}

/* A copy of PID 1, not vfork(): another command could stop the new process before its exec, and PID
 * 1 would wait for it. */
static void start_command(const struct order *order)
{
    int *fds = order->fds;
    struct tc_live_lists lists;
    struct command *place = ending ? NULL : find_place();
    void *map;
    size_t size;
    if (!place) {
        tell_failed(fds[TC_LIVE_REPLY], TC_LIVE_AT_FORK, ending ? ESHUTDOWN : EBUSY);
        return;
    }
    if (!tc_live_order_open(fds[TC_LIVE_ORDER], &lists, &map, &size)) {
        tell_failed(fds[TC_LIVE_REPLY], TC_LIVE_AT_ORDER, EBADMSG);
        return;
    }
    if ((lists.extras.rows > 0) != order->terminal ||
        (order->file && (lists.extras.rows || lists.extras.shell))) {
        tell_failed(fds[TC_LIVE_REPLY], TC_LIVE_AT_ORDER, EBADMSG);
        (void)munmap(map, size);
        return;
    }
    struct command c = {.state = -1};
    if (lists.extras.shell)
        c.state = tc_shell_state_open(&c.old_state);
    bool able = c.state >= 0 || !lists.extras.shell;
    c.pid = able ? (pid_t)tc_sys(SYS_clone, SIGCHLD, 0, 0, 0, 0, 0) : -1;
    if (c.pid == 0)
        become_command(&lists, order, c.state);
    if (c.pid < 0) {
        tell_failed(fds[TC_LIVE_REPLY], TC_LIVE_AT_FORK, errno);
        if (c.state >= 0)
            (void)close(c.state);
    } else {
        c.reply = TAKE_FD(fds[TC_LIVE_REPLY]);
        c.life = TAKE_FD(fds[TC_LIVE_LIFE]);
        *place = c;
    }
    (void)munmap(map, size);
}

static void take_run(int *fds, size_t count, bool file, const struct rlimit *files)
{
    const struct order order = {.fds = fds,
                                .input = count == TC_LIVE_FDS,
                                .terminal = count == TC_LIVE_OUT,
                                .file = file,
                                .files = files};
    if (order.input || order.terminal || count == TC_LIVE_IN)
        start_command(&order);
    for (size_t i = 0; i < count; i++)
        if (fds[i] >= 0)
            (void)close(fds[i]);
}

static void take_word(const struct tc_live_place *place)
{
    int32_t kind = 0;
    int fds[TC_LIVE_FDS];
    size_t count = 0;
    ssize_t n =
        tc_recv(place->talk, &kind, sizeof(kind), fds, TC_COUNT(fds), &count, NULL, NULL, false);
    if (n < 0)
        return;
    if (n == sizeof(kind) && (kind == TC_LIVE_RUN || kind == TC_LIVE_FILE)) {
        take_run(fds, count, kind == TC_LIVE_FILE, place->files);
        return;
    }
    if (n == sizeof(kind) && kind == TC_LIVE_SOCKETS && count == 1 && proxy < 0)
        proxy = TAKE_FD(fds[0]);
    else
        tc_close_all(fds, count);
    ended = ended || n == 0 || kind == TC_LIVE_END;
    if (kind == TC_LIVE_TERMINATE) {
        ending = true;
        (void)kill(-1, SIGTERM);
    }
}

static void take_signal(struct command *c)
{
    char word = 0;
    ssize_t n = recv(c->reply, &word, 1, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    c->dropped = n <= 0;
    bool numbered = n == 1 && word > 0 && word <= TC_LIVE_SIGNAL_MAX;
    tc_family_signal(c->pid, numbered ? word : word == TC_LIVE_SIGNAL_TERM ? SIGTERM : SIGKILL);
}

static void end_command(struct command *c, int status, const struct rusage *used)
{
    tell(c->reply,
         &(struct tc_live_report){
             .kind = TC_LIVE_EXITED,
             .status = status,
             .cpu_us = ((int64_t)used->ru_utime.tv_sec + used->ru_stime.tv_sec) * 1000000 +
                       used->ru_utime.tv_usec + used->ru_stime.tv_usec,
             .max_rss = (int64_t)used->ru_maxrss * 1024});
    (void)close(c->reply);
    if (c->state >= 0)
        tc_shell_state_close(c->state, c->old_state);
    (void)close(c->life); /* the next command finds the state */
    *c = (struct command){0};
}

/* Reaps all ended processes. False: no process is left. */
static bool reap(void)
{
    struct rusage used;
    int status;
    pid_t pid;
    while ((pid = wait4(-1, &status, WNOHANG, &used)) > 0)
        for (size_t i = 0; i < TC_COUNT(commands); i++)
            if (commands[i].pid == pid)
                end_command(&commands[i], status, &used);
    return pid == 0;
}

static void interrupt(int sig)
{
    (void)sig;
}

/* PID 1's streams were made for a tool; here they would keep the helper's ends open. */
static void drop_streams(void)
{
    _autofd_ int null = open("/dev/null", O_RDWR | O_NOCTTY | O_CLOEXEC);
    for (int i = 0; null >= 0 && i < 3; i++)
        (void)dup2(null, i);
}

static void wait_events(const struct tc_live_place *place)
{
    struct pollfd fds[TC_LIVE_COMMANDS_MAX + 3] = {{.fd = place->talk, .events = POLLIN},
                                                   {.fd = place->report},
                                                   {.fd = proxy, .events = POLLIN}};
    int64_t us = place->tick(place->context);
    struct timespec patience = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};
    sigset_t blocked;
    (void)sigfillset(&blocked);
    (void)sigdelset(&blocked, SIGCHLD);
    for (size_t i = 0; i < TC_COUNT(commands); i++)
        fds[i + 3] =
            (struct pollfd){.fd = commands[i].pid && !commands[i].dropped ? commands[i].reply : -1,
                            .events = POLLIN};
    if (ppoll(fds, TC_COUNT(fds), &patience, &blocked) <= 0)
        return;
    for (size_t i = 0; i < TC_COUNT(commands); i++)
        if (fds[i + 3].revents)
            take_signal(&commands[i]);
    if (fds[2].revents && !tc_live_lend_sockets(proxy))
        (void)close(TAKE_FD(proxy));
    if (fds[0].revents)
        take_word(place);
}

void tc_live_serve(const struct tc_live_place *place)
{
    sigset_t chld;
    (void)sigemptyset(&chld);
    (void)sigaddset(&chld, SIGCHLD);
    if (fcntl(place->talk, F_SETFD, FD_CLOEXEC) < 0 || sigprocmask(SIG_SETMASK, &chld, NULL) < 0 ||
        signal(SIGCHLD, interrupt) == SIG_ERR)
        return;
    drop_streams();
    while (!ended) {
        bool left = reap();
        if (ending && !left)
            return;
        wait_events(place);
    }
}
