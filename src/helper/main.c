/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * toolcage-helper: spawns and supervises the cages of one engine. Started by the library only; see
 * protocol.h for what it is given. One thread, one loop. When the host goes, every cage is ended
 * and everything is cleaned up. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/fd.h"
#include "helper/job.h"
#include "version.h"

static struct {
    struct tc_loop loop;
    struct tc_running *jobs;
    struct ucred host; /* who made the socket */
    bool ending;
} helper;

static void close_all(const int *fds, size_t count)
{
    for (size_t i = 0; i < count; i++)
        (void)close(fds[i]);
}

static void on_host(struct tc_source *s, uint32_t events)
{
    (void)s;
    (void)events;
    helper.ending = true;
}

static void take_job(const struct tc_job *job, const int *fds, size_t count)
{
    struct tc_job expected = {.build = TC_BUILD_ID};
    size_t wanted = job->kind == TC_JOB_CALL ? (job->stdin_kind == TC_STDIN_NONE ? 2 : 3) : 1;
    if (count != wanted || memcmp(job->build, expected.build, sizeof(expected.build)) != 0) {
        close_all(fds,
                  count); /* the library sees its socket close and says that the builds differ */
        return;
    }
    struct tc_running *j =
        tc_job_new(&helper.loop, job, fds[0], count > 1 ? fds[1] : -1, count > 2 ? fds[2] : -1);
    if (!j)
        return;
    j->next = helper.jobs;
    helper.jobs = j;
}

/* Only the process that made the engine may ask; anybody else who got hold of the socket ends it.
 */
static void on_engine(struct tc_source *s, uint32_t events)
{
    struct tc_job job;
    int fds[3];
    size_t count = 0;
    pid_t pid = -1;
    uid_t uid = (uid_t)-1;
    (void)events;
    ssize_t n = tc_recv(s->fd, &job, sizeof(job), fds, TC_COUNT(fds), &count, &pid, &uid, false);
    if (n < 0 && (errno == EAGAIN || errno == EMSGSIZE))
        return;
    bool stranger = n > 0 && (pid != helper.host.pid || uid != helper.host.uid);
    if (n <= 0 || stranger) {
        close_all(fds, count);
        helper.ending = true;
        return;
    }
    if (n != (ssize_t)sizeof(job)) {
        close_all(fds, count);
        return;
    }
    take_job(&job, fds, count);
}

static void forget_finished(void)
{
    for (struct tc_running **at = &helper.jobs; *at;) {
        struct tc_running *j = *at;
        if (!j->finished) {
            at = &j->next;
            continue;
        }
        *at = j->next;
        tc_job_free(j);
    }
}

static int64_t next_deadline(void)
{
    int64_t next = 0;
    for (const struct tc_running *j = helper.jobs; j; j = j->next) {
        int64_t at = tc_job_next(j);
        if (at && (!next || at < next))
            next = at;
    }
    return next;
}

static void run(void)
{
    const struct tc_works *w;
    for (size_t i = 0; (w = tc_works_at(i)); i++)
        w->open();
    while (!helper.ending) {
        if (tc_loop_turn(&helper.loop, next_deadline()) < 0)
            break;
        int64_t now = tc_now_us();
        for (struct tc_running *j = helper.jobs; j; j = j->next)
            tc_job_tick(j, now);
        forget_finished();
    }
    for (struct tc_running *j = helper.jobs; j; j = j->next)
        j->finished = true;
    forget_finished();
    for (size_t i = 0; (w = tc_works_at(i)); i++)
        w->close();
}

/* Signals as a fresh program has them: what the host ignored or blocked must not reach a tool. */
static void reset_signals(void)
{
    sigset_t set;
    for (int sig = 1; sig < NSIG; sig++)
        (void)signal(sig, SIG_DFL);
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGPIPE); /* blocked, not ignored: ignoring would be inherited by exec */
    (void)sigprocmask(SIG_SETMASK, &set, NULL);
}

/* Every cage needs some thirty descriptors; the soft limit is a default that nobody chose for us.
 */
static void raise_limits(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) < 0)
        return;
    files.rlim_cur = files.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &files);
}

int main(void)
{
    static struct tc_source engine = {.ready = on_engine, .fd = -1},
                            host = {.ready = on_host, .fd = -1};
    socklen_t len = sizeof(helper.host);
    if (getsockopt(TC_HELPER_SOCKET, SOL_SOCKET, SO_PEERCRED, &helper.host, &len) < 0 ||
        fcntl(TC_HELPER_HOST, F_GETFD) < 0) {
        (void)fprintf(stderr, "toolcage-helper: started by libtoolcage only, not by hand\n"
                              "hint: run `toolcage doctor`\n");
        return 125;
    }
    reset_signals();
    raise_limits();
    (void)umask(0022);
    (void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    (void)fcntl(TC_HELPER_SOCKET, F_SETFD, FD_CLOEXEC);
    (void)fcntl(TC_HELPER_HOST, F_SETFD, FD_CLOEXEC);
    if (chdir("/") < 0 || tc_loop_open(&helper.loop) < 0 ||
        tc_loop_watch(&helper.loop, &engine, TC_HELPER_SOCKET, EPOLLIN) < 0 ||
        tc_loop_watch(&helper.loop, &host, TC_HELPER_HOST, EPOLLIN) < 0)
        return 125;
    run();
    return 0;
}
