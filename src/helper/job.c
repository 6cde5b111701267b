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
#include "helper/deliver.h"

enum { SAMPLE_US = 100000, READ_SHARE = 65536, FEED_SHARE = 65536 };

static void on_socket(struct tc_source *s, uint32_t events);
static void on_output(struct tc_source *s, uint32_t events);
static void on_event(struct tc_source *s, uint32_t events);
static void on_exit_ready(struct tc_source *s, uint32_t events);
static void on_notify(struct tc_source *s, uint32_t events);
static void on_oom(struct tc_source *s, uint32_t events);
static void on_feed(struct tc_source *s, uint32_t events);
static void on_collected(struct tc_source *s, uint32_t events);

static void (*const handlers[TC_ROLES])(struct tc_source *, uint32_t) = {
    [TC_ROLE_SOCKET] = on_socket, [TC_ROLE_OUT] = on_output,      [TC_ROLE_ERR] = on_output,
    [TC_ROLE_EVENT] = on_event,   [TC_ROLE_EXIT] = on_exit_ready, [TC_ROLE_NOTIFY] = on_notify,
    [TC_ROLE_OOM] = on_oom,       [TC_ROLE_FEED] = on_feed,       [TC_ROLE_COLLECT] = on_collected,
};

static bool watch(struct tc_running *j, enum tc_role role, int fd, uint32_t events)
{
    if (tc_loop_watch(j->loop, &j->sources[role], fd, events) == 0)
        return true;
    j->sources[role].fd = -1;
    return false;
}

static void mark(struct tc_running *j, const char *step, int64_t since_us)
{
    struct tc_timing *t = TC_PUSH(j->outcome.timings, j->outcome.timing_count);
    if (t)
        *t = (struct tc_timing){.step = strdup(step), .us = tc_now_us() - since_us};
}

/* ---- the end
 * -------------------------------------------------------------------------------------- */

/* What the call came to, decided once, when everything about it is known. */
static void judge(struct tc_running *j, const char *counter)
{
    struct tc_outcome *o = &j->outcome;
    bool failed = o->exit_code != 0 || o->signal != 0;
    if (o->failure.code)
        return; /* status was set with it */
    o->status = failed ? TOOLCAGE_STATUS_FAILED : TOOLCAGE_STATUS_OK;
    const char *limit = j->limit ? j->limit : failed ? counter : NULL;
    if (j->cancelled)
        o->status = TOOLCAGE_STATUS_CANCELLED;
    else if (j->timed_out)
        o->status = TOOLCAGE_STATUS_TIMEOUT;
    else if (limit) {
        o->status = TOOLCAGE_STATUS_LIMIT;
        o->limit = strdup(limit);
    }
}

static void deliver(struct tc_running *j)
{
    struct tc_stream *streams[] = {&j->outcome.out, &j->outcome.err};
    for (size_t i = 0; i < TC_COUNT(streams); i++) {
        tc_output_finish(&j->output[i], 0, streams[i]);
        tc_output_done(&j->output[i]);
    }
    j->end_at_us = j->kill_at_us = j->sample_at_us = 0;
    j->ended = true;
    tc_deliver(j);
    /* nothing of the cage runs any more: clearing away is not what the host waits for */
    j->cage.works->destroy(&j->cage);
}

static void unwatch_cage(struct tc_running *j)
{
    for (int role = TC_ROLE_OUT; role < TC_ROLES; role++)
        (void)watch(j, (enum tc_role)role, -1, 0);
}

/* A cage that cannot be watched is not run: nobody would see its end. */
static int not_watched(struct tc_running *j)
{
    return tc_cage_fail(&j->cage,
                        &(struct tc_why){.code = TOOLCAGE_ESYSTEM,
                                         .stage = "supervise",
                                         .subject = "epoll",
                                         .errnum = errno,
                                         .hint = "raise fs.epoll.max_user_watches, or free memory"},
                        -1, "the helper cannot watch the cage");
}

/* The cage never came up, or failed on the way: end it, and answer. */
static void give_up(struct tc_running *j)
{
    unwatch_cage(j);
    j->cage.works->destroy(&j->cage);
    deliver(j);
}

static void read_output(struct tc_running *j, int stream, int share)
{
    char bytes[READ_SHARE];
    int fd = stream == 0 ? j->cage.out_fd : j->cage.err_fd;
    while (share > 0 && fd >= 0) {
        ssize_t n = read(fd, bytes, sizeof(bytes));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return;
        if (n == 0) {
            (void)watch(j, stream == 0 ? TC_ROLE_OUT : TC_ROLE_ERR, -1, 0);
            return;
        }
        tc_output_add(&j->output[stream], bytes, (size_t)n);
        share -= (int)n;
    }
}

/* Before the walls stand there is no tool that could end by itself. */
static void begin_end(struct tc_running *j, bool at_once)
{
    at_once = at_once || !j->cage.running;
    if (!j->kill_at_us && !at_once) {
        j->cage.works->signal(&j->cage, false);
        j->kill_at_us = tc_now_us() + j->plan.limits.grace_ms * 1000;
    }
    if (at_once) {
        j->cage.works->signal(&j->cage, true);
        j->kill_at_us = INT64_MAX;
    }
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
    struct tc_failure *f = &j->outcome.failure;
    char *texts[] = {f->stage, f->subject, f->message, f->hint, f->key};
    for (size_t i = 0; i < TC_COUNT(texts); i++)
        free(texts[i]);
    *f = (struct tc_failure){.clause = -1};
    j->outcome.exit_code = -1;
    j->outcome.signal = SIGKILL;
}

static void on_exit_ready(struct tc_source *s, uint32_t events)
{
    struct tc_running *j = s->owner;
    (void)events;
    bool ours = !j->cage.running && !j->outcome.failure.code && j->kill_at_us == INT64_MAX;
    j->cage.works->reap(&j->cage);
    if (ours)
        excuse(j);
    int64_t now = tc_now_us();
    j->outcome.wall_us = now - (j->running_us ? j->running_us : j->started_us);
    /* a cage that outlived its deadline because we were held up ends itself */
    if (j->end_at_us && now >= j->end_at_us && j->outcome.signal && !j->cancelled && !j->limit)
        j->timed_out = true;
    for (int stream = 0; stream < 2;
         stream++) /* every writer is gone: what is in the pipes is all */
        read_output(j, stream, INT32_MAX);
    unwatch_cage(j);
    j->end_at_us = j->kill_at_us = j->sample_at_us = 0;
    if (j->plan.limits.output_kill &&
        (tc_output_over(&j->output[0]) || tc_output_over(&j->output[1])) && !j->limit)
        j->limit = "output";
    judge(j, j->cage.works->usage(&j->cage));
    int wait = j->cage.running
                   ? j->cage.works->collect(&j->cage, j->outcome.status == TOOLCAGE_STATUS_OK)
                   : -1;
    if (wait >= 0 && watch(j, TC_ROLE_COLLECT, wait, EPOLLIN))
        return;
    if (wait >= 0) /* then at the cost of waiting here */
        j->cage.works->collected(&j->cage);
    deliver(j);
}

static void on_collected(struct tc_source *s, uint32_t events)
{
    struct tc_running *j = s->owner;
    (void)events;
    (void)watch(j, TC_ROLE_COLLECT, -1, 0);
    j->cage.works->collected(&j->cage);
    deliver(j);
}

/* ---- while it runs
 * -------------------------------------------------------------------------------- */

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
}

static void on_event(struct tc_source *s, uint32_t events)
{
    struct tc_running *j = s->owner;
    bool was = j->cage.running;
    (void)events;
    int rc = j->cage.works->event(&j->cage);
    if (j->cage.running && !was) {
        mark(j, "walls", j->started_us);
        j->running_us = tc_now_us();
    }
    if (rc < 0) {
        give_up(j);
        return;
    }
    if (watch(j, TC_ROLE_NOTIFY, j->cage.notify_fd, EPOLLIN) &&
        watch(j, TC_ROLE_EVENT, j->cage.event_fd, EPOLLIN))
        return;
    (void)not_watched(j);
    begin_end(j, true);
}

static void on_notify(struct tc_source *s, uint32_t events)
{
    struct tc_running *j = s->owner;
    (void)events;
    /* The backend may close it, and a close alone does not end the watch: a cage cloned meanwhile
     * holds a copy until its exec, and would wake a job that is no more. */
    (void)watch(j, TC_ROLE_NOTIFY, -1, 0);
    j->cage.works->notify(&j->cage);
    if (j->cage.running && !j->running_us) {
        mark(j, "walls", j->started_us);
        j->running_us = tc_now_us();
    }
    if (watch(j, TC_ROLE_NOTIFY, j->cage.notify_fd, EPOLLIN))
        return;
    (void)not_watched(j);
    begin_end(j, true);
}

static void on_oom(struct tc_source *s, uint32_t events)
{
    struct tc_running *j = s->owner;
    (void)events;
    if (j->cage.works->oomed(&j->cage))
        stop_for(j, "memory");
}

/* Standard input from a memory file: as much as the pipe takes. */
static void on_feed(struct tc_source *s, uint32_t events)
{
    struct tc_running *j = s->owner;
    char bytes[FEED_SHARE];
    (void)events;
    off_t at = lseek(j->feed_from, 0, SEEK_CUR);
    ssize_t n = at < 0 ? -1 : pread(j->feed_from, bytes, sizeof(bytes), at);
    ssize_t wrote = n > 0 ? write(j->feed_to, bytes, (size_t)n) : -1;
    if (wrote > 0 && lseek(j->feed_from, at + wrote, SEEK_SET) >= 0)
        return;
    if (n > 0 && wrote < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    (void)watch(j, TC_ROLE_FEED, -1, 0); /* all written, or nobody reads */
    (void)close(j->feed_to);
    j->feed_to = -1;
}

static void on_socket(struct tc_source *s, uint32_t events)
{
    struct tc_running *j = s->owner;
    struct tc_message m = {0};
    size_t count;
    if (events & EPOLLOUT)
        tc_deliver_more(j);
    if (j->finished || !(events & (EPOLLIN | EPOLLHUP | EPOLLERR)))
        return;
    ssize_t n = tc_recv(j->socket, &m, sizeof(m), NULL, 0, &count, NULL, NULL, false);
    if (n < 0 && (errno == EAGAIN || errno == EMSGSIZE))
        return;
    bool gone = n <= 0;
    if (gone) {
        (void)watch(j, TC_ROLE_SOCKET, -1, 0);
        j->host_gone = true;
    }
    if (j->ended) {
        j->finished = j->finished || gone;
    } else if (gone || m.kind == TC_MESSAGE_CANCEL) {
        j->cancelled = true;
        begin_end(j, gone);
    }
}

int64_t tc_job_next(const struct tc_running *j)
{
    const int64_t times[] = {j->end_at_us, j->kill_at_us == INT64_MAX ? 0 : j->kill_at_us,
                             j->sample_at_us};
    int64_t next = 0;
    for (size_t i = 0; i < TC_COUNT(times); i++)
        if (times[i] && (!next || times[i] < next))
            next = times[i];
    return next;
}

void tc_job_tick(struct tc_running *j, int64_t now)
{
    if (j->end_at_us && now >= j->end_at_us) {
        j->end_at_us = 0;
        j->timed_out = !j->cancelled;
        begin_end(j, false);
    }
    if (j->kill_at_us && j->kill_at_us != INT64_MAX && now >= j->kill_at_us)
        begin_end(j, true);
    if (j->sample_at_us && now >= j->sample_at_us) {
        j->sample_at_us = now + SAMPLE_US;
        if (j->cage.works->cpu_us(&j->cage) > j->plan.limits.cpu_time_ms * 1000)
            stop_for(j, "cpu_time");
    }
}

/* ---- the beginning
 * -------------------------------------------------------------------------------- */

static int open_input(struct tc_running *j, int kind, int fd)
{
    if (kind == TC_STDIN_PIPE) {
        j->cage.stdin_fd = fd;
        return 0;
    }
    if (kind != TC_STDIN_BYTES)
        return 0;
    int pair[2];
    j->feed_from = fd;
    if (pipe2(pair, O_CLOEXEC) < 0)
        return -1;
    j->feed_to = pair[1];
    j->cage.stdin_fd = pair[0];
    return fcntl(pair[1], F_SETFL, O_NONBLOCK);
}

static int read_plan(struct tc_running *j, int fd)
{
    off_t size = lseek(fd, 0, SEEK_END);
    if (size <= 0)
        return -1;
    char *text = mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (text == MAP_FAILED)
        return -1;
    struct tc_wire w = TC_WIRE_GET_INIT(text, (size_t)size);
    tc_plan_visit(&w, &j->plan);
    (void)munmap(text, (size_t)size);
    return w.failed || w.left || !j->plan.backend ? -1 : 0;
}

static bool watch_all(struct tc_running *j)
{
    const struct tc_cage *c = &j->cage;
    return watch(j, TC_ROLE_OUT, c->out_fd, EPOLLIN) && watch(j, TC_ROLE_ERR, c->err_fd, EPOLLIN) &&
           watch(j, TC_ROLE_EVENT, c->event_fd, EPOLLIN) &&
           watch(j, TC_ROLE_EXIT, c->exit_fd, EPOLLIN) &&
           watch(j, TC_ROLE_NOTIFY, c->notify_fd, EPOLLIN) &&
           watch(j, TC_ROLE_OOM, c->oom_fd, c->oom_events) &&
           watch(j, TC_ROLE_FEED, j->feed_to, EPOLLOUT);
}

static void begin_call(struct tc_running *j)
{
    int64_t since = tc_now_us();
    j->cage.works = tc_works_find(j->plan.backend);
    if (!j->cage.works) {
        j->cage.works = tc_works_at(0); /* for destroy only, which is fine with nothing built */
        (void)tc_cage_fail(&j->cage,
                           &(struct tc_why){.code = TOOLCAGE_EBACKEND,
                                            .stage = "backend",
                                            .subject = j->plan.backend},
                           -1, "the helper has no backend \"%s\"", j->plan.backend);
        give_up(j);
        return;
    }
    int rc = j->cage.works->prepare(&j->cage);
    mark(j, "prepare", since);
    j->started_us = tc_now_us();
    if (rc < 0 || j->cage.works->start(&j->cage) < 0) {
        give_up(j);
        return;
    }
    mark(j, "start", j->started_us);
    const struct tc_limits *l = &j->plan.limits;
    j->end_at_us = l->timeout_ms ? j->started_us + l->timeout_ms * 1000 : 0;
    j->sample_at_us = l->cpu_time_ms ? j->started_us + SAMPLE_US : 0;
    j->output[0].limit = j->output[1].limit = (size_t)l->output;
    if (watch_all(j))
        return;
    (void)not_watched(j);
    give_up(j);
}

static void begin_other(struct tc_running *j, int kind)
{
    const struct tc_works *w;
    for (size_t i = 0; (w = tc_works_at(i)); i++) {
        if (kind == TC_JOB_PROBE)
            (void)w->probe(&j->outcome);
        else
            j->removed += w->sweep();
    }
    deliver(j);
}

static void take_call(struct tc_running *j, const struct tc_job *job, int plan_fd, int input)
{
    if (open_input(j, job->stdin_kind, input) < 0)
        (void)tc_cage_fail(
            &j->cage,
            &(struct tc_why){.code = TOOLCAGE_ESYSTEM,
                             .stage = "job",
                             .subject = "standard input",
                             .errnum = errno,
                             .hint = "fewer calls at once, or a higher limit of open files"},
            -1, "the helper cannot make a pipe");
    else if (read_plan(j, plan_fd) < 0)
        (void)tc_cage_fail(&j->cage, &(struct tc_why){.code = TOOLCAGE_EHELPER, .stage = "job"}, -1,
                           "the helper did not understand the plan");
    if (j->outcome.failure.code) {
        give_up(j);
        return;
    }
    mark(j, "receive", j->begun_us);
    begin_call(j);
}

struct tc_running *tc_job_new(struct tc_loop *loop, const struct tc_job *job, int socket, int plan,
                              int input)
{
    struct tc_running *j = calloc(1, sizeof(*j));
    _autofd_ int plan_fd = plan;
    if (!j) {
        (void)close(socket);
        if (input >= 0)
            (void)close(input);
        return NULL;
    }
    *j = (struct tc_running){.loop = loop, .socket = socket, .feed_from = -1, .feed_to = -1};
    j->begun_us = tc_now_us();
    j->cage = (struct tc_cage){.plan = &j->plan,
                               .outcome = &j->outcome,
                               .stdin_fd = -1,
                               .out_fd = -1,
                               .err_fd = -1,
                               .event_fd = -1,
                               .exit_fd = -1,
                               .notify_fd = -1,
                               .oom_fd = -1};
    j->outcome.exit_code = -1;
    j->outcome.failure.clause = -1;
    for (int role = 0; role < TC_ROLES; role++)
        j->sources[role] = (struct tc_source){.ready = handlers[role], .owner = j, .fd = -1};
    (void)fcntl(socket, F_SETFL, O_NONBLOCK);
    j->cage.works = tc_works_at(0);
    if (!watch(j, TC_ROLE_SOCKET, socket, EPOLLIN)) {
        if (input >= 0)
            (void)close(input);
        (void)not_watched(j);
        give_up(j);
        return j;
    }
    if (job->kind == TC_JOB_CALL)
        take_call(j, job, plan_fd, input);
    else
        begin_other(j, job->kind);
    return j;
}

void tc_job_free(struct tc_running *j)
{
    for (int role = 0; role < TC_ROLES; role++)
        (void)watch(j, (enum tc_role)role, -1, 0);
    if (j->cage.works)
        j->cage.works->destroy(&j->cage);
    int fds[] = {j->socket, j->feed_from, j->feed_to};
    for (size_t i = 0; i < TC_COUNT(fds); i++)
        if (fds[i] >= 0)
            (void)close(fds[i]);
    for (size_t i = 0; i < TC_COUNT(j->output); i++)
        tc_output_done(&j->output[i]);
    tc_plan_done(&j->plan);
    tc_outcome_done(&j->outcome);
    free(j);
}
