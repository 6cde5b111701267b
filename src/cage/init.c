/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * PID 1 of a cage, once the sandbox is complete. It starts the tool as PID 2, forwards signals and
 * reaps orphans. When the tool ends, PID 1 ends all other processes and then reports; when PID 1
 * exits, the kernel kills the rest. PID 1 runs under the tool's seccomp filter and cannot be dumped
 * or traced. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "cage/init_config.h"
#include "live/inside/execute.h"
#include "live/inside/inside.h"

/* ---- in a PID namespace: the kernel kills the rest when PID 1 exits ---- */

static int adopt_nothing(void)
{
    return 0;
}

static int enter_nothing(const struct tc_init_config *init)
{
    (void)init;
    return 0;
}

/* An interactive shell ignores SIGTERM and exits on SIGHUP; SIGCONT lets stopped processes handle
 * the signals. */
static void terminate_all(const struct tc_init_config *init, pid_t tool)
{
    (void)tool;
    (void)kill(-1, SIGTERM);
    if (init->terminal && kill(-1, SIGHUP) == 0)
        (void)kill(-1, SIGCONT);
}

/* A fork that races with the signal does not complete: its parent dies. Without children PID 1 is
 * alone, because it would inherit orphans. waitpid() is cheaper than another kill(-1), for which
 * the kernel visits every process of the host. */
static bool end_all(void)
{
    while (waitpid(-1, NULL, WNOHANG) >= 0) {
        (void)kill(-1, SIGKILL);
        (void)waitpid(-1, NULL, 0);
    }
    return true;
}

static void leave_all(void)
{
}

static const struct tc_reaper_ops namespaced = {.adopt = adopt_nothing,
                                                .enter = enter_nothing,
                                                .terminate = terminate_all,
                                                .end = end_all,
                                                .leave = leave_all};

static const struct tc_reaper_ops *reaper_of(const struct tc_init_config *init)
{
    return init->reaper ? init->reaper : &namespaced;
}

/* ---- running the tool ---- */

/* A report could not be sent. PID 1 then ends, because the helper must know of each start and end
 * of a tool. The tool's process sets the variable, too: until its exec it shares PID 1's memory
 * (vfork). */
static volatile bool mute;

static void send_report(const struct tc_report *report)
{
    if (tc_send(TC_INIT_REPORT, report, sizeof(*report), NULL, 0) == 0)
        return;
    mute = true;
    _exit(TC_INIT_MUTE);
}

static void say_at(int stage, int kind, int errnum)
{
    send_report(
        &(struct tc_report){.kind = kind, .stage = stage, .errnum = errnum, .us = tc_now_us()});
}

static void report_event(int kind, int errnum)
{
    say_at(TC_INIT_STAGE_FORK, kind, errnum);
}

static _Noreturn void become_tool(const struct tc_init_config *init)
{
    sigset_t none;
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    if (setsid() < 0 || (init->terminal && ioctl(0, TIOCSCTTY, 0) < 0)) {
        report_event(TC_REPORT_FAILED, errno);
        _exit(1);
    }
    if (reaper_of(init)->enter(init) < 0) {
        say_at(TC_INIT_STAGE_RULESET, TC_REPORT_FAILED, errno);
        _exit(1);
    }
    report_event(TC_REPORT_READY, 0);
    report_event(TC_REPORT_EXEC_FAILED, tc_execute(init->programs, init->argv, init->envp));
    _exit(127);
}

/* Reaps all ended children; true once the tool itself has ended. */
static bool reap_children(pid_t tool, int *status)
{
    bool ended = false;
    pid_t pid;
    int one;
    while ((pid = waitpid(-1, &one, WNOHANG)) > 0) {
        if (pid == tool) {
            *status = one;
            ended = true;
        }
    }
    return ended;
}

enum { WATCH_US = 1000000, WATCH_OFTEN_US = 100000 };

/* Checks System V segments that no process maps: only processes in the IPC namespace can see them.
 * False: stop checking, because the excess was reported or the policy denies the call. */
static bool look_for_segments(int64_t most)
{
    struct shm_info all;
    struct shmid_ds one;
    int64_t bytes = 0;
    int last = shmctl(0, SHM_INFO, (struct shmid_ds *)&all);
    if (last < 0)
        return false;
    for (int i = 0; i <= last && all.used_ids > 0 && bytes <= most; i++)
        if (shmctl(i, SHM_STAT_ANY, &one) >= 0 && one.shm_nattch == 0)
            bytes += one.shm_segsz < (size_t)most ? (int64_t)one.shm_segsz : most + 1;
    if (bytes <= most)
        return true;
    send_report(
        &(struct tc_report){.kind = TC_REPORT_SEGMENTS, .us = tc_now_us(), .max_rss = bytes});
    return false;
}

/* Has the helper ended? A parent-death signal is not sufficient. A PID 1 that has to kill the other
 * processes itself sets none, because the signal would kill PID 1 first. And if the helper dies
 * before PID 1 sets the signal, the signal never comes. A spawner may hold a copy of the helper's
 * socket end, but dies soon after the helper. */
static bool alone(void)
{
    struct pollfd p = {.fd = TC_INIT_REPORT};
    return poll(&p, 1, 0) > 0 && (p.revents & (POLLHUP | POLLERR));
}

static void interrupt(int sig)
{
    (void)sig;
}

/* For a PID 1 that the helper cannot signal: waits for a byte on the report socket, the end of a
 * child, or the timeout. SIGTERM: a byte has arrived; -1: none. */
static int wait_word(const struct timespec *patience)
{
    struct pollfd report = {.fd = TC_INIT_REPORT, .events = POLLIN};
    sigset_t blocked;
    char word;
    (void)sigfillset(&blocked);
    (void)sigdelset(&blocked, SIGCHLD);
    if (ppoll(&report, 1, patience, &blocked) <= 0 || !(report.revents & POLLIN))
        return -1;
    return recv(TC_INIT_REPORT, &word, 1, MSG_DONTWAIT) == 1 ? SIGTERM : -1;
}

/* The helper enforces the deadline; PID 1 also does, in case the helper is stopped or blocked by a
 * file system. Returns the microseconds until the next check. */
static int64_t check_time(const struct tc_init_config *init, bool often)
{
    int64_t left = often ? WATCH_OFTEN_US : WATCH_US;
    if (init->last_us && init->last_us - tc_now_us() < left)
        left = init->last_us - tc_now_us();
    if (left <= 0 || alone()) {
        reaper_of(init)->leave();
        _exit(1);
    }
    return left;
}

static int wait_signal(const sigset_t *set, const struct tc_init_config *init, bool often)
{
    int64_t left = check_time(init, often);
    struct timespec patience = {.tv_sec = left / 1000000, .tv_nsec = left % 1000000 * 1000};
    return init->told ? wait_word(&patience) : sigtimedwait(set, NULL, &patience);
}

/* Ends all other processes, reports the tool's end and exits. The helper reads the results when it
 * receives the report, so no process of the tool may run any longer by then. */
static _Noreturn void finish_init(int status, const struct tc_reaper_ops *reaper)
{
    struct rusage used;
    if (mute) {
        reaper->leave();
        _exit(TC_INIT_MUTE);
    }
    if (!reaper->end())
        _exit(1);
    (void)getrusage(RUSAGE_CHILDREN, &used);
    send_report(&(struct tc_report){
        .kind = TC_REPORT_EXITED,
        .status = status,
        .us = tc_now_us(),
        .cpu_us = ((int64_t)used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000 +
                  used.ru_utime.tv_usec + used.ru_stime.tv_usec,
        .max_rss = (int64_t)used.ru_maxrss * 1024});
    _exit(0);
}

/* ---- a live session ---- */

struct watch {
    const struct tc_init_config *init;
    bool look; /* for segments */
};

static int64_t tick(void *context)
{
    struct watch *w = context;
    w->look = w->look && look_for_segments(w->init->segments);
    return check_time(w->init, w->look);
}

/* Starts no tool, but the commands that the helper sends. */
static _Noreturn void serve_session(const struct tc_init_config *init)
{
    struct watch watch = {.init = init, .look = init->segments > 0};
    struct tc_live_place place = {
        .talk = TC_INIT_TALK, .report = TC_INIT_REPORT, .tick = tick, .context = &watch};
    for (size_t i = 0; i < init->limit_count; i++)
        if (init->limits[i].resource == RLIMIT_NOFILE)
            place.files = &init->limits[i].value;
    report_event(TC_REPORT_READY, 0);
    tc_live_serve(&place);
    finish_init(0, reaper_of(init));
}

void tc_init_main(const struct tc_init_config *init)
{
    const struct tc_reaper_ops *reaper = reaper_of(init);
    if (init->live)
        serve_session(init);
    sigset_t set;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGCHLD);
    (void)sigaddset(&set, SIGTERM);
    (void)sigaddset(&set, TC_INIT_END);
    if (reaper->adopt() < 0 || sigprocmask(SIG_SETMASK, &set, NULL) < 0 ||
        (init->told && signal(SIGCHLD, interrupt) == SIG_ERR))
        _exit(1);
    /* vfork: no copy of the memory that exec would discard; the parent sleeps until the exec */
    pid_t tool = vfork();
    if (tool < 0) {
        report_event(TC_REPORT_FAILED, errno);
        _exit(1);
    }
    if (tool == 0)
        become_tool(init);
    /* the helper detects the end of a terminal by its last close */
    for (int fd = init->terminal ? 1 : 0; fd < TC_INIT_REPORT; fd++)
        (void)close(fd);
    if (init->talks)
        (void)close(TC_INIT_TALK);
    for (bool look = init->segments > 0;;) {
        int status = 0, sig = wait_signal(&set, init, reaper->watches || look);
        look = look && look_for_segments(init->segments);
        if (sig == SIGTERM)
            reaper->terminate(init, tool);
        if (sig == TC_INIT_END)
            finish_init(SIGKILL, reaper);
        if (reap_children(tool, &status))
            finish_init(status, reaper);
    }
}
