/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Inspected TLS. The client's TLS ends here first, so that its request can be read and refused.
 * Only after an allowed request does the proxy start TLS with the server and verify its
 * certificate, and only then does the server receive the request. */
#include <netinet/tcp.h>

#include "egress/proxy/flow.h"
#include "egress/read/stats.h"

/* The denial in the result explains why such a program fails. */
static void list(struct tc_egress_proxy *p, const struct tc_egress_flow *f)
{
    char target[TC_EGRESS_TARGET_MAX];
    tc_egress_target(f->to.name, f->to.port, target);
    tc_egress_deny(p->stats, target, TC_EGRESS_NOT_SPOKEN, NULL, false);
}

/* TLS has already sent the client an alert; it would not understand further bytes. */
static bool give_up(struct tc_egress_proxy *p, struct tc_egress_flow *f)
{
    f->client.cut = true;
    tc_egress_flow_end(p, f);
    return false;
}

static bool not_trusted(struct tc_egress_proxy *p, struct tc_egress_flow *f)
{
    tc_egress_flow_refuse(p, f, TC_EGRESS_NOT_TRUSTED, tc_egress_tls_why(f->server.tls));
    return false;
}

/* The client sends two messages in a row here. With Nagle's algorithm it waits for the first one's
 * acknowledgement, which this kernel would delay by 40 ms. */
static void acknowledge(int fd)
{
    const int yes = 1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_QUICKACK, &yes, sizeof(yes));
}

bool tc_egress_wrap_go_on(struct tc_egress_proxy *p, struct tc_egress_flow *f,
                          struct tc_egress_side *side)
{
    enum tc_egress_tls_stream got = tc_egress_tls_shake(side->tls);
    bool server = side == &f->server, broken = got == TC_EGRESS_TLS_BROKEN || (side->eof && !got);
    if (broken && !server)
        list(p, f); /* before the client notices */
    if (!tc_egress_side_push(side) || broken)
        return server ? not_trusted(p, f) : give_up(p, f);
    if (got == TC_EGRESS_TLS_UP && !server)
        acknowledge(side->watch.fd);
    return got == TC_EGRESS_TLS_UP && server ? tc_egress_forward(p, f) : true;
}

bool tc_egress_wrap_client(struct tc_egress_proxy *p, struct tc_egress_flow *f)
{
    f->client.tls = tc_egress_tls_accept(p->authority, f->to.name);
    if (!f->client.tls || !tc_egress_tls_take(f->client.tls, f->in.data, f->in.len)) {
        tc_egress_flow_close(p, f, true);
        return false;
    }
    f->in.len = 0;
    tc_egress_flow_deadline(p, f, TC_EGRESS_HEAD_US);
    return tc_egress_wrap_go_on(p, f, &f->client);
}

bool tc_egress_wrap_server(struct tc_egress_proxy *p, struct tc_egress_flow *f)
{
    f->server.tls = tc_egress_tls_connect(p->authority, f->to.name);
    if (!f->server.tls) {
        tc_egress_flow_close(p, f, true);
        return false;
    }
    tc_egress_flow_deadline(p, f, TC_EGRESS_HEAD_US);
    return tc_egress_wrap_go_on(p, f, &f->server);
}
