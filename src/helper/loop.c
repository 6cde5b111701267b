/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "helper/loop.h"

#include <errno.h>
#include <stddef.h>
#include <sys/epoll.h>

#include "base/clock.h"

enum { SHARE = 32 };

int tc_loop_open(struct tc_loop *loop)
{
    loop->epoll = epoll_create1(EPOLL_CLOEXEC);
    return loop->epoll < 0 ? -1 : 0;
}

int tc_loop_watch(struct tc_loop *loop, struct tc_source *s, int fd, uint32_t events)
{
    struct epoll_event e = {.events = events, .data.ptr = s};
    if (s->fd == fd && (fd < 0 || s->events == events))
        return 0;
    if (s->fd >= 0 && s->fd != fd)
        (void)epoll_ctl(loop->epoll, EPOLL_CTL_DEL, s->fd, NULL);
    int op = s->fd == fd ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
    s->fd = fd;
    s->events = events;
    return fd < 0 ? 0 : epoll_ctl(loop->epoll, op, fd, &e);
}

/* Milliseconds to wait, rounded up so that a deadline is never early. */
static int patience(int64_t until_us)
{
    if (until_us == 0)
        return -1;
    int64_t left = until_us - tc_now_us();
    if (left <= 0)
        return 0;
    return left > 3600000000 ? 3600000 : (int)((left + 999) / 1000);
}

int tc_loop_turn(struct tc_loop *loop, int64_t until_us)
{
    struct epoll_event events[SHARE];
    int n = epoll_wait(loop->epoll, events, SHARE, patience(until_us));
    if (n < 0)
        return errno == EINTR ? 0 : -1;
    for (int i = 0; i < n; i++) {
        struct tc_source *s = events[i].data.ptr;
        s->ready_for = events[i].events;
        if (s->fd >= 0) /* not unwatched by an earlier source of this turn */
            s->ready(s);
    }
    return 0;
}
