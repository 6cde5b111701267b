/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "peer.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "call/engine.h"
#include "plan/plan.h"
#include "test.h"
#include "toolcage/result.h"
#include "version.h"

static int write_outcome(struct peer *peer, struct tc_outcome *outcome)
{
    struct tc_wire wire = TC_WIRE_PUT_INIT;
    tc_outcome_visit(&wire, outcome);
    assert_false(wire.failed);
    if (peer->manner == PEER_TRAILING)
        tc_buf_adds(&wire.out, "more");
    if (peer->manner == PEER_GARBAGE)
        memset(wire.out.data + wire.out.len / 2, 0xff, wire.out.len - wire.out.len / 2);
    int fd;
    if (peer->manner == PEER_UNSEALED) {
        fd = memfd_create("unsealed", MFD_CLOEXEC);
        assert_int_equal(tc_write_all(fd, wire.out.data, wire.out.len), 0);
    } else {
        fd = tc_memfd("outcome", wire.out.data, wire.out.len);
    }
    assert_true(fd >= 0);
    tc_buf_done(&wire.out);
    return fd;
}

static void say_inside(const struct peer *peer, int sock, const struct tc_message *done, int fd)
{
    _autobuf_ struct tc_buf packet = TC_BUF_INIT;
    tc_buf_add(&packet, done, sizeof(*done));
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    assert_int_equal(tc_read_all(fd, &packet), 0);
    size_t length = peer->manner == PEER_INSIDE_CUT ? packet.len - 1 : packet.len;
    (void)tc_send(sock, packet.data, length, NULL, 0);
}

static void finish(struct peer *peer, int sock, struct tc_outcome *outcome, int removed)
{
    struct tc_message done = {.kind = TC_MESSAGE_DONE, .removed = removed};
    int fd = write_outcome(peer, outcome);
    if (peer->manner >= PEER_INSIDE) {
        say_inside(peer, sock, &done, fd);
        close(fd);
        return;
    }
    size_t length = peer->manner == PEER_SHORT ? 3 : sizeof(done);
    /* the host may have gone already */
    (void)tc_send(sock, &done, length, &fd, peer->manner == PEER_NO_FILE ? 0 : 1);
    close(fd);
}

static const char *value_of(const struct tc_plan *plan, const char *name)
{
    for (size_t i = 1; i < plan->argv.count; i++)
        if (tc_startswith(plan->argv.items[i], name))
            return plan->argv.items[i] + strlen(name);
    return NULL;
}

static void say(const struct tc_plan *plan, int sock, int number, const char *text,
                struct tc_stream *stream)
{
    if (!text)
        return;
    stream->head = strdup(text);
    stream->head_len = strlen(text);
    stream->bytes = (int64_t)strlen(text);
    char bytes[sizeof(struct tc_message) + 256];
    struct tc_message *m = (struct tc_message *)bytes;
    *m = (struct tc_message){.kind = TC_MESSAGE_OUTPUT, .stream = number};
    memcpy(m->bytes, text, strlen(text));
    if (plan->stream)
        (void)tc_send(sock, bytes, sizeof(*m) + strlen(text), NULL, 0);
}

static int64_t status_of(const char *word)
{
    static const char *const words[] = {"ok", "failed", "timeout", "limit", "", "hang"};
    for (size_t i = 0; i < TC_COUNT(words); i++)
        if (strcmp(words[i], word) == 0)
            return (int64_t)i;
    fail_msg("unknown word %s", word);
    return -1;
}

static void serve_call(struct peer *peer, const int *fds)
{
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    struct tc_plan plan = {0};
    struct tc_outcome outcome = {
        .exit_code = -1, .memory_peak = -1, .pids_peak = 1, .failure.clause = -1};
    assert_int_equal(lseek(fds[1], 0, SEEK_SET), 0);
    assert_int_equal(tc_read_all(fds[1], &text), 0);
    struct tc_wire wire = TC_WIRE_GET_INIT(text.data, text.len);
    tc_plan_visit(&wire, &plan);
    assert_false(wire.failed);
    assert_int_equal(wire.left, 0);
    outcome.status = status_of(plan.argv.items[0]);
    if (outcome.status == TOOLCAGE_STATUS_CANCELLED) {
        struct tc_message m;
        outcome.signal = 15;
        ssize_t n = recv(fds[0], &m, sizeof(m), 0);
        if (n != 0 || !peer->hang_up) {
            assert_int_equal(n, sizeof(m));
            assert_int_equal(m.kind, TC_MESSAGE_CANCEL);
        }
    }
    const char *code = value_of(&plan, "exit="), *limit = value_of(&plan, "limit=");
    if (outcome.status <= TOOLCAGE_STATUS_FAILED)
        outcome.exit_code = code ? atoi(code) : 0;
    outcome.limit = limit ? strdup(limit) : NULL;
    say(&plan, fds[0], 1, value_of(&plan, "stdout="), &outcome.out);
    say(&plan, fds[0], 2, value_of(&plan, "stderr="), &outcome.err);
    if (peer->answer)
        peer->answer(&outcome);
    finish(peer, fds[0], &outcome, 0);
    tc_outcome_done(&outcome);
    tc_plan_done(&plan);
}

static void serve_probe(struct peer *peer, int sock)
{
    struct tc_outcome outcome = {0};
    for (int i = 0; i < TC_CLAUSE_COUNT; i++) {
        struct tc_probe *p = TC_PUSH(outcome.probes, outcome.probe_count);
        *p = (struct tc_probe){.backend = strdup("process"),
                               .clause = i,
                               .works = i != TC_CLAUSE_LIMIT_MEMORY,
                               .mechanism = strdup("a \"wall\"")};
    }
    finish(peer, sock, &outcome, 0);
    tc_outcome_done(&outcome);
}

static void read_input(struct peer *peer, const int *fds, size_t count)
{
    peer->input.len = 0;
    if (peer->job.stdin_kind == TC_STDIN_NONE)
        return;
    assert_int_equal(count, 3);
    if (peer->job.stdin_kind == TC_STDIN_BYTES)
        assert_int_equal(lseek(fds[2], 0, SEEK_SET), 0);
    assert_int_equal(tc_read_all(fds[2], &peer->input), 0);
}

static void serve(struct peer *peer, const int *fds, size_t count)
{
    assert_string_equal(peer->job.build, TC_BUILD_ID);
    struct tc_outcome none = {0};
    read_input(peer, fds, count);
    peer->calls++;
    if (peer->manner == PEER_VANISH || peer->manner == PEER_LEAVE)
        return;
    if (peer->job.kind == TC_JOB_CALL)
        serve_call(peer, fds);
    else if (peer->job.kind == TC_JOB_PROBE)
        serve_probe(peer, fds[0]);
    else
        finish(peer, fds[0], &none, 7);
}

/* As if the plan had come in its file. */
static size_t unfold(int fds[4], size_t count, const char *plan, size_t length)
{
    memmove(fds + 2, fds + 1, (count - 1) * sizeof(*fds));
    fds[1] = tc_memfd("plan", plan, length);
    assert_true(fds[1] >= 0);
    return count + 1;
}

static void *run(void *arg)
{
    struct peer *peer = arg;
    for (;;) {
        union {
            struct tc_job job;
            char bytes[sizeof(struct tc_job) + TC_PLAN_INSIDE_MAX];
        } in;
        int fds[4];
        size_t count = 0;
        ssize_t n = tc_recv(peer->sock, &in, sizeof(in), fds, 3, &count, NULL, NULL, true);
        if (n < (ssize_t)sizeof(in.job))
            break;
        peer->job = in.job;
        if (in.job.plan_bytes)
            count = unfold(fds, count, in.bytes + sizeof(in.job), (size_t)n - sizeof(in.job));
        (void)pthread_mutex_lock(&peer->lock);
        serve(peer, fds, count);
        (void)pthread_mutex_unlock(&peer->lock);
        if (peer->manner == PEER_LEAVE)
            (void)shutdown(peer->sock, SHUT_RDWR);
        for (size_t i = 0; i < count; i++)
            close(fds[i]);
    }
    return NULL;
}

void peer_start(struct peer *peer, enum peer_manner manner, struct toolcage_engine **ret)
{
    int pair[2];
    *peer =
        (struct peer){.manner = manner, .lock = PTHREAD_MUTEX_INITIALIZER, .input = TC_BUF_INIT};
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    peer->sock = pair[1];
    assert_int_equal(tc_engine_adopt(pair[0], ret, NULL), 0);
    assert_int_equal(pthread_create(&peer->thread, NULL, run, peer), 0);
}

void peer_settle(struct peer *peer)
{
    (void)pthread_mutex_lock(&peer->lock);
    (void)pthread_mutex_unlock(&peer->lock);
}

void peer_join(struct peer *peer)
{
    assert_int_equal(pthread_join(peer->thread, NULL), 0);
    close(peer->sock);
    tc_buf_done(&peer->input);
}
