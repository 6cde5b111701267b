/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Reaches src/helper/inline.c, src/base/frame.c and the helper's jobs: what a peer says to the
 * helper, and what a helper in a machine says to us. The first byte chooses the side and the way:
 *     0  bytes on a stream to the helper, in pieces, while its job says things, too
 *     1  a plan, and packets on the job's socket
 *     2  bytes of a helper on a stream to us
 * Whatever comes, the helper answers with whole frames within their limits, lets go of every
 * descriptor, and holds no more memory than came. */
#include "fuzz.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "helper/inline.h"
#include "helper/job.h"
#include "version.h"

/* ---- a machine with one kind of works, whose tools end at once ---- */

static int make(struct tc_cage *cage)
{
    cage->priv = cage;
    return 0;
}

static int start(struct tc_cage *cage)
{
    cage->running = true;
    cage->exit_fd = eventfd(1, EFD_CLOEXEC);
    return cage->exit_fd < 0 ? tc_cage_fail_memory(cage, "start") : 0;
}

static void end(struct tc_cage *cage, bool kill)
{
    (void)cage, (void)kill;
}

static void reap(struct tc_cage *cage)
{
    (void)close(cage->exit_fd);
    cage->exit_fd = -1;
    cage->outcome->exit_code = 0;
}

static const char *usage(struct tc_cage *cage)
{
    (void)cage;
    return NULL;
}

static bool destroy(struct tc_cage *cage, enum tc_may_block may_block)
{
    (void)may_block;
    INVARIANT(!cage->priv || cage->exit_fd == -1);
    cage->priv = NULL;
    tc_cage_close_streams(cage);
    return true;
}

static const struct tc_executor executor = {.name = "w",
                                            .make = make,
                                            .start = start,
                                            .signal = end,
                                            .reap = reap,
                                            .usage = usage,
                                            .destroy = destroy};

static unsigned sweep(void)
{
    return 0;
}

static const struct tc_host_ops machine = {.sweep = sweep};
const struct tc_host_ops *const tc_host_ops = &machine;

const struct tc_executor *tc_executor_at(size_t index)
{
    return index == 0 ? &executor : NULL;
}

/* Any name will do: no input finds one by chance. */
const struct tc_executor *tc_executor_find(const char *name)
{
    return name[0] == 'w' ? &executor : NULL;
}

/* ---- the helper ---- */

static struct tc_loop loop = {.epoll = -1};
static struct tc_workers workers;
static struct tc_job_record *jobs;

static void begin(const struct tc_job *job, const char *inside, const int *fds, size_t count)
{
    (void)inside;
    bool call = job->kind == TC_JOB_CALL;
    bool input = call && job->stdin_kind != TC_STDIN_NONE, secrets = call && job->secrets;
    INVARIANT(count == 1 + (size_t)call + (size_t)input + (size_t)secrets);
    const struct tc_job_fds given = {.socket = fds[0],
                                     .plan = call ? fds[1] : -1,
                                     .input = input ? fds[2] : -1,
                                     .secrets = secrets ? fds[count - 1] : -1,
                                     .exchanges = -1};
    struct tc_job_record *j = tc_job_new(&loop, &workers, job, &given, jobs);
    INVARIANT(j);
    jobs = j;
}

static void turn(void)
{
    INVARIANT(tc_loop_turn(&loop, 1) == 0); /* a moment that has passed */
    for (struct tc_job_record *j = jobs; j; j = j->next)
        tc_job_tick(j, tc_now_us());
}

static void end_jobs(void)
{
    for (int i = 0; i < 50 && jobs; i++) {
        for (struct tc_job_record *j = jobs; j; j = j->next)
            tc_job_end(j);
        turn();
        while (jobs && tc_job_over(jobs)) {
            struct tc_job_record *j = jobs;
            jobs = j->next;
            tc_job_free(j);
        }
    }
    INVARIANT(!jobs);
}

/* ---- what a helper says ---- */

static const size_t most[TC_FRAME_KINDS] = {[TC_FRAME_HELLO] = TC_BUILD_ID_SIZE,
                                            [TC_FRAME_TAKEN] = sizeof(uint32_t),
                                            [TC_FRAME_OUT] = TC_MESSAGE_BYTES_MAX,
                                            [TC_FRAME_ERR] = TC_MESSAGE_BYTES_MAX,
                                            [TC_FRAME_DONE] = 1 << 20};

/* -1: it broke the rules. */
static int hear(struct tc_frames *frames, int from, size_t *heard)
{
    struct tc_frame f;
    ssize_t n;
    int more = 0;
    while ((n = tc_frames_read(frames, from)) > 0) {
        *heard += (size_t)n;
        while ((more = tc_frames_next(frames, &f)) > 0) {
            INVARIANT(f.kind < TC_FRAME_KINDS && f.len <= most[f.kind]);
            struct tc_outcome outcome = {0};
            struct tc_wire w = TC_WIRE_GET_INIT(f.bytes, f.len);
            if (f.kind == TC_FRAME_DONE)
                tc_outcome_visit(&w, &outcome);
            tc_outcome_done(&outcome);
        }
        INVARIANT(frames->in.cap <= 4 * (*heard + TC_FRAME_READ));
    }
    return more;
}

/* ---- the three ---- */

/* The build's name is ours to put in: no input has it by chance. */
static void say(int to, const uint8_t *data, size_t size)
{
    static const char build[TC_BUILD_ID_SIZE] = TC_BUILD_ID;
    static const char job[] = {TC_FRAME_JOB, 0, 0, 0, sizeof(struct tc_job), 0, 0, 0};
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    tc_buf_add(&text, data, size);
    for (size_t i = 0; i + sizeof(job) + sizeof(build) <= size; i++)
        if (memcmp(data + i, job, sizeof(job)) == 0)
            memcpy(text.data + i + sizeof(job), build, sizeof(build));
    (void)send(to, text.data, text.len, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void serve_stream(const uint8_t *data, size_t size)
{
    int pair[2];
    size_t heard = 0, piece = size ? data[0] * 4u + 1 : 1;
    struct tc_inline stream;
    struct tc_frames frames = tc_frames_of(most, TC_FRAME_KINDS);
    INVARIANT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
    INVARIANT(fcntl(pair[0], F_SETFL, O_NONBLOCK) == 0);
    INVARIANT(tc_inline_open(&stream, &loop, pair[1], pair[1], begin) == 0);
    for (size_t i = size ? 1 : 0; i < size && !stream.over; i += piece) {
        say(pair[0], data + i, piece < size - i ? piece : size - i);
        for (int turns = 0; turns < 4; turns++)
            turn();
        INVARIANT(hear(&frames, pair[0], &heard) >= 0);
    }
    for (int turns = 0; turns < 8; turns++)
        turn();
    INVARIANT(hear(&frames, pair[0], &heard) >= 0);
    INVARIANT(!tc_frames_cut(&frames));
    INVARIANT(stream.pending.len <= TC_INPUT_WINDOW);
    tc_inline_close(&stream);
    tc_frames_done(&frames);
    (void)close(pair[0]);
}

static void serve_packets(const uint8_t *data, size_t size)
{
    int pair[2];
    size_t plan = size ? data[0] * 4u : 0;
    INVARIANT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
    _autofd_ int ours = pair[0];
    plan = plan < size ? plan : size;
    int fds[] = {pair[1], tc_memfd("plan", data, plan)};
    INVARIANT(fds[1] >= 0);
    begin(&(struct tc_job){.kind = TC_JOB_CALL}, NULL, fds, TC_COUNT(fds));
    for (data += plan, size -= plan; size > 1;) {
        size_t len = data[0] < size - 1 ? data[0] : size - 1;
        (void)send(ours, data + 1, len, MSG_DONTWAIT | MSG_NOSIGNAL);
        data += 1 + len;
        size -= 1 + len;
        turn();
    }
    turn();
}

static void hear_stream(const uint8_t *data, size_t size)
{
    int tube[2];
    size_t heard = 0;
    struct tc_frames frames = tc_frames_of(most, TC_FRAME_KINDS);
    INVARIANT(pipe2(tube, O_CLOEXEC | O_NONBLOCK) == 0);
    while (size) {
        ssize_t n = write(tube[1], data, size);
        INVARIANT(n > 0);
        data += n;
        size -= (size_t)n;
        if (hear(&frames, tube[0], &heard) < 0)
            break;
    }
    tc_frames_done(&frames);
    (void)close(tube[0]);
    (void)close(tube[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const ways[])(const uint8_t *, size_t) = {serve_stream, serve_packets,
                                                            hear_stream};
    (void)signal(SIGPIPE, SIG_IGN); /* as in the helper, which blocks it */
    if (loop.epoll < 0)
        INVARIANT(tc_loop_open(&loop) == 0 && tc_workers_open(&workers, &loop) == 0);
    (void)tc_reserve_close();
    int before = lowest_free();
    if (size)
        ways[data[0] % TC_COUNT(ways)](data + 1, size - 1);
    end_jobs();
    INVARIANT(lowest_free() == before);
    return 0;
}
