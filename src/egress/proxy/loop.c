/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The proxy's event loop: waits for file descriptors and deadlines, and calls their handlers. */
#include "egress/proxy/loop.h"

#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "egress/proxy/flow.h"
#include "egress/proxy/resolve.h"

static int64_t earlier(int64_t a, int64_t b)
{
    return a && (!b || a < b) ? a : b;
}

/* In milliseconds, rounded up, so that the deadline has passed at wakeup. */
static int patience(struct tc_egress_proxy *p)
{
    int64_t until = earlier(p->flows ? p->wake : 0, tc_egress_resolver_until(p->resolver, p->now));
    until = earlier(p->listen_at, until);
    until = earlier(p->meter.rest_until, until);
    until = earlier(p->datagrams_at, until);
    until = earlier(p->finish_at, until);
    if (!until)
        return -1;
    return until <= p->now ? 0 : (int)((until - p->now) / 1000 + 1);
}

/* A cage's clients have exited; clients of a standalone proxy still wait for responses. */
static bool has_finished(const struct tc_egress_proxy *p)
{
    return p->standalone ? tc_egress_flows_idle(p)
                         : tc_egress_flows_sent(p) && tc_egress_datagrams_sent(p);
}

void tc_egress_run(struct tc_egress_proxy *p)
{
    enum { EVENTS = 64 };
    struct epoll_event events[EVENTS];
    while (!p->over) {
        p->now = tc_now_us();
        int n = epoll_wait(p->epoll, events, EVENTS, patience(p));
        p->now = tc_now_us();
        for (int i = 0; i < n && !p->over; i++) {
            struct tc_egress_watch *watch = events[i].data.ptr;
            if (watch->added) /* otherwise an earlier event removed it */
                watch->ready(p, watch, events[i].events);
        }
        tc_egress_resolver_tick(p->resolver);
        tc_egress_meter_tick(p);
        tc_egress_flows_tick(p);
        tc_egress_datagrams_tick(p);
        tc_egress_listeners_tick(p);
        if (p->standalone)
            tc_egress_standalone_report(p);
        if (p->finish_at && (p->now >= p->finish_at || has_finished(p)))
            p->over = true;
    }
}
