/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Decides a job's status, and sends its results to the library: output while it arrives, if
 * requested, then the outcome. */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <toolcage/result.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "helper/job.h"
#include "workspace/workspace.h"

void tc_job_mark(struct tc_job_record *j, const char *step, int64_t since_us)
{
    struct tc_timing *t = TC_PUSH(j->outcome.timings, j->outcome.timing_count);
    if (t)
        *t = (struct tc_timing){.step = strdup(step), .us = tc_now_us() - since_us};
}

void tc_job_judge(struct tc_job_record *j, const char *counter)
{
    struct tc_outcome *o = &j->outcome;
    bool failed = o->exit_code != 0 || o->signal != 0;
    if (o->failure.code)
        return; /* the status was set with the failure */
    o->status = failed ? TOOLCAGE_STATUS_FAILED : TOOLCAGE_STATUS_OK;
    /* a tool that succeeds although its child was killed for memory has still hit the limit */
    bool killed = counter && strcmp(counter, "memory") == 0;
    const char *limit = j->limit ? j->limit : failed || killed ? counter : NULL;
    if (j->reason >= TC_FOR_CANCEL)
        o->status = TOOLCAGE_STATUS_CANCELLED;
    else if (j->reason == TC_FOR_TIME) {
        o->status = TOOLCAGE_STATUS_TIMEOUT;
        if (limit) /* programs that are refused a thread often wait forever */
            tc_outcome_note(o, tc_format("it had reached its %s limit", limit));
    } else if (limit) {
        o->status = TOOLCAGE_STATUS_LIMIT;
        o->limit = strdup(limit);
    }
}

/* Watches the job's socket for messages, and with `more` also for room to send. */
static void want(struct tc_job_record *j, bool more)
{
    if (j->reason < TC_FOR_HOST)
        (void)tc_loop_watch(j->loop, &j->sources[TC_ROLE_SOCKET], j->socket,
                            EPOLLIN | (more ? (uint32_t)EPOLLOUT : 0));
}

/* 1: sent, 0: the socket is full, -1: the library closed it. */
static int send_packet(struct tc_job_record *j, const void *m, size_t len, int fd)
{
    if (j->reason == TC_FOR_HOST)
        return -1;
    if (tc_send(j->socket, m, len, &fd, fd >= 0 ? 1 : 0) == 0)
        return 1;
    return errno == EAGAIN || errno == ENOBUFS ? 0 : -1;
}

/* Sends the part of the stream's text that was not sent before. 1: all of it is sent, 0: the socket
 * is full, -1: the library closed it. */
static int say_text(struct tc_job_record *j, int stream, const char *text, size_t len)
{
    union {
        struct tc_message m;
        char room[sizeof(struct tc_message) + TC_MESSAGE_BYTES_MAX];
    } u;
    while (j->flows[stream].sent < len) {
        size_t n = len - j->flows[stream].sent;
        n = n > TC_MESSAGE_BYTES_MAX ? TC_MESSAGE_BYTES_MAX : n;
        u.m = (struct tc_message){.kind = TC_MESSAGE_OUTPUT, .stream = stream + 1};
        memcpy(u.room + sizeof(u.m), text + j->flows[stream].sent, n);
        int rc = send_packet(j, &u.m, sizeof(u.m) + n, -1);
        if (rc <= 0)
            return rc;
        j->flows[stream].sent += n;
    }
    return 1;
}

void tc_deliver_stream(struct tc_job_record *j)
{
    int rc = 1;
    for (int i = 0; i < 2 && rc > 0; i++)
        rc = say_text(j, i, j->flows[i].read.head, j->flows[i].read.head_len);
    for (int i = 0; i < 2 && j->plan.stream == TC_STREAM_ALL; i++) {
        tc_output_drop(&j->flows[i].read, j->flows[i].sent);
        j->flows[i].sent = 0;
    }
    want(j, rc == 0);
}

void tc_deliver_ready(struct tc_job_record *j)
{
    const struct tc_message m = {.kind = TC_MESSAGE_READY};
    if (j->plan.lifetime_ms)
        (void)send_packet(j, &m, sizeof(m), j->cage.published_fd); /* the first: there is room */
}

void tc_deliver_collected(struct tc_job_record *j, int64_t now)
{
    int64_t count = j->state == TC_IS_GATHERING ? tc_workspace_collected(&j->cage) : -1;
    const struct tc_message m = {.kind = TC_MESSAGE_COLLECTED, .collected = count};
    j->report_us = count < 0 ? 0 : now + TC_REPORT_US;
    if (count >= 0)
        (void)send_packet(j, &m, sizeof(m), -1); /* if the socket is full, the next one may fit */
}

/* The library has received the whole stream: removes it from the outcome. */
static void forget_stream(struct tc_stream *stream)
{
    stream->truncated = false;
    stream->head_len = 0;
}

/* Sends the outcome: 1: sent, 0: the socket is full, -1: it cannot be sent. The socket is then
 * closed without an outcome, which the library treats as an error. */
static int say_done(struct tc_job_record *j)
{
    const struct tc_message done = {.kind = TC_MESSAGE_DONE, .removed = (int32_t)j->removed};
    struct tc_wire w = TC_WIRE_PUT_INIT;
    w.out.max = SIZE_MAX / 2;
    tc_buf_add(&w.out, &done, sizeof(done));
    tc_outcome_visit(&w, &j->outcome);
    _autobuf_ struct tc_buf packet = w.out;
    if (w.failed || packet.failed)
        return -1;
    const char *bytes = packet.data + sizeof(done);
    size_t length = packet.len - sizeof(done);
    if (j->inside && length <= TC_MESSAGE_BYTES_MAX)
        return send_packet(j, packet.data, packet.len, -1);
    _autofd_ int memory = tc_memfd("outcome", bytes, length);
    if (memory < 0 && j->state == TC_IS_ENDED) { /* releasing the cage may free enough memory */
        j->cage.outcome = &j->late_outcome;
        tc_job_clear(j);
        memory = tc_memfd("outcome", bytes, length);
    }
    return memory < 0 ? -1 : send_packet(j, &done, sizeof(done), memory);
}

void tc_deliver(struct tc_job_record *j)
{
    struct tc_stream *streams[] = {&j->outcome.out, &j->outcome.err};
    int rc = 1;
    for (int i = 0; i < 2 && rc > 0 && j->plan.stream; i++)
        rc = say_text(j, i, streams[i]->head, streams[i]->head_len);
    for (int i = 0; i < 2 && rc > 0 && j->plan.stream == TC_STREAM_ALL; i++)
        forget_stream(streams[i]);
    if (rc > 0)
        rc = say_done(j);
    if (rc == 0)
        want(j, true);
    else
        tc_job_hang_up(j);
}

void tc_deliver_more(struct tc_job_record *j)
{
    if (tc_job_answered(j))
        tc_deliver(j);
    else
        tc_deliver_stream(j);
}
