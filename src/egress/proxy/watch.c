/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Adds file descriptors to the loop's epoll set, and removes them. */
#include <sys/epoll.h>
#include <unistd.h>

#include "egress/proxy/loop.h"

static bool change(struct tc_egress_proxy *p, struct tc_egress_watch *watch, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = watch};
    int op = watch->added ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
    if (watch->fd < 0 || (watch->added && watch->events == events))
        return true;
    if (epoll_ctl(p->epoll, op, watch->fd, &event) < 0)
        return false;
    watch->added = true;
    watch->events = events;
    return true;
}

bool tc_egress_watch_for(struct tc_egress_proxy *p, struct tc_egress_watch *watch, uint32_t events)
{
    if (events)
        return change(p, watch, events);
    if (watch->added)
        (void)epoll_ctl(p->epoll, EPOLL_CTL_DEL, watch->fd, NULL);
    watch->added = false;
    return true;
}

bool tc_egress_watch_end(struct tc_egress_proxy *p, struct tc_egress_watch *watch)
{
    return change(p, watch, 0);
}

void tc_egress_watch_close(struct tc_egress_proxy *p, struct tc_egress_watch *watch)
{
    (void)tc_egress_watch_for(p, watch, 0);
    if (watch->fd >= 0)
        (void)close(watch->fd);
    watch->fd = -1;
}
