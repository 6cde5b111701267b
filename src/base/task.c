/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "base/task.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

#define TC_STRUCT struct tc_task_message
#define TASK(F)                                \
    F(BYTES, program, TC_COUNTED(program_len)) \
    F(BYTES, call, TC_COUNTED(call_len))       \
    F(ONE, cwd)                                \
    F(FD, in)                                  \
    F(FD, out)                                 \
    F(FD, err)                                 \
    F(FD, root)                                \
    F(FD, wall)                                \
    F(FD, port)                                \
    F(FD, console)                             \
    F(FD, file)
TC_FIELDS(tc_task_fields, TASK);
#undef TC_STRUCT

/* The first packet has the length of the fields, which follow or are in the first fd, and the
 * number of all fds: those that do not fit are sent in more packets. */
struct packet {
    uint32_t size, fds;
    char bytes[TC_TASK_INSIDE_MAX];
};

enum { HEAD = offsetof(struct packet, bytes) };

static size_t in_one(size_t count)
{
    return count < TC_FDS_MAX ? count : TC_FDS_MAX;
}

static int send_packets(int sock, const struct tc_wire *w)
{
    const uint32_t size = (uint32_t)(w->out.len - HEAD);
    bool inside = size <= TC_TASK_INSIDE_MAX;
    _autofd_ int file = inside ? -1 : tc_memfd("task", w->out.data + HEAD, size);
    const uint32_t count = (uint32_t)w->fd_count - inside;
    const int *fds = w->fds + inside;
    if (!inside && file < 0)
        return -1;
    w->fds[0] = file;
    memcpy(w->out.data, &size, sizeof(size));
    memcpy(w->out.data + sizeof(size), &count, sizeof(count));
    int rc = tc_send(sock, w->out.data, HEAD + (inside ? size : 0), fds, in_one(count));
    for (size_t at = TC_FDS_MAX; rc == 0 && at < count; at += TC_FDS_MAX)
        rc = tc_send(sock, "", 1, fds + at, in_one(count - at));
    return rc;
}

int tc_task_send(int sock, const struct tc_fields *fields, const void *it)
{
    struct tc_wire w = TC_WIRE_PUT_INIT;
    int file = 0; /* whether it is the first fd */
    w.out.max = HEAD + TC_TASK_BYTES_MAX;
    tc_buf_add(&w.out, "two sizes", HEAD);
    tc_wire_fd(&w, &file);
    w.out.len = HEAD;
    tc_fields_visit(&w, fields, (void *)(uintptr_t)it, 0, 0);
    errno = EMSGSIZE;
    int rc = w.failed || w.fd_count > TC_TASK_FDS_MAX ? -1 : send_packets(sock, &w);
    tc_buf_done(&w.out);
    free(w.fds);
    return rc;
}

/* The bytes of a file of exactly this size; NULL: another size, or out of memory. */
static char *read_file(int fd, size_t size)
{
    struct stat st;
    if (size > TC_TASK_BYTES_MAX || fstat(fd, &st) < 0 || st.st_size != (off_t)size)
        return NULL;
    char *bytes = malloc(size);
    if (bytes && pread(fd, bytes, size, 0) == (ssize_t)size)
        return bytes;
    free(bytes);
    return NULL;
}

/* Receives the fds of the packets after the first. */
static bool receive_more(int sock, int *fds, size_t *count, size_t all)
{
    char byte;
    while (*count < all) {
        size_t some = 0;
        if (tc_recv(sock, &byte, 1, fds + *count, in_one(all - *count), &some, NULL, NULL, true) !=
                1 ||
            !some)
            return false;
        *count += some;
    }
    return true;
}

static bool take_fields(const struct packet *p, size_t len, int *fds, size_t count,
                        const struct tc_fields *fields, void *ret)
{
    bool outside = len == HEAD && p->size;
    if (outside ? !count : len - HEAD != p->size)
        return false;
    _autofree_ char *read = outside ? read_file(fds[0], p->size) : NULL;
    if (outside && !read)
        return false;
    struct tc_wire w = TC_WIRE_GET_INIT(outside ? read : p->bytes, p->size);
    w.fds = fds;
    w.fd_count = outside;
    w.fd_max = count;
    tc_fields_visit(&w, fields, ret, 0, 0);
    return !w.failed && !w.left && w.fd_count == count && (!outside || close(fds[0]) == 0);
}

bool tc_task_receive(int sock, const struct tc_fields *fields, void *ret)
{
    struct packet p = {.size = 0};
    int first[TC_FDS_MAX];
    size_t count = 0;
    ssize_t n = tc_recv(sock, &p, sizeof(p), first, TC_FDS_MAX, &count, NULL, NULL, true);
    if (n < 0)
        return false;
    bool fine = n >= HEAD && p.fds >= count && p.fds <= TC_TASK_FDS_MAX;
    _autofree_ int *fds = calloc((fine ? p.fds : count) + 1, sizeof(*fds));
    if (!fds) {
        tc_close_all(first, count);
        return false;
    }
    memcpy(fds, first, count * sizeof(*fds));
    if (fine && receive_more(sock, fds, &count, p.fds) &&
        take_fields(&p, (size_t)n, fds, count, fields, ret))
        return true;
    tc_close_all(fds, count);
    return false;
}

bool tc_task_take(struct tc_task_message *ret, const struct tc_fields *fields, void *it,
                  unsigned of_call)
{
    return tc_task_receive(TC_TASK_SOCKET, &tc_task_fields, ret) &&
           (!ret->program ||
            tc_fields_get(fields, it, of_call, 0, ret->program, ret->program_len)) &&
           (!ret->call || tc_fields_get(fields, it, of_call, of_call, ret->call, ret->call_len));
}

bool tc_task_place_streams(const struct tc_task_message *task)
{
    const int streams[] = {task->in, task->out, task->err};
    for (int i = 0; i < (int)TC_COUNT(streams); i++)
        if (streams[i] < 0 || dup2(streams[i], i) < 0 || close(streams[i]) < 0)
            return false;
    return true;
}

void tc_task_bound(struct tc_task_end *end)
{
    const int64_t most = INT64_C(1) << 50; /* a petabyte, or 35 years */
    end->code &= 255;
    end->cpu_us = end->cpu_us < 0 || end->cpu_us > most ? 0 : end->cpu_us;
    end->bytes = end->bytes < 0 || end->bytes > most ? 0 : end->bytes;
}
