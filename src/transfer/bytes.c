/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The content of a file. Holes of a regular file are not sent, only hashed. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/strv.h"
#include "carry/carry.h"
#include "plan/protocol.h"
#include "transfer/transfer.h"

enum { PIECE = TC_MESSAGE_BYTES_MAX - (int)sizeof(uint64_t), OVER_EACH = 128 };

/* The kinds of a VM's stream of files; others are rejected. */
static const size_t most_of[TC_FRAME_KINDS] = {[TC_FRAME_ENTRY] = TC_CARRY_ENTRY_MAX,
                                               [TC_FRAME_BYTES] = TC_MESSAGE_BYTES_MAX,
                                               [TC_FRAME_DONE] = sizeof(struct tc_transfer_end)};

static const char changed[] = "changed while it was read; try again when nothing writes to it";
static const char too_large[] = "has more bytes than the limit allows (--max-size)";

void tc_transfer_init(struct tc_transfer_state *t, int stream, int64_t most)
{
    *t = (struct tc_transfer_state){.stream = stream, .most = most};
    SHA256Init(&t->hash);
}

int tc_transfer_fail(struct tc_transfer_state *t, const char *subject, const char *fault,
                     int errnum)
{
    tc_strcopy(t->subject, sizeof(t->subject), subject ? subject : "");
    t->fault = fault;
    t->errnum = errnum;
    return -1;
}

static int fail_broken(struct tc_transfer_state *t)
{
    t->broken = true;
    return tc_transfer_fail(t, NULL, "the stream ended before all bytes had arrived", 0);
}

/* ---- frames ---- */

int tc_transfer_write(struct tc_transfer_state *t, const void *bytes, size_t len)
{
    const char *at = bytes;
    while (len) {
        ssize_t n = send(t->stream, at, len, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return fail_broken(t);
        at += n;
        len -= (size_t)n;
    }
    return 0;
}

struct tc_frames tc_transfer_frames(void)
{
    return tc_frames_of(most_of, TC_COUNT(most_of));
}

int tc_transfer_next(struct tc_transfer_state *t, struct tc_frames *frames, struct tc_frame *ret)
{
    int rc;
    while ((rc = tc_frames_next(frames, ret)) == 0) {
        ssize_t n = tc_frames_read(frames, t->stream);
        if (n < 0 && errno == ENOMEM)
            return tc_transfer_fail(t, NULL, "out of memory", 0);
        if (n <= 0)
            return fail_broken(t);
    }
    return rc < 0 ? tc_transfer_fail(t, NULL, "the stream is malformed", 0) : 0;
}

static int put_frame(struct tc_transfer_state *t, uint32_t kind, const void *bytes, size_t len)
{
    _autobuf_ struct tc_buf out = TC_BUF_INIT;
    tc_frame_put(&out, kind, bytes, len);
    if (out.failed)
        return tc_transfer_fail(t, NULL, "out of memory", 0);
    return tc_transfer_write(t, out.data, out.len);
}

/* Waits until the receiver has ended the stream: it notices the end of a sender that fails earlier,
 * also while it does not read. */
static void await_receiver(const struct tc_transfer_state *t)
{
    char byte;
    ssize_t n;
    (void)shutdown(t->stream, SHUT_WR);
    do
        n = recv(t->stream, &byte, 1, 0);
    while (n > 0 || (n < 0 && errno == EINTR));
}

int tc_transfer_put_end(struct tc_transfer_state *t)
{
    struct tc_transfer_end end = {
        .bytes = (uint64_t)t->bytes, .names = (uint64_t)t->names, .mode = t->mode};
    tc_digest_finish(&t->hash, t->digest);
    memcpy(end.digest, t->digest, sizeof(end.digest));
    if (put_frame(t, TC_FRAME_DONE, &end, sizeof(end)) < 0)
        return -1;
    await_receiver(t);
    return 0;
}

int tc_transfer_take_end(struct tc_transfer_state *t, const struct tc_frame *frame)
{
    struct tc_transfer_end end;
    if (frame->kind != TC_FRAME_DONE || frame->len != sizeof(end))
        return tc_transfer_fail(t, NULL, "the stream is malformed", 0);
    memcpy(&end, frame->bytes, sizeof(end));
    t->mode = end.mode & 0777;
    tc_digest_finish(&t->hash, t->digest);
    if (memcmp(t->digest, end.digest, sizeof(end.digest)) != 0 || (int64_t)end.bytes != t->bytes ||
        (int64_t)end.names != t->names)
        return tc_transfer_fail(t, NULL, "the received bytes are not those that were sent", 0);
    return 0;
}

/* ---- send ---- */

/* Has this process ended the stream with shutdown(), or the other side its end? */
static bool is_over(const struct tc_transfer_state *t)
{
    return send(t->stream, "", 0, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 && errno == EPIPE;
}

/* Of a large hole, for a long time. */
static int hash_zeros(struct tc_transfer_state *t, int64_t count)
{
    static const unsigned char zeros[PIECE];
    if (count > t->most - t->bytes)
        return tc_transfer_fail(t, NULL, too_large, 0);
    t->bytes += count;
    for (size_t n, done = 0; count > 0; count -= (int64_t)n, done++) {
        n = count < PIECE ? (size_t)count : (size_t)PIECE;
        if (done % OVER_EACH == OVER_EACH - 1 && is_over(t))
            return fail_broken(t);
        SHA256Update(&t->hash, zeros, n);
    }
    return 0;
}

/* `piece` has room for the offset in front of the bytes. */
static int send_piece(struct tc_transfer_state *t, char *piece, size_t len)
{
    uint64_t at = (uint64_t)t->bytes;
    if ((int64_t)len > t->most - t->bytes)
        return tc_transfer_fail(t, NULL, too_large, 0);
    memcpy(piece, &at, sizeof(at));
    SHA256Update(&t->hash, (unsigned char *)piece + sizeof(at), len);
    t->bytes += (int64_t)len;
    return put_frame(t, TC_FRAME_BYTES, piece, sizeof(at) + len);
}

int tc_transfer_add(struct tc_transfer_state *t, const void *bytes, size_t len)
{
    char piece[sizeof(uint64_t) + PIECE];
    const char *at = bytes;
    for (size_t n; len; at += n, len -= n) {
        n = len < PIECE ? len : (size_t)PIECE;
        memcpy(piece + sizeof(uint64_t), at, n);
        if (send_piece(t, piece, n) < 0)
            return -1;
    }
    return 0;
}

/* A pipe or terminal may be silent for long: the end of the stream is noticed meanwhile. */
static int wait_input(struct tc_transfer_state *t, int fd)
{
    struct pollfd fds[] = {{.fd = fd, .events = POLLIN}, {.fd = t->stream}};
    while (poll(fds, TC_COUNT(fds), -1) < 0)
        if (errno != EINTR)
            return tc_transfer_fail(t, NULL, "cannot wait for bytes", errno);
    return fds[1].revents ? fail_broken(t) : 0;
}

static int send_pipe(struct tc_transfer_state *t, int fd)
{
    char piece[sizeof(uint64_t) + PIECE];
    ssize_t n;
    while (wait_input(t, fd) == 0) {
        n = read(fd, piece + sizeof(uint64_t), PIECE);
        if (n == 0)
            return tc_transfer_put_end(t);
        if (n < 0 && errno != EINTR && errno != EAGAIN)
            return tc_transfer_fail(t, NULL, "cannot be read", errno);
        if (n > 0 && send_piece(t, piece, (size_t)n) < 0)
            return -1;
    }
    return -1;
}

/* Sends one range of data, at most to `size`. */
static int send_data(struct tc_transfer_state *t, int fd, int64_t to)
{
    char piece[sizeof(uint64_t) + PIECE];
    while (t->bytes < to) {
        size_t want = to - t->bytes < PIECE ? (size_t)(to - t->bytes) : (size_t)PIECE;
        ssize_t n = pread(fd, piece + sizeof(uint64_t), want, t->bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return tc_transfer_fail(t, NULL, "cannot be read", errno);
        if (n == 0)
            return tc_transfer_fail(t, NULL, changed, 0);
        if (send_piece(t, piece, (size_t)n) < 0)
            return -1;
    }
    return 0;
}

static int send_file(struct tc_transfer_state *t, int fd, int64_t size)
{
    while (t->bytes < size) {
        off_t data = lseek(fd, t->bytes, SEEK_DATA), hole = -1;
        if (data < 0 && errno == EINVAL) /* the file system knows no holes */
            data = t->bytes;
        else if (data >= 0)
            hole = lseek(fd, data, SEEK_HOLE);
        if (data < 0 || data > size)
            data = size;
        if (hole < 0 || hole > size)
            hole = size;
        if (hash_zeros(t, data - t->bytes) < 0 || send_data(t, fd, hole) < 0)
            return -1;
    }
    return 0;
}

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
           a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

int tc_transfer_send(struct tc_transfer_state *t, int fd)
{
    struct stat st, now;
    char byte;
    if (fstat(fd, &st) < 0)
        return tc_transfer_fail(t, NULL, "cannot be read", errno);
    if (!S_ISREG(st.st_mode))
        return send_pipe(t, fd);
    t->mode = st.st_mode & 0777;
    if (st.st_size > t->most)
        return tc_transfer_fail(t, NULL, too_large, 0);
    if (send_file(t, fd, st.st_size) < 0)
        return -1;
    /* a file of the kernel has size 0 and bytes nevertheless */
    if (fstat(fd, &now) < 0 || !same_file(&st, &now) || pread(fd, &byte, 1, st.st_size) != 0)
        return tc_transfer_fail(t, NULL, changed, 0);
    return tc_transfer_put_end(t);
}

/* ---- receive ---- */

struct sink {
    int fd;
    bool holes; /* a new file */
};

static bool is_new_file(int fd)
{
    struct stat st;
    int flags = fcntl(fd, F_GETFL);
    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size == 0 && flags >= 0 &&
           !(flags & O_APPEND) && lseek(fd, 0, SEEK_CUR) == 0;
}

static int write_bytes(struct tc_transfer_state *t, const struct sink *to, const char *bytes,
                       size_t len)
{
    while (len) {
        ssize_t n = to->holes ? pwrite(to->fd, bytes, len, t->bytes) : write(to->fd, bytes, len);
        struct pollfd full = {.fd = to->fd, .events = POLLOUT};
        if (n < 0 && errno == EAGAIN && poll(&full, 1, -1) >= 0)
            continue;
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return tc_transfer_fail(t, NULL, "cannot be written", errno);
        SHA256Update(&t->hash, (const unsigned char *)bytes, (size_t)n);
        t->bytes += n;
        bytes += n;
        len -= (size_t)n;
    }
    return 0;
}

static int fill_to(struct tc_transfer_state *t, const struct sink *to, uint64_t end)
{
    static const char zeros[PIECE];
    if (end > (uint64_t)t->most)
        return tc_transfer_fail(t, NULL, too_large, 0);
    if (end < (uint64_t)t->bytes)
        return tc_transfer_fail(t, NULL, "the stream is malformed", 0);
    int64_t left = (int64_t)end - t->bytes;
    if (to->holes)
        return hash_zeros(t, left);
    for (size_t n; left > 0; left -= (int64_t)n) {
        n = left < PIECE ? (size_t)left : (size_t)PIECE;
        if (write_bytes(t, to, zeros, n) < 0)
            return -1;
    }
    return 0;
}

static int take_bytes(struct tc_transfer_state *t, const struct sink *to, const struct tc_frame *f)
{
    uint64_t at;
    if (f->len <= sizeof(at))
        return tc_transfer_fail(t, NULL, "the stream is malformed", 0);
    memcpy(&at, f->bytes, sizeof(at));
    size_t len = f->len - sizeof(at);
    if (fill_to(t, to, at) < 0)
        return -1;
    if ((int64_t)len > t->most - t->bytes)
        return tc_transfer_fail(t, NULL, too_large, 0);
    return write_bytes(t, to, f->bytes + sizeof(at), len);
}

/* A file may end with a hole. */
static int take_done(struct tc_transfer_state *t, const struct sink *to, const struct tc_frame *f)
{
    struct tc_transfer_end end;
    if (f->len != sizeof(end))
        return tc_transfer_fail(t, NULL, "the stream is malformed", 0);
    memcpy(&end, f->bytes, sizeof(end));
    if (fill_to(t, to, end.bytes) < 0 || tc_transfer_take_end(t, f) < 0)
        return -1;
    if (to->holes && ftruncate(to->fd, t->bytes) < 0)
        return tc_transfer_fail(t, NULL, "cannot be written", errno);
    return 0;
}

int tc_transfer_over(struct tc_transfer_state *t, int rc)
{
    (void)shutdown(t->stream, SHUT_RDWR);
    return rc;
}

static int receive(struct tc_transfer_state *t, int fd)
{
    const struct sink to = {.fd = fd, .holes = is_new_file(fd)};
    struct tc_frames frames _auto_(tc_frames_done) = tc_transfer_frames();
    struct tc_frame f;
    while (tc_transfer_next(t, &frames, &f) == 0) {
        if (f.kind == TC_FRAME_DONE)
            return take_done(t, &to, &f);
        if (f.kind != TC_FRAME_BYTES)
            return tc_transfer_fail(t, NULL, "the stream is malformed", 0);
        if (take_bytes(t, &to, &f) < 0)
            return -1;
    }
    return -1;
}

int tc_transfer_receive(struct tc_transfer_state *t, int fd)
{
    return tc_transfer_over(t, receive(t, fd));
}
