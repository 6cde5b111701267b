/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cli/live/wire.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

union control {
    struct cmsghdr align;
    char bytes[CMSG_SPACE(sizeof(int))];
};

int tc_wire_send(int sock, char kind, const void *bytes, size_t length, int fd, bool now)
{
    union control control = {0};
    struct iovec parts[] = {{&kind, 1}, {(void *)(uintptr_t)bytes, length}};
    struct msghdr msg = {.msg_iov = parts, .msg_iovlen = length ? 2 : 1};
    ssize_t n;
    if (length > TC_WIRE_MAX) {
        errno = E2BIG;
        return -1;
    }
    if (fd >= 0) {
        msg.msg_control = control.bytes;
        msg.msg_controllen = sizeof(control.bytes);
        struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(c), &fd, sizeof(int));
    }
    do
        n = sendmsg(sock, &msg, MSG_NOSIGNAL | (now ? MSG_DONTWAIT : 0));
    while (n < 0 && errno == EINTR);
    return n < 0 ? -1 : 0;
}

/* Takes the first fd, and closes every other. */
static void take_fd(struct msghdr *msg, int *ret_fd)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        for (size_t at = 0; CMSG_LEN(at + sizeof(int)) <= c->cmsg_len; at += sizeof(int)) {
            int fd;
            memcpy(&fd, CMSG_DATA(c) + at, sizeof(int));
            if (ret_fd && *ret_fd < 0)
                *ret_fd = fd;
            else
                (void)close(fd);
        }
    }
}

ssize_t tc_wire_receive(int sock, char *ret_kind, char *bytes, int *ret_fd, bool now)
{
    union control control;
    struct iovec parts[] = {{ret_kind, 1}, {bytes, TC_WIRE_MAX}};
    struct msghdr msg = {.msg_iov = parts,
                         .msg_iovlen = 2,
                         .msg_control = control.bytes,
                         .msg_controllen = sizeof(control.bytes)};
    if (ret_fd)
        *ret_fd = -1;
    ssize_t n = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC | (now ? MSG_DONTWAIT : 0));
    if (n > 0)
        take_fd(&msg, ret_fd);
    if (n > 0 && !(msg.msg_flags & MSG_TRUNC))
        return n - 1;
    errno = n < 0 ? errno : n ? EMSGSIZE : 0;
    return -1;
}
