/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "helper/job.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <toolcage/result.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/reserve.h"
#include "helper/deliver.h"
#include "workspace/brief.h"
#include "workspace/workspace.h"

enum { READ_SHARE = 65536, FEED_SHARE = 65536 };
enum {
    LOOK_US = 100000,
    CLEAR_US = 1000000,      /* for what ends by itself, or was told to, until it is told again */
    STUCK_US = 2000000,      /* that the kernel may take to end what was killed */
    GATHERING_US = 120000000 /* over what the gathering bounds itself to */
};

static void on_socket(struct tc_source *s, uint32_t events);
static void on_output(struct tc_source *s, uint32_t events);
static void on_event(struct tc_source *s, uint32_t events);
static void on_exit_ready(struct tc_source *s, uint32_t events);
static void on_feed(struct tc_source *s, uint32_t events);
static void on_collected(struct tc_source *s, uint32_t events);

static void (*const handlers[TC_ROLES])(struct tc_source *, uint32_t) = {
    [TC_ROLE_SOCKET] = on_socket,     [TC_ROLE_OUT] = on_output,
    [TC_ROLE_ERR] = on_output,        [TC_ROLE_EVENT] = on_event,
    [TC_ROLE_EXIT] = on_exit_ready,   [TC_ROLE_FEED] = on_feed,
    [TC_ROLE_COLLECT] = on_collected, [TC_ROLE_TYPED] = tc_terminal_typed,
};

void tc_job_mark(struct tc_running *j, const char *step, int64_t since_us)
{
    struct tc_timing *t = TC_PUSH(j->outcome.timings, j->outcome.timing_count);
    if (t)
        *t = (struct tc_timing){.step = strdup(step), .us = tc_now_us() - since_us};
}

/* ---- the end ---- */

/* What the call came to, decided once, when everything about it is known. */
void tc_job_judge(struct tc_running *j, const char *counter)
{
    struct tc_outcome *o = &j->outcome;
    bool failed = o->exit_code != 0 || o->signal != 0;
    if (o->failure.code)
        return; /* status was set with it */
    o->status = failed ? TOOLCAGE_STATUS_FAILED : TOOLCAGE_STATUS_OK;
    /* a tool that comes to a good end without its child, which was killed for memory, was limited
     */
    bool killed = counter && strcmp(counter, "memory") == 0;
    const char *limit = j->limit ? j->limit : failed || killed ? counter : NULL;
    if (j->cancelled)
        o->status = TOOLCAGE_STATUS_CANCELLED;
    else if (j->timed_out)
        o->status = TOOLCAGE_STATUS_TIMEOUT;
    else if (limit) {
        o->status = TOOLCAGE_STATUS_LIMIT;
        o->limit = strdup(limit);
    }
}

static void unwatch_cage(struct tc_running *j, enum tc_role but)
{
    for (int role = TC_ROLE_OUT; role < TC_ROLES; role++)
        if (role != (int)but)
            (void)tc_job_watch(j, (enum tc_role)role, -1, 0);
    j->cage.look_at_us = 0;
}

static void work_release(struct tc_task *task)
{
    struct tc_running *j = task->owner;
    (void)tc_cage_destroy(&j->cage, TC_PACE_LONG);
}

static void on_released(struct tc_task *task)
{
    struct tc_running *j = task->owner;
    j->hold = TC_HOLD_NONE;
    (void)tc_cage_destroy(&j->cage, TC_PACE_QUICK);
}

/* What is left of the cage ends; how soon is the kernel's matter, or that of who ends the rest, and
 * nobody waits here. An end that cannot be watched for is looked for again. */
static void await_end(struct tc_running *j)
{
    bool watched = tc_job_watch(j, TC_ROLE_EXIT, j->cage.exit_fd, EPOLLIN);
    j->hold = TC_HOLD_DYING;
    j->kill_at_us = tc_now_us() + (watched ? CLEAR_US : LOOK_US);
}

void tc_job_clear(struct tc_running *j)
{
    unwatch_cage(j, TC_ROLE_EXIT);
    if (j->cage.exit_fd >= 0) {
        if (!j->cage.over)
            j->cage.works->signal(&j->cage, true);
        await_end(j);
        return;
    }
    if (tc_cage_destroy(&j->cage, TC_PACE_QUICK))
        return;
    j->hold = TC_HOLD_CLEARING;
    j->task = (struct tc_task){.work = work_release, .done = on_released, .owner = j};
    if (tc_workers_give(j->workers, &j->task) == 0)
        return;
    j->hold = TC_HOLD_NONE; /* at the cost of waiting here */
    while (!tc_cage_destroy(&j->cage, TC_PACE_LONG))
        ;
}

/* Clearing away is not what the host waits for. */
void tc_job_answer(struct tc_running *j)
{
    struct tc_stream *streams[] = {&j->outcome.out, &j->outcome.err};
    if (j->trials && tc_job_next_trial(j))
        return;
    for (size_t i = 0; i < TC_COUNT(streams); i++) {
        tc_output_finish(&j->output[i], 0, streams[i]);
        tc_output_done(&j->output[i]);
    }
    j->end_at_us = j->kill_at_us = j->stuck_at_us = j->refuse_at_us = 0;
    j->ended = true;
    tc_reserve_open();
    tc_deliver(j);
    (void)tc_reserve_close();
    j->cage.outcome = &j->aside; /* nobody waits for what it has to say from here on */
    if (j->hold == TC_HOLD_NONE)
        tc_job_clear(j);
    else if (j->hold == TC_HOLD_DYING)
        await_end(j);
}

/* A cage that cannot be watched is not run: nobody would see its end. */
int tc_job_not_watched(struct tc_running *j)
{
    return tc_cage_fail(&j->cage,
                        TC_WHY_ERRNO(TOOLCAGE_ESYSTEM, "supervise", "epoll", errno,
                                     "raise fs.epoll.max_user_watches, or free memory"),
                        -1, "the helper cannot watch the cage");
}

static void read_output(struct tc_running *j, int stream, int share)
{
    char bytes[READ_SHARE];
    int fd = stream == 0 ? j->cage.out_fd : j->cage.err_held ? -1 : j->cage.err_fd;
    while (share > 0 && fd >= 0) {
        ssize_t n = read(fd, bytes, sizeof(bytes));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno != EIO) /* a terminal's end */
            return;
        if (n <= 0) {
            (void)tc_job_watch(j, stream == 0 ? TC_ROLE_OUT : TC_ROLE_ERR, -1, 0);
            return;
        }
        tc_output_add(&j->output[stream], bytes, (size_t)n);
        share -= (int)n;
    }
}

/* A commit that has begun goes to its end, and the answer with it. */
static void end_gathering(struct tc_running *j)
{
    if (!tc_workspace_cancel(&j->cage))
        return;
    if (j->cancelled && !j->outcome.failure.code)
        j->outcome.status = TOOLCAGE_STATUS_CANCELLED;
    j->outcome.omitted_changes++;
    tc_job_answer(j);
}

/* Before the walls stand there is no tool that could end by itself. */
static void begin_end(struct tc_running *j, bool at_once)
{
    if (j->ended) { /* then what is left of it is */
        j->kill_at_us = 0;
        if (j->hold == TC_HOLD_DYING) {
            j->cage.works->signal(&j->cage, true);
            await_end(j);
        }
        return;
    }
    if (j->hold == TC_HOLD_PREPARING) {
        tc_job_abandon(j);
        return;
    }
    if (j->hold == TC_HOLD_COLLECTING) {
        end_gathering(j);
        return;
    }
    at_once = at_once || !j->cage.running;
    if (!j->kill_at_us && !at_once) {
        j->cage.works->signal(&j->cage, false);
        j->kill_at_us = tc_now_us() + tc_us_of_ms(j->plan.limits.grace_ms);
    }
    if (at_once) {
        j->cage.works->signal(&j->cage, true);
        j->kill_at_us = INT64_MAX;
        j->stuck_at_us = j->stuck_at_us ? j->stuck_at_us : tc_now_us() + STUCK_US;
    }
}

void tc_job_give_up(struct tc_running *j)
{
    if (j->sources[TC_ROLE_EXIT].fd < 0) {
        tc_job_answer(j);
        return;
    }
    unwatch_cage(j, TC_ROLE_EXIT);
    j->given_up = true;
    begin_end(j, true);
}

/* The kernel cannot end what waits in it for a file system that does not answer. The call's time is
 * over all the same; the cage goes when the kernel lets it. */
static void leave_to_the_kernel(struct tc_running *j)
{
    struct tc_outcome *o = &j->outcome;
    enum { LAST_WORDS = 1 << 20 };
    for (int stream = 0; stream < 2; stream++)
        read_output(j, stream, LAST_WORDS);
    o->exit_code = -1;
    o->signal = SIGKILL;
    o->wall_us = tc_now_us() - (j->running_us ? j->running_us : j->started_us);
    o->note = strdup("it was killed but has not ended yet: it waits in the kernel, for a file "
                     "system or a device that does not answer");
    o->omitted_changes++;
    tc_job_judge(j, j->cage.works->usage(&j->cage));
    unwatch_cage(j, TC_ROLE_EXIT);
    j->hold = TC_HOLD_DYING;
    tc_job_answer(j);
}

static void stop_for(struct tc_running *j, const char *limit)
{
    if (!j->limit)
        j->limit = limit;
    begin_end(j, true);
}

/* We ended the cage before its walls stood: that is no failure of the cage. */
static void excuse(struct tc_running *j)
{
    tc_failure_clear(&j->outcome.failure);
    j->outcome.exit_code = -1;
    j->outcome.signal = SIGKILL;
}

static void gather(struct tc_running *j);

static void work_gather(struct tc_task *task)
{
    struct tc_running *j = task->owner;
    tc_brief_work(&j->cage);
}

static void on_gathered(struct tc_task *task)
{
    struct tc_running *j = task->owner;
    bool whole = tc_brief_end(&j->cage);
    j->hold = TC_HOLD_NONE;
    if (j->ended)
        tc_job_clear(j);
    else if (whole)
        tc_job_answer(j);
    else
        gather(j);
}

/* By a worker that is free: to be started, it costs more than the little that it is for. */
static bool gather_briefly(struct tc_running *j)
{
    if (!tc_workers_free(j->workers) || !tc_brief_begin(&j->cage))
        return false;
    j->task = (struct tc_task){.work = work_gather, .done = on_gathered, .owner = j};
    j->hold = TC_HOLD_COLLECTING;
    j->end_at_us = tc_now_us() + GATHERING_US;
    (void)tc_workers_give(j->workers, &j->task); /* there is one */
    return true;
}

static void gather(struct tc_running *j)
{
    bool commit = j->plan.commit == TC_COMMIT_ALWAYS ||
                  (j->plan.commit == TC_COMMIT_SUCCESS && j->outcome.status == TOOLCAGE_STATUS_OK);
    bool wanted = j->cage.running && !j->given_up && !j->host_gone;
    if (wanted && gather_briefly(j))
        return;
    int wait = wanted ? tc_workspace_collect(&j->cage, commit) : -1;
    if (wait >= 0 && tc_job_watch(j, TC_ROLE_COLLECT, wait, EPOLLIN)) {
        j->hold = TC_HOLD_COLLECTING;
        j->end_at_us = tc_now_us() + GATHERING_US;
        return;
    }
    if (wait >= 0) /* then at the cost of waiting here */
        (void)tc_workspace_collect(&j->cage, commit);
    tc_job_answer(j);
}

/* Nothing of the tool runs any more: the outcome is what it is. */
static void conclude(struct tc_running *j)
{
    int64_t now = tc_now_us();
    j->outcome.wall_us = now - (j->running_us ? j->running_us : j->started_us);
    /* a cage that outlived its deadline because we were held up ends itself */
    if (j->end_at_us && now >= j->end_at_us && j->outcome.signal && !j->cancelled && !j->limit)
        j->timed_out = true;
    for (int stream = 0; stream < 2; stream++) /* every writer is gone: what is there is all */
        read_output(j, stream, INT32_MAX);
    unwatch_cage(j, TC_ROLES);
    j->end_at_us = j->kill_at_us = j->stuck_at_us = 0;
    if (j->plan.limits.output_kill &&
        (tc_output_over(&j->output[0]) || tc_output_over(&j->output[1])) && !j->limit)
        j->limit = "output";
    tc_reserve_open();
    tc_job_judge(j, j->cage.works->usage(&j->cage));
    gather(j);
    (void)tc_reserve_close();
}

static void on_exit_ready(struct tc_source *s, uint32_t events)
{
    struct tc_running *j = s->owner;
    (void)events;
    (void)tc_job_watch(j, TC_ROLE_EXIT, -1, 0);
    bool ours = !j->cage.running && !j->outcome.failure.code && j->kill_at_us == INT64_MAX;
    j->cage.works->reap(&j->cage);
    if (j->ended) { /* at last */
        j->kill_at_us = 0;
        j->hold = TC_HOLD_NONE;
        tc_job_clear(j);
        return;
    }
    if (ours)
        excuse(j);
    conclude(j);
}

static void on_collected(struct tc_source *s, uint32_t events)
{
    struct tc_running *j = s->owner;
    (void)events;
    (void)tc_job_watch(j, TC_ROLE_COLLECT, -1, 0);
    (void)tc_workspace_collect(&j->cage, false);
    j->hold = TC_HOLD_NONE;
    if (j->ended)
        tc_job_clear(j);
    else
        tc_job_answer(j);
}

/* ---- while it runs ---- */

/* Of a stream that is delivered whole no more is read than the host takes. */
static void hold_back(struct tc_running *j)
{
    for (int stream = 0; stream < 2 && j->output[stream].all; stream++) {
        int fd = stream == 0 ? j->cage.out_fd : j->cage.err_fd;
        bool wait = j->output[stream].head_len > 0;
        if (wait == j->held_back[stream])
            continue;
        j->held_back[stream] = wait;
        if (tc_job_watch(j, stream == 0 ? TC_ROLE_OUT : TC_ROLE_ERR, wait ? -1 : fd, EPOLLIN))
            continue;
        (void)tc_job_not_watched(j);
        begin_end(j, true);
    }
}

/* A host that was promised all of it must not take a part for the whole. */
static void give_up_output(struct tc_running *j)
{
    (void)tc_cage_fail(&j->cage, TC_WHY(TOOLCAGE_EMEMORY, "supervise", "output", "free memory"), -1,
                       "the helper has no memory for the output");
    begin_end(j, true);
}

static void on_output(struct tc_source *s, uint32_t events)
{
    struct tc_running *j = s->owner;
    int stream = s == &j->sources[TC_ROLE_OUT] ? 0 : 1;
    (void)events;
    read_output(j, stream, 1);
    if (j->plan.limits.output_kill && tc_output_over(&j->output[stream]))
        stop_for(j, "output");
    if (j->plan.stream)
        tc_deliver_stream(j);
    if (j->output[stream].all && j->output[stream].failed)
        give_up_output(j);
    else
        hold_back(j);
}

/* After a trial comes another, which needs the whole record. */
static bool tells_all(const struct tc_running *j)
{
    return j->cage.over && !j->trials;
}

static void hear(struct tc_running *j)
{
    bool was = j->cage.running, held = j->cage.err_held;
    int rc = tc_cage_event(&j->cage);
    if (j->cage.running && !was) {
        tc_job_mark(j, "walls", j->started_us);
        j->running_us = tc_now_us();
    }
    if (rc < 0) {
        tc_job_give_up(j);
        return;
    }
    if (tells_all(j)) {
        conclude(j);
        return;
    }
    bool heard = !held || j->cage.err_held || tc_job_watch(j, TC_ROLE_ERR, j->cage.err_fd, EPOLLIN);
    heard = heard && tc_terminal_attach(j);
    if (!heard)
        (void)tc_job_not_watched(j);
    if (j->outcome.failure.code)
        begin_end(j, true);
    else if (j->cage.limit && !j->limit)
        stop_for(j, j->cage.limit);
}

static void on_event(struct tc_source *s, uint32_t events)
{
    (void)events;
    hear(s->owner);
}

static void close_feed(struct tc_running *j)
{
    (void)tc_job_watch(j, TC_ROLE_FEED, -1, 0);
    (void)close(j->feed_to);
    j->feed_to = -1;
}

/* The tool would take its end for the end of the input. */
static void fail_feed(struct tc_running *j)
{
    (void)tc_cage_fail(&j->cage,
                       TC_WHY_ERRNO(TOOLCAGE_ESYSTEM, "supervise", "standard input", errno,
                                    "free memory on this machine"),
                       -1, "the helper cannot read the call's input");
    begin_end(j, true);
}

/* Standard input from a memory file: as much as the pipe takes. */
static void on_feed(struct tc_source *s, uint32_t events)
{
    struct tc_running *j = s->owner;
    char bytes[FEED_SHARE];
    (void)events;
    if (j->plan.terminal) {
        tc_terminal_feed(j);
        return;
    }
    ssize_t n = pread(j->feed_from, bytes, sizeof(bytes), j->fed);
    if (n < 0 && errno != EINTR) {
        fail_feed(j);
        close_feed(j);
        return;
    }
    ssize_t wrote = n > 0 ? write(j->feed_to, bytes, (size_t)n) : 0;
    if (wrote > 0)
        j->fed += wrote;
    else if (n == 0 || (wrote < 0 && errno != EAGAIN && errno != EINTR))
        close_feed(j); /* all written, or nobody reads */
}

static void on_socket(struct tc_source *s, uint32_t events)
{
    struct tc_running *j = s->owner;
    struct tc_message m = {0};
    size_t count;
    if (events & EPOLLOUT) {
        tc_deliver_more(j);
        if (!j->ended)
            hold_back(j);
    }
    if (j->finished || !(events & (EPOLLIN | EPOLLHUP | EPOLLERR)))
        return;
    ssize_t n = tc_recv(j->socket, &m, sizeof(m), NULL, 0, &count, NULL, NULL, false);
    if (n < 0 && (errno == EAGAIN || errno == EMSGSIZE))
        return;
    bool gone = n <= 0;
    if (gone) {
        (void)tc_job_watch(j, TC_ROLE_SOCKET, -1, 0);
        j->host_gone = true;
    }
    if (j->ended) {
        j->finished = j->finished || gone;
    } else if (!gone && m.kind == TC_MESSAGE_RESIZE) {
        tc_terminal_resize(j, m.rows, m.columns);
    } else if (gone || m.kind == TC_MESSAGE_CANCEL) {
        j->cancelled = true;
        begin_end(j, gone);
    }
}

void tc_job_attach(struct tc_running *j)
{
    for (int role = 0; role < TC_ROLES; role++)
        j->sources[role] = (struct tc_source){.ready = handlers[role], .owner = j, .fd = -1};
}

int64_t tc_job_next(const struct tc_running *j)
{
    const int64_t times[] = {j->end_at_us, j->kill_at_us == INT64_MAX ? 0 : j->kill_at_us,
                             j->stuck_at_us, j->refuse_at_us, j->cage.look_at_us};
    int64_t next = 0;
    for (size_t i = 0; i < TC_COUNT(times); i++)
        if (times[i] && (!next || times[i] < next))
            next = times[i];
    return next;
}

static void on_deadline(struct tc_running *j)
{
    j->end_at_us = 0;
    if (j->hold == TC_HOLD_COLLECTING)
        (void)tc_cage_fail(&j->cage,
                           TC_WHY(TOOLCAGE_EBACKEND, "collect", "changes",
                                  "look at the writable directories by hand"),
                           -1, "the changes of this call could not be gathered in time");
    else
        j->timed_out = !j->cancelled;
    begin_end(j, false);
}

void tc_job_tick(struct tc_running *j, int64_t now)
{
    if (j->end_at_us && now >= j->end_at_us)
        on_deadline(j);
    if (j->refuse_at_us && now >= j->refuse_at_us)
        tc_job_refuse(j);
    if (j->kill_at_us && j->kill_at_us != INT64_MAX && now >= j->kill_at_us)
        begin_end(j, true);
    if (j->stuck_at_us && now >= j->stuck_at_us)
        leave_to_the_kernel(j);
    if (j->cage.look_at_us && now >= j->cage.look_at_us)
        hear(j);
}

void tc_job_end(struct tc_running *j)
{
    j->host_gone = j->cancelled = true;
    j->finished = j->finished || j->ended;
    begin_end(j, true);
}

void tc_job_hang_up(struct tc_running *j)
{
    int *fds[] = {&j->socket, &j->feed_from, &j->feed_to};
    (void)tc_job_watch(j, TC_ROLE_SOCKET, -1, 0);
    (void)tc_job_watch(j, TC_ROLE_FEED, -1, 0);
    (void)tc_job_watch(j, TC_ROLE_TYPED, -1, 0);
    for (size_t i = 0; i < TC_COUNT(fds); i++) {
        if (*fds[i] >= 0)
            (void)close(*fds[i]);
        *fds[i] = -1;
    }
    if (j->hold == TC_HOLD_PREPARING) /* the streams are not the worker's */
        tc_cage_close_streams(&j->cage);
}

void tc_job_free(struct tc_running *j)
{
    unwatch_cage(j, TC_ROLES);
    tc_job_hang_up(j);
    (void)tc_cage_destroy(&j->cage, TC_PACE_QUICK);
    for (size_t i = 0; i < TC_COUNT(j->output); i++)
        tc_output_done(&j->output[i]);
    tc_plan_done(&j->plan);
    tc_outcome_done(&j->outcome);
    tc_outcome_done(&j->aside);
    free(j);
}
