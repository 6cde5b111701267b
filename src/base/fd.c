/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/sys.h"

int tc_write_all(int fd, const void *bytes, size_t len)
{
    const char *p = bytes;
    while (len) {
        ssize_t n = write(fd, p, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        p += n;
        len -= (size_t)n;
    }
    return 0;
}

void tc_close_all(const int *fds, size_t count)
{
    int saved = errno;
    for (size_t i = 0; i < count; i++)
        (void)close(fds[i]);
    errno = saved;
}

static int by_number(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

void tc_close_but(int *kept, size_t count)
{
    unsigned next = 0;
    if (count)
        qsort(kept, count, sizeof(*kept), by_number);
    for (size_t i = 0; i < count; i++) {
        unsigned fd = (unsigned)kept[i];
        if (fd > next)
            (void)tc_close_range(next, fd - 1, 0);
        next = fd + 1;
    }
    (void)tc_close_range(next, ~0U, 0);
}

/* The buffer is full. 0: this is the end of the file, -1: it is not, or with an error. */
static int read_end(int fd)
{
    char more;
    ssize_t n;
    do
        n = read(fd, &more, 1);
    while (n < 0 && errno == EINTR);
    return n == 0 ? 0 : -1;
}

int tc_read_all(int fd, struct tc_buf *buf)
{
    for (;;) {
        enum { STEP = 16384 };
        size_t left = buf->len + 1 < buf->max ? buf->max - buf->len - 1 : 0;
        if (!left && buf->data && read_end(fd) == 0)
            return 0;
        char *to = left ? tc_buf_room(buf, left < STEP ? left : STEP) : NULL;
        if (!to) {
            buf->failed = true;
            errno = EFBIG;
            return -1;
        }
        ssize_t n = read(fd, to, left < STEP ? left : STEP);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        buf->len += (size_t)n;
        buf->data[buf->len] = '\0';
        if (n == 0)
            return 0;
    }
}

int tc_read_file(int dirfd, const char *path, struct tc_buf *buf)
{
    _autofd_ int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    return fd < 0 ? -1 : tc_read_all(fd, buf);
}

int tc_make_directories(const char *path)
{
    _autofree_ char *part = strdup(path);
    for (char *slash = part ? strchr(part + 1, '/') : NULL; part; slash = strchr(slash + 1, '/')) {
        if (slash)
            *slash = '\0';
        if (mkdir(part, 0700) < 0 && errno != EEXIST)
            return -1;
        if (!slash)
            return 0;
        *slash = '/';
    }
    return -1;
}

int tc_write_file(int dirfd, const char *path, const char *text)
{
    _autofd_ int fd = openat(dirfd, path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return -1;
    size_t len = strlen(text);
    ssize_t n;
    do
        n = write(fd, text, len);
    while (n < 0 && errno == EINTR);
    if (n >= 0 && (size_t)n != len)
        errno = EIO;
    return n >= 0 && (size_t)n == len ? 0 : -1;
}

union control {
    struct cmsghdr align;
    char bytes[CMSG_SPACE(sizeof(int) * TC_FDS_MAX) + CMSG_SPACE(sizeof(struct ucred))];
};

/* Linux counts fds in flight over all processes of a user, and refuses more once they reach the
 * sender's limit of open files (unix(7), ETOOMANYREFS). They are in flight only briefly, so a
 * process with a low limit waits for a bounded time. */
static ssize_t send_patiently(int sock, const struct msghdr *msg, int flags)
{
    enum { TRIES = 500 };
    const struct timespec moment = {.tv_nsec = 1000000};
    ssize_t n;
    for (int i = 0; i < TRIES; i++) {
        do
            n = sendmsg(sock, msg, MSG_NOSIGNAL | flags);
        while (n < 0 && errno == EINTR);
        if (n >= 0 || errno != ETOOMANYREFS)
            return n;
        (void)nanosleep(&moment, NULL);
    }
    errno = ETOOMANYREFS;
    return -1;
}

static int send_message(int sock, const void *bytes, size_t len, const int *fds, size_t count,
                        int flags)
{
    union control control = {0};
    struct iovec iov = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = len};
    struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
    if (count > TC_FDS_MAX) {
        errno = E2BIG;
        return -1;
    }
    if (count) {
        msg.msg_control = control.bytes;
        msg.msg_controllen = CMSG_SPACE(sizeof(int) * count);
        struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof(int) * count);
        memcpy(CMSG_DATA(c), fds, sizeof(int) * count);
    }
    return send_patiently(sock, &msg, flags) < 0 ? -1 : 0;
}

int tc_send(int sock, const void *bytes, size_t len, const int *fds, size_t count)
{
    return send_message(sock, bytes, len, fds, count, 0);
}

int tc_send_now(int sock, const void *bytes, size_t len, const int *fds, size_t count)
{
    return send_message(sock, bytes, len, fds, count, MSG_DONTWAIT);
}

/* Stores the fds of one control message until there are `max`, and closes the others. */
static void take_fds(const struct cmsghdr *c, int *fds, size_t max, size_t *count)
{
    size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < n; i++) {
        int fd;
        memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
        if (*count < max)
            fds[(*count)++] = fd;
        else
            (void)close(fd);
    }
}

ssize_t tc_recv(int sock, void *bytes, size_t size, int *fds, size_t max, size_t *ret_count,
                pid_t *ret_pid, uid_t *ret_uid, bool block)
{
    union control control;
    struct iovec iov = {.iov_base = bytes, .iov_len = size};
    struct msghdr msg = {.msg_iov = &iov,
                         .msg_iovlen = 1,
                         .msg_control = control.bytes,
                         .msg_controllen = sizeof(control.bytes)};
    ssize_t n;
    do
        n = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC | (block ? 0 : MSG_DONTWAIT));
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return -1;
    size_t count = 0;
    struct ucred cred = {.pid = -1, .uid = (uid_t)-1};
    for (struct cmsghdr *c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c)) {
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
            take_fds(c, fds, max, &count);
        else if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_CREDENTIALS)
            memcpy(&cred, CMSG_DATA(c), sizeof(cred));
    }
    if (ret_pid)
        *ret_pid = cred.pid;
    if (ret_uid)
        *ret_uid = cred.uid;
    if (msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) {
        for (size_t i = 0; i < count; i++)
            (void)close(fds[i]);
        errno = EMSGSIZE;
        return -1;
    }
    if (ret_count)
        *ret_count = count;
    return n;
}

DIR *tc_take_dir(int fd)
{
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    int saved = errno;
    if (!dir && fd >= 0)
        (void)close(fd);
    errno = saved;
    return dir;
}

DIR *tc_list_dir(int fd)
{
    return fd < 0 ? NULL : tc_take_dir(openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

int tc_next_entry(DIR *dir, struct dirent **ret)
{
    do {
        errno = 0;
        *ret = readdir(dir);
    } while (*ret && (strcmp((*ret)->d_name, ".") == 0 || strcmp((*ret)->d_name, "..") == 0));
    return *ret ? 1 : errno ? -1 : 0;
}

int tc_filled_pipe(const void *bytes, size_t length)
{
    enum { PIPE_BYTES = 65536 };
    int pair[2];
    if (length > PIPE_BYTES || pipe2(pair, O_CLOEXEC) < 0)
        return -1;
    _autofd_ int from = pair[0], to = pair[1];
    if (fcntl(to, F_SETFL, O_NONBLOCK) < 0 || write(to, bytes, length) != (ssize_t)length)
        return -1;
    return TAKE_FD(from);
}

bool tc_is_null(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3);
}

int tc_open_null(void)
{
    _autofd_ int fd = open("/dev/null", O_RDONLY | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    errno = ENODEV;
    return tc_is_null(fd) ? TAKE_FD(fd) : -1;
}

int tc_memfd(const char *name, const void *bytes, size_t len)
{
    struct rlimit most;
    if (getrlimit(RLIMIT_FSIZE, &most) == 0 && len > most.rlim_cur) {
        errno = EFBIG; /* SIGXFSZ would kill this program */
        return -1;
    }
    _autofd_ int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0 || tc_write_all(fd, bytes, len) < 0)
        return -1;
    if (fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0)
        return -1;
    return TAKE_FD(fd);
}

/* The reserved fds: enough to read the counters of a call, to start the process that collects its
 * changes, and to send its outcome. */
static int kept[] = {-1, -1, -1, -1};

void tc_reserve_open(void)
{
    for (size_t i = 0; i < TC_COUNT(kept); i++) {
        if (kept[i] >= 0)
            (void)close(kept[i]);
        kept[i] = -1;
    }
}

bool tc_reserve_close(void)
{
    for (size_t i = 0; i < TC_COUNT(kept); i++) {
        if (kept[i] < 0)
            kept[i] = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
        if (kept[i] < 0)
            return false;
    }
    return true;
}
