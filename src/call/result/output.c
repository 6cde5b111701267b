/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Runs a program and reads its output. Also finds the media types of files.
 *
 * The child has no exit signal and is reaped by its pid, so the host never notices it. Between
 * clone and exec the child runs in this process's memory, on a separate stack, while this thread
 * waits: it makes only system calls and allocates nothing. */
#include "call/result/result.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/stacks.h"
#include "base/strv.h"
#include "spawn/spawn.h"

enum { STACK = 64 << 10, KERNEL_SIGSET = 8, READ_SHARE = 4096 };

struct child {
    struct tc_spawn program;
    int errnum;
};

static int become(void *arg)
{
    struct child *c = arg;
    c->errnum = tc_spawn_become(&c->program);
    return 127;
}

/* Blocks all signals, including libc's internal ones: a handler must not run in the child. */
static pid_t clone_child(struct child *c)
{
    uint64_t all = ~UINT64_C(0), before = 0;
    char *stack =
        mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stack == MAP_FAILED)
        return -1;
    (void)syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, KERNEL_SIGSET);
    pid_t pid = clone(become, stack + STACK, CLONE_VM | CLONE_VFORK, c);
    int errnum = errno;
    (void)syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, KERNEL_SIGSET);
    tc_stack_free(stack, STACK);
    errno = errnum;
    return pid;
}

static long reap_child(pid_t pid, int *ret_status)
{
    long r;
    do
        r = syscall(SYS_wait4, pid, ret_status, __WALL, NULL);
    while (r < 0 && errno == EINTR);
    return r;
}

/* Reads to the end of the file. False: the deadline has passed, or the output is too large. */
static bool read_all(int fd, int64_t until, struct tc_buf *out)
{
    for (;;) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        int64_t left = (until - tc_now_us() + 999) / 1000;
        int n = poll(&p, 1, left > 0 ? (int)left : 0);
        if (n == 0)
            return false;
        char *to = n > 0 ? tc_buf_room(out, READ_SHARE) : NULL;
        ssize_t got = to ? read(fd, to, READ_SHARE) : -1;
        if (got == 0)
            return true;
        if (got < 0 && errno != EINTR && errno != EAGAIN)
            return false;
        if (n > 0 && !to)
            return false;
        out->len += got > 0 ? (size_t)got : 0;
    }
}

static bool ends(pid_t pid, int64_t until)
{
    _autofd_ int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    struct pollfd p = {.fd = pidfd, .events = POLLIN};
    int64_t left = (until - tc_now_us() + 999) / 1000;
    return pidfd >= 0 && poll(&p, 1, left > 0 ? (int)left : 0) > 0;
}

static const char *finish_output(pid_t pid, int fd, int64_t until, struct tc_buf *out)
{
    int status = 0;
    bool whole = read_all(fd, until, out) && ends(pid, until);
    if (!whole)
        (void)kill(pid, SIGKILL);
    bool reaped = reap_child(pid, &status) == pid;
    errno = 0;
    if (!whole)
        return out->failed ? "it prints too much" : "it has not ended in time";
    return reaped && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? NULL : "it has failed";
}

const char *tc_output_of(const char *path, char *const argv[], int limit_ms, struct tc_buf *out)
{
    int pair[2];
    int64_t until = tc_now_us() + (int64_t)limit_ms * 1000;
    _autostrv_ struct tc_strv env = {0};
    if (!tc_spawn_environment(&env))
        return "there is no memory for it";
    if (pipe2(pair, O_CLOEXEC) < 0)
        return "there are no descriptors for it";
    _autofd_ int from = pair[0], to = pair[1];
    struct child child = {
        .program = {.path = path, .argv = argv, .env = env.items, .in = -1, .out = to}};
    pid_t pid = clone_child(&child);
    if (pid < 0)
        return "it cannot be started";
    (void)close(TAKE_FD(to));
    if (!child.errnum)
        return finish_output(pid, from, until, out);
    (void)reap_child(pid, &(int){0});
    errno = child.errnum;
    return "it cannot be executed";
}

/* The signatures are from the formats' specifications: PNG (ISO 15948, 5.2), JPEG (ITU-T T.81,
 * SOI and the next marker), GIF89a, WebP (RIFF container), PDF (ISO 32000, 7.5.2), ZIP (APPNOTE,
 * 4.3.7), gzip (RFC 1952, 2.3.1). */
#define UNKNOWN "application/octet-stream"

struct row {
    const char *suffix, *type;
    const char *first; /* its first bytes; NULL: text */
    size_t len;
    const char *eighth; /* bytes at 8, NULL: any */
};

#define BYTES(text) text, sizeof(text) - 1
static const struct row rows[] = {
    {".csv", "text/csv", NULL, 0, NULL},
    {".txt", "text/plain", NULL, 0, NULL},
    {".md", "text/markdown", NULL, 0, NULL},
    {".html", "text/html", NULL, 0, NULL},
    {".json", "application/json", NULL, 0, NULL},
    {".xml", "application/xml", NULL, 0, NULL},
    {".svg", "image/svg+xml", NULL, 0, NULL},
    {".png", "image/png", BYTES("\x89PNG\r\n\x1a\n"), NULL},
    {".jpg", "image/jpeg", BYTES("\xff\xd8\xff"), NULL},
    {".jpeg", "image/jpeg", BYTES("\xff\xd8\xff"), NULL},
    {".gif", "image/gif", BYTES("GIF8"), NULL},
    {".webp", "image/webp", BYTES("RIFF"), "WEBP"},
    {".pdf", "application/pdf", BYTES("%PDF-"), NULL},
    {".zip", "application/zip", BYTES("PK\x03\x04"), NULL},
    {".gz", "application/gzip", BYTES("\x1f\x8b"), NULL},
};

static bool agrees(const struct row *row, const char *content, size_t len)
{
    enum { EIGHTH = 8, WORD = 4 };
    if (!row->first)
        return tc_utf8_valid(content, len);
    if (len < row->len || memcmp(content, row->first, row->len) != 0)
        return false;
    return !row->eighth ||
           (len >= EIGHTH + WORD && memcmp(content + EIGHTH, row->eighth, WORD) == 0);
}

const char *tc_mime_of(const char *path, const char *content, size_t len)
{
    const struct row *named = NULL;
    for (size_t i = 0; i < TC_COUNT(rows) && !named; i++)
        if (tc_endswith(path, rows[i].suffix))
            named = &rows[i];
    if (!content)
        return named ? named->type : UNKNOWN;
    if (named)
        return agrees(named, content, len) ? named->type : UNKNOWN;
    for (size_t i = 0; i < TC_COUNT(rows); i++)
        if (rows[i].first && agrees(&rows[i], content, len))
            return rows[i].type;
    return tc_utf8_valid(content, len) ? "text/plain" : UNKNOWN;
}
