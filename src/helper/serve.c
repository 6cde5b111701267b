/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Starts and supervises the cages of one engine; protocol.h describes its input. An event loop on
 * one thread does all work, except steps that may wait for a file system, which run in worker
 * threads. When the library ends, the helper ends all cages and cleans up. */
#include "helper/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/fd.h"
#include "helper/inline.h"
#include "helper/job.h"
#include "version.h"
#include "workspace/state.h"

enum {
    PATIENCE_US = 2000000, /* how long the helper's exit waits for running jobs */
    CANNOT = 125           /* exit status of a helper that cannot start */
};

static struct {
    struct tc_loop loop;
    struct tc_workers workers;
    struct tc_job_record *jobs;
    struct ucred host;       /* the process that created the socket */
    struct tc_inline stream; /* instead of the socket; its loop is NULL without a stream */
    bool ending;
} helper;

/* Stops watching the fd, which stays readable and would wake the loop again while the cages end. */
static void end_soon(struct tc_source *s)
{
    helper.ending = true;
    (void)tc_loop_watch(&helper.loop, s, -1, 0);
}

/* `inside` is the plan if it came with the job. */
static void take_job(const struct tc_job *job, const char *inside, const int *fds, size_t count)
{
    struct tc_job expected = {.build = TC_BUILD_ID};
    bool plan =
        job->kind == TC_JOB_CALL || job->kind == TC_JOB_CHANGES || job->kind == TC_JOB_SESSIONS;
    bool input = plan && job->stdin_kind != TC_STDIN_NONE;
    bool secrets = job->kind == TC_JOB_CALL && job->secrets;
    bool exchanges = job->kind == TC_JOB_CALL && job->exchanges;
    bool file = plan && !inside;
    size_t wanted = 1 + (size_t)file + (size_t)input + (size_t)secrets + (size_t)exchanges;
    if (count != wanted || memcmp(job->build, expected.build, sizeof(expected.build)) != 0) {
        /* the library detects the closed socket and reports that the builds differ */
        tc_close_all(fds, count);
        return;
    }
    const struct tc_job_fds given = {.socket = fds[0],
                                     .plan = file ? fds[1] : -1,
                                     .input = input ? fds[1 + file] : -1,
                                     .secrets = secrets ? fds[count - 1 - exchanges] : -1,
                                     .exchanges = exchanges ? fds[count - 1] : -1,
                                     .inside = inside};
    struct tc_job_record *j = tc_job_new(&helper.loop, &helper.workers, job, &given, helper.jobs);
    if (j)
        helper.jobs = j;
}

/* Does the packet have exactly the length that its job announces? */
static bool is_whole(const struct tc_job *job, size_t length)
{
    if (length < sizeof(*job) || job->plan_bytes < 0)
        return false;
    return length == sizeof(*job) + (size_t)job->plan_bytes &&
           (!job->plan_bytes || job->kind == TC_JOB_CALL);
}

/* Only the process that created the engine may send jobs; a message of any other process ends the
 * helper. */
static void on_engine(struct tc_source *s)
{
    static union {
        struct tc_job job;
        char bytes[sizeof(struct tc_job) + TC_PLAN_INSIDE_MAX];
    } in;
    int fds[5];
    size_t count = 0;
    pid_t pid = -1;
    uid_t uid = (uid_t)-1;
    ssize_t n = tc_recv(s->fd, &in, sizeof(in), fds, TC_COUNT(fds), &count, &pid, &uid, false);
    if (n < 0 && (errno == EAGAIN || errno == EMSGSIZE))
        return;
    bool stranger = n > 0 && (pid != helper.host.pid || uid != helper.host.uid);
    if (n <= 0 || stranger) {
        tc_close_all(fds, count);
        end_soon(s);
        return;
    }
    if (!is_whole(&in.job, (size_t)n)) {
        tc_close_all(fds, count);
        return;
    }
    take_job(&in.job, in.job.plan_bytes ? in.bytes + sizeof(in.job) : NULL, fds, count);
}

static void forget_finished(void)
{
    for (struct tc_job_record **at = &helper.jobs; *at;) {
        struct tc_job_record *j = *at;
        if (!tc_job_over(j)) {
            at = &j->next;
            continue;
        }
        *at = j->next;
        tc_job_free(j);
    }
}

/* The next deadline of all jobs; also does due work of the shared host state. */
static int64_t next_deadline(void)
{
    int64_t next = tc_host_ops->tick(tc_now_us());
    for (const struct tc_job_record *j = helper.jobs; j; j = j->next) {
        int64_t at = tc_job_next(j);
        if (at && (!next || at < next))
            next = at;
    }
    return next;
}

static int turn(int64_t until_us)
{
    if (tc_loop_turn(&helper.loop, until_us) < 0)
        return -1;
    int64_t now = tc_now_us();
    for (struct tc_job_record *j = helper.jobs; j; j = j->next)
        tc_job_tick(j, now);
    forget_finished();
    return 0;
}

/* Cages that a file system blocks longer are left to the kernel, which ends them with this
 * process. */
static void end_all(void)
{
    int64_t until = tc_now_us() + PATIENCE_US;
    for (struct tc_job_record *j = helper.jobs; j; j = j->next)
        tc_job_end(j);
    forget_finished();
    while ((helper.jobs || tc_job_sweeping()) && tc_now_us() < until)
        if (turn(until) < 0)
            break;
}

static void run_loop(void)
{
    tc_host_ops->open();

    /* a call that is already waiting is handled before tick() prestarts anything */
    helper.ending = turn(tc_now_us()) < 0 || helper.ending;
    while (!helper.ending && !helper.stream.over)
        if (turn(next_deadline()) < 0)
            break;
    if (helper.stream.loop)
        tc_inline_close(&helper.stream);
    end_all();
    /* a running sweep uses what close() frees; in that case a later helper sweeps again */
    if (!tc_job_sweeping())
        tc_host_ops->close();
}

/* The setup that does not depend on how jobs arrive. */
static bool open_all(const char *state)
{
    tc_inherited_reset();
    (void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    /* there are few worker threads, and each clone of a cage copies the memory map */
    (void)mallopt(M_ARENA_MAX, 1);
    tc_state_set(state && state[0] == '/' ? state : NULL);
    return chdir("/") == 0 && tc_loop_open(&helper.loop) == 0 &&
           tc_workers_open(&helper.workers, &helper.loop) == 0;
}

_Noreturn void tc_helper_serve(const char *state)
{
    static struct tc_source engine = {.ready = on_engine, .fd = -1},
                            host = {.ready = end_soon, .fd = -1};
    socklen_t len = sizeof(helper.host);
    if (getsockopt(TC_HELPER_SOCKET, SOL_SOCKET, SO_PEERCRED, &helper.host, &len) < 0 ||
        fcntl(TC_HELPER_HOST, F_GETFD) < 0) {
        (void)fprintf(
            stderr,
            "toolcage-helper: only libtoolcage starts this program\nhint: run `toolcage doctor`\n");
        _exit(CANNOT);
    }
    (void)fcntl(TC_HELPER_SOCKET, F_SETFD, FD_CLOEXEC);
    (void)fcntl(TC_HELPER_HOST, F_SETFD, FD_CLOEXEC);
    if (!open_all(state) || tc_loop_watch(&helper.loop, &engine, TC_HELPER_SOCKET, EPOLLIN) < 0 ||
        tc_loop_watch(&helper.loop, &host, TC_HELPER_HOST, EPOLLIN) < 0)
        _exit(CANNOT);
    run_loop();
    _exit(0); /* immediately, even while worker threads run */
}

_Noreturn void tc_helper_serve_stream(int from, int to, const struct tc_serve_place *place)
{
    (void)fcntl(from, F_SETFD, FD_CLOEXEC);
    (void)fcntl(to, F_SETFD, FD_CLOEXEC);
    if (!open_all(NULL) || tc_inline_open(&helper.stream, &helper.loop, from, to, take_job) < 0)
        _exit(CANNOT);
    if (place) {
        tc_carried_open(&helper.stream.carried, place->grants, place->owner);
        helper.stream.renew = place->renew;
        helper.stream.again = place->again;
    }
    run_loop();
    _exit(0);
}
