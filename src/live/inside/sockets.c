/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "live/inside/sockets.h"

#include <errno.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/fd.h"

enum { BURST = 16 /* commands must not wait */ };

bool tc_live_lend_sockets(int proxy)
{
    for (int i = 0; i < BURST; i++) {
        int32_t family = AF_UNSPEC;
        ssize_t n = recv(proxy, &family, sizeof(family), MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return true;
        if (n != sizeof(family) || (family != AF_INET && family != AF_INET6))
            return false;
        _autofd_ int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        if (fd < 0 || tc_send_now(proxy, &family, sizeof(family), &fd, 1) < 0)
            (void)tc_send_now(proxy, &family, sizeof(family), NULL, 0);
    }
    return true;
}
