/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "helper/inline.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "version.h"

enum {
    /* bytes that the peer has not read; above this the job's socket is not read either */
    BACKLOG = 256 << 10,
    TELL = TC_INPUT_WINDOW / 4
};

static const size_t most[TC_FRAME_KINDS] = {
    [TC_FRAME_JOB] = sizeof(struct tc_job),    [TC_FRAME_PLAN] = TC_PLAN_BYTES_MAX,
    [TC_FRAME_SECRETS] = TC_SECRETS_BYTES_MAX, [TC_FRAME_INPUT] = TC_MESSAGE_BYTES_MAX,
    [TC_FRAME_RESIZE] = 2 * sizeof(uint16_t),  [TC_FRAME_ENTRY] = TC_CARRY_ENTRY_MAX,
    [TC_FRAME_BYTES] = TC_MESSAGE_BYTES_MAX,   [TC_FRAME_RENEW] = sizeof(struct tc_renewal)};

static void drop_source(struct tc_loop *loop, struct tc_source *source, int *fd)
{
    /* close() alone does not remove it from epoll: see cage/events.c */
    (void)tc_loop_watch(loop, source, -1, 0);
    if (*fd >= 0)
        (void)close(*fd);
    *fd = -1;
}

static void give_up(struct tc_inline *s)
{
    s->over = true;
    (void)tc_loop_watch(s->loop, &s->from, -1, 0);
    (void)tc_loop_watch(s->loop, &s->to, -1, 0);
    drop_source(s->loop, &s->input, &s->input_fd);
    drop_source(s->loop, &s->job, &s->job_fd);
}

static void watch_source(struct tc_inline *s, struct tc_source *source, int fd, uint32_t events)
{
    if (tc_loop_watch(s->loop, source, fd, events) < 0) {
        source->fd = -1;
        s->over = true;
    }
}

/* ---- to the library ---- */

static size_t backlog(const struct tc_inline *s)
{
    return s->out.len - s->sent;
}

static void put_outcome(struct tc_inline *s, int fd)
{
    struct stat st = {0};
    bool there = fd >= 0 && fstat(fd, &st) == 0 && st.st_size > 0;
    void *map = there ? mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
    bool mapped = map != MAP_FAILED;
    tc_frame_put(&s->out, TC_FRAME_DONE, mapped ? map : NULL, mapped ? (size_t)st.st_size : 0);
    if (mapped)
        (void)munmap(map, (size_t)st.st_size);
}

/* Changed files are read only as fast as they are sent; the outcome follows them. */
static void refill(struct tc_inline *s)
{
    int more = 1;
    while (s->returning && backlog(s) < BACKLOG && more > 0)
        more = tc_carried_next(&s->carried, &s->out);
    if (more > 0)
        return;
    _autofd_ int outcome = TAKE_FD(s->outcome);
    s->returning = false;
    put_outcome(s, outcome);
    if (more < 0 || s->out.failed)
        give_up(s);
}

/* Writes as much as the stream accepts, and reads from the job only while the backlog is small. */
static void flush(struct tc_inline *s)
{
    refill(s);
    while (backlog(s) && !s->over) {
        ssize_t n = write(s->to_fd, s->out.data + s->sent, backlog(s));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno != EAGAIN)
            give_up(s);
        if (n < 0)
            break;
        s->sent += (size_t)n;
        if (backlog(s))
            continue;
        s->out.len = s->sent = 0;
        refill(s);
    }
    if (s->over)
        return;
    watch_source(s, &s->to, backlog(s) ? s->to_fd : -1, EPOLLOUT);
    if (s->job_fd >= 0)
        watch_source(s, &s->job, backlog(s) < BACKLOG ? s->job_fd : -1, EPOLLIN);
}

static void send_frame(struct tc_inline *s, enum tc_frame_kind kind, const void *bytes, size_t len)
{
    tc_frame_put(&s->out, kind, bytes, len);
    if (s->out.failed) /* the peer would misinterpret the rest of the stream */
        give_up(s);
    else
        flush(s);
}

static void say_done(struct tc_inline *s, int fd)
{
    drop_source(s->loop, &s->input, &s->input_fd);
    drop_source(s->loop, &s->job, &s->job_fd);
    if (!s->carried.some) {
        put_outcome(s, fd);
    } else if (tc_carried_compare(&s->carried)) {
        s->outcome = fcntl(fd, F_DUPFD_CLOEXEC, 0);
        s->returning = true;
    } else {
        give_up(s);
    }
    if (s->out.failed)
        give_up(s);
    if (!s->over)
        flush(s);
}

static void on_job(struct tc_source *source)
{
    struct tc_inline *s = source->owner;
    union {
        struct tc_message m;
        char bytes[sizeof(struct tc_message) + TC_MESSAGE_BYTES_MAX];
    } in;
    int fds[1] = {-1};
    size_t count = 0;
    ssize_t n = tc_recv(s->job_fd, &in, sizeof(in), fds, 1, &count, NULL, NULL, false);
    if (n < 0 && errno == EAGAIN)
        return;
    _autofd_ int fd = n >= 0 && count ? fds[0] : -1;
    bool whole = n >= (ssize_t)sizeof(in.m);
    bool output = whole && in.m.kind == TC_MESSAGE_OUTPUT;
    if (whole && in.m.kind == TC_MESSAGE_COLLECTED)
        return; /* for the guest's copy of the files; the host collects the changes again */
    if (output)
        send_frame(s, in.m.stream == 1 ? TC_FRAME_OUT : TC_FRAME_ERR, in.m.bytes,
                   (size_t)n - sizeof(in.m));
    else
        say_done(s, fd);
}

/* ---- the tool's input ---- */

/* Once the tool no longer reads, the remaining input is discarded and acknowledged, because the
 * sender waits for that. */
static void on_input(struct tc_source *source)
{
    struct tc_inline *s = source->owner;
    size_t left = s->pending.len - s->fed;
    ssize_t n = s->input_fd >= 0 && left ? write(s->input_fd, s->pending.data + s->fed, left) : 0;
    if (n < 0 && errno != EAGAIN && errno != EINTR)
        drop_source(s->loop, &s->input, &s->input_fd);
    size_t taken = n > 0 ? (size_t)n : s->input_fd < 0 ? left : 0;
    s->fed += taken;
    s->untold += taken;
    bool all = s->fed == s->pending.len;
    if (all)
        s->pending.len = s->fed = 0;
    if (all && s->input_ended)
        drop_source(s->loop, &s->input, &s->input_fd);
    else if (s->input_fd >= 0)
        watch_source(s, &s->input, all ? -1 : s->input_fd, EPOLLOUT);
    uint32_t told = (uint32_t)s->untold;
    if (s->untold && (all || s->untold >= TELL)) {
        s->untold = 0;
        send_frame(s, TC_FRAME_TAKEN, &told, sizeof(told));
    }
}

static void take_input(struct tc_inline *s, const struct tc_frame *f)
{
    bool ends = f->kind == TC_FRAME_INPUT_END;
    bool room = f->len <= TC_INPUT_WINDOW - (s->pending.len - s->fed) - s->untold;
    if (s->job_fd < 0)
        return; /* sent before the sender knew that the call had ended */
    if (s->input_ended || !room) {
        give_up(s);
        return;
    }
    if (s->fed) {
        s->pending.len -= s->fed;
        memmove(s->pending.data, s->pending.data + s->fed, s->pending.len);
        s->fed = 0;
    }
    tc_buf_add(&s->pending, f->bytes, f->len);
    s->input_ended = ends;
    if (s->pending.failed)
        give_up(s);
    else
        on_input(&s->input);
}

/* ---- from the library ---- */

static bool announce(struct tc_inline *s, const struct tc_frame *f)
{
    struct tc_job job;
    if (s->waits || s->job_fd >= 0 || s->returning || f->len != sizeof(job))
        return false;
    memcpy(&job, f->bytes, sizeof(job));
    s->announced = job;
    s->waits = true;
    return job.kind == TC_JOB_CALL || job.kind == TC_JOB_PROBE;
}

static bool take_file(struct tc_inline *s, const struct tc_frame *f, int *at, bool expected)
{
    if (!s->waits || !expected || *at >= 0)
        return false;
    *at = tc_memfd("inline", f->bytes, f->len);
    return *at >= 0;
}

/* The job is complete: begins it like a job from the engine's socket. */
static bool start_job(struct tc_inline *s)
{
    struct tc_job job = s->announced;
    int pair[2], tube[2] = {-1, -1};
    bool reads = job.kind == TC_JOB_CALL && job.stdin_kind != TC_STDIN_NONE;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return false;
    s->job_fd = pair[0];
    _autofd_ int theirs = pair[1];
    if (reads && (pipe2(tube, O_CLOEXEC) < 0 || fcntl(tube[1], F_SETFL, O_NONBLOCK) < 0))
        return false;
    s->input_fd = tube[1];
    s->input_ended = !reads;
    s->pending.len = s->fed = s->untold = 0;
    s->waits = false;
    job.stdin_kind = reads ? TC_STDIN_PIPE : TC_STDIN_NONE;
    job.secrets = s->secrets >= 0;
    job.inside = job.plan_bytes = job.exchanges = 0;
    watch_source(s, &s->job, s->job_fd, EPOLLIN);
    int fds[4];
    size_t count = 0;
    int *given[] = {&theirs, &s->plan, &tube[0], &s->secrets};
    for (size_t i = 0; i < TC_COUNT(given); i++)
        if (*given[i] >= 0)
            fds[count++] = TAKE_FD(*given[i]);
    s->begin(&job, NULL, fds, count);
    return true;
}

static bool is_whole(const struct tc_inline *s)
{
    bool call = s->announced.kind == TC_JOB_CALL;
    return s->waits && (!call || s->plan >= 0) &&
           (!call || !s->announced.secrets || s->secrets >= 0);
}

static void tell_job(struct tc_inline *s, const struct tc_frame *f)
{
    struct tc_message m = {.kind = TC_MESSAGE_CANCEL};
    uint16_t size[2];
    if (f->kind == TC_FRAME_RESIZE && f->len == sizeof(size)) {
        memcpy(size, f->bytes, sizeof(size));
        m = (struct tc_message){.kind = TC_MESSAGE_RESIZE, .rows = size[0], .columns = size[1]};
    }
    if (s->job_fd >= 0)
        (void)tc_send(s->job_fd, &m, sizeof(m), NULL, 0);
}

static void greet(struct tc_inline *s)
{
    static const char build[TC_BUILD_ID_SIZE] = TC_BUILD_ID;
    send_frame(s, TC_FRAME_HELLO, build, sizeof(build));
}

static bool take_renewal(struct tc_inline *s, const struct tc_frame *f)
{
    struct tc_renewal renewal;
    if (!s->renew || s->waits || s->job_fd >= 0 || f->len != sizeof(renewal))
        return false;
    memcpy(&renewal, f->bytes, sizeof(renewal));
    bool fine = s->renew(&renewal);
    if (fine)
        greet(s);
    return fine;
}

static bool take_frame(struct tc_inline *s, const struct tc_frame *f)
{
    bool call = s->announced.kind == TC_JOB_CALL;
    if (tc_unpack_takes(f))
        return !s->waits && s->job_fd < 0 && tc_carried_take(&s->carried, f);
    switch (f->kind) {
    case TC_FRAME_JOB:
        return announce(s, f);
    case TC_FRAME_PLAN:
        return take_file(s, f, &s->plan, call);
    case TC_FRAME_SECRETS:
        return take_file(s, f, &s->secrets, call && s->announced.secrets);
    case TC_FRAME_INPUT:
    case TC_FRAME_INPUT_END:
        take_input(s, f);
        return true;
    case TC_FRAME_RENEW:
        return take_renewal(s, f);
    case TC_FRAME_CANCEL:
    case TC_FRAME_RESIZE:
        tell_job(s, f);
        return true;
    default: /* sent by the helper only */
        return false;
    }
}

/* A VM's connection to the host is cut when the VM is saved to a file between two jobs, and in each
 * restored copy. The helper then reconnects and continues. The host expects that and sends
 * first. */
static bool is_idle(const struct tc_inline *s)
{
    return !s->waits && s->job_fd < 0 && !s->returning && !s->carried.some && !s->frames.failed &&
           !tc_frames_cut(&s->frames);
}

static void call_again(struct tc_inline *s)
{
    watch_source(s, &s->from, -1, 0);
    watch_source(s, &s->to, -1, 0);
    _autofd_ int fd = s->again();
    if (fd < 0 || fcntl(fd, F_SETFL, O_NONBLOCK) < 0 || dup3(fd, s->from_fd, O_CLOEXEC) < 0 ||
        dup3(fd, s->to_fd, O_CLOEXEC) < 0)
        give_up(s);
    else
        watch_source(s, &s->from, s->from_fd, EPOLLIN);
}

static void on_from(struct tc_source *source)
{
    struct tc_inline *s = source->owner;
    struct tc_frame f;
    int more = 0;
    ssize_t n = tc_frames_read(&s->frames, source->fd);
    if (n < 0 && errno == EAGAIN)
        return;
    bool fine = n > 0;
    if (!fine && s->again && is_idle(s)) {
        call_again(s);
        return;
    }
    while (fine && !s->over && (more = tc_frames_next(&s->frames, &f)) > 0) {
        fine = take_frame(s, &f);
        if (fine && is_whole(s))
            fine = start_job(s);
    }
    if (!fine || more < 0)
        give_up(s);
}

static void on_to(struct tc_source *source)
{
    flush(source->owner);
}

int tc_inline_open(struct tc_inline *s, struct tc_loop *loop, int from, int to,
                   tc_inline_begin begin_job)
{
    *s = (struct tc_inline){.loop = loop,
                            .outcome = -1,
                            .begin = begin_job,
                            .from = {.ready = on_from, .owner = s, .fd = -1},
                            .to = {.ready = on_to, .owner = s, .fd = -1},
                            .job = {.ready = on_job, .owner = s, .fd = -1},
                            .input = {.ready = on_input, .owner = s, .fd = -1},
                            .from_fd = from,
                            .to_fd = to,
                            .job_fd = -1,
                            .input_fd = -1,
                            .plan = -1,
                            .secrets = -1,
                            .frames = tc_frames_of(most, TC_FRAME_KINDS),
                            .out = TC_BUF_INIT,
                            .pending = TC_BUF_INIT};
    s->out.max = SIZE_MAX / 2;
    /* epoll watches an fd once */
    if (to == from)
        s->to_fd = fcntl(to, F_DUPFD_CLOEXEC, 0);
    if (s->to_fd < 0 || fcntl(s->from_fd, F_SETFL, O_NONBLOCK) < 0 ||
        fcntl(s->to_fd, F_SETFL, O_NONBLOCK) < 0 ||
        tc_loop_watch(loop, &s->from, from, EPOLLIN) < 0)
        return -1;
    greet(s);
    return s->over ? -1 : 0;
}

void tc_inline_close(struct tc_inline *s)
{
    int *fds[] = {&s->plan, &s->secrets, &s->from_fd, &s->to_fd, &s->outcome};
    give_up(s);
    for (size_t i = 0; i < TC_COUNT(fds); i++)
        if (*fds[i] >= 0)
            (void)close(TAKE_FD(*fds[i]));
    tc_carried_close(&s->carried);
    tc_frames_done(&s->frames);
    tc_buf_done(&s->out);
    tc_buf_done(&s->pending);
}
