/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The list of all flows: creates them, ends those that are late, and ends all when the proxy exits.
 */

#include "egress/proxy/flow.h"
#include "egress/read/stats.h"

struct tc_egress_flow *tc_egress_flow_new(struct tc_egress_proxy *p, int fd,
                                          enum tc_egress_role role)
{
    struct tc_egress_flow *f = calloc(1, sizeof(*f));
    if (!f)
        return NULL;
    f->client.watch = (struct tc_egress_watch){.fd = fd, .ready = tc_egress_client_ready};
    f->server.watch = (struct tc_egress_watch){.fd = -1, .ready = tc_egress_server_ready};
    f->role = role;
    f->stage = role == TC_EGRESS_DNS_TCP ? TC_FLOW_QUESTION : TC_FLOW_GREET;
    f->in.max = 8 * (size_t)TC_EGRESS_HTTP_HEAD_MAX; /* requests that did not wait, and one read */
    f->head.max = f->answer.max = 4 * (size_t)TC_EGRESS_HTTP_HEAD_MAX;
    f->tail.max = 2 * sizeof(p->scratch);
    tc_egress_set_reset(fd, true);
    f->next = p->flows;
    if (p->flows)
        p->flows->prev = f;
    p->flows = f;
    *(role == TC_EGRESS_PUBLISHED ? &p->published_count : &p->flow_count) += 1;
    tc_egress_flow_deadline(p, f, TC_EGRESS_HEAD_US);
    return f;
}

static void free_dead(struct tc_egress_proxy *p)
{
    while (p->dead) {
        struct tc_egress_flow *f = p->dead;
        p->dead = f->next;
        tc_buf_done(&f->in);
        tc_buf_done(&f->head);
        tc_buf_done(&f->tail);
        tc_buf_done(&f->answer);
        free(f->kept.request);
        free(f->way);
        free(f);
    }
}

/* Is the client's next request or first message awaited? */
static bool is_between(const struct tc_egress_flow *f)
{
    return f->mode == TC_MODE_UNDECIDED || f->mode == TC_MODE_BETWEEN;
}

static void late(struct tc_egress_proxy *p, struct tc_egress_flow *f)
{
    if (f->stage == TC_FLOW_SEEK)
        tc_egress_connect_late(p, f);
    else if (f->stage == TC_FLOW_JOINED && tc_egress_wrapping(&f->server))
        tc_egress_flow_refuse(p, f, TC_EGRESS_TOO_LATE, NULL);
    else if (f->stage == TC_FLOW_JOINED && is_between(f) && f->in.len)
        tc_egress_flow_refuse(p, f, TC_EGRESS_UNCLEAR, "it did not arrive completely");
    else if (f->stage == TC_FLOW_JOINED && f->mode == TC_MODE_BETWEEN)
        tc_egress_flow_end(p, f);
    else
        tc_egress_flow_close(p, f, f->stage != TC_FLOW_ENDING);
}

void tc_egress_flows_tick(struct tc_egress_proxy *p)
{
    int64_t wake = 0;
    if (p->wake && p->wake <= p->now) {
        struct tc_egress_flow *next;
        for (struct tc_egress_flow *f = p->flows; f; f = next) {
            next = f->next;
            if (f->deadline <= p->now)
                late(p, f);
            if (f->stage != TC_FLOW_DEAD && (!wake || f->deadline < wake))
                wake = f->deadline;
        }
        p->wake = wake;
    }
    free_dead(p);
}

static bool is_idle(const struct tc_egress_flow *f)
{
    return f->stage == TC_FLOW_JOINED && f->mode == TC_MODE_BETWEEN && !f->in.len;
}

bool tc_egress_flows_idle(const struct tc_egress_proxy *p)
{
    for (const struct tc_egress_flow *f = p->flows; f; f = f->next)
        if (!is_idle(f))
            return false;
    return true;
}

bool tc_egress_flows_spare(struct tc_egress_proxy *p)
{
    struct tc_egress_flow *found = NULL;
    for (struct tc_egress_flow *f = p->flows; f; f = f->next)
        if (is_idle(f) && (!found || f->deadline < found->deadline))
            found = f;
    if (found)
        tc_egress_flow_close(p, found, false);
    return found;
}

/* Is all that the client sent on its way to the server, in the kernel? Only for a client that has
 * exited, which closes its connection, or has sent a complete request. */
static bool is_sent(const struct tc_egress_flow *f)
{
    if (f->role == TC_EGRESS_PUBLISHED)
        return f->stage != TC_FLOW_JOINED || (f->server.eof && !f->client.len);
    if (f->stage == TC_FLOW_JOINED)
        return f->server.shut || is_idle(f) ||
               (f->mode == TC_MODE_REQUEST && f->rest.done && !f->server.len && !f->head.len &&
                !f->in.len);
    return f->stage == TC_FLOW_ENDING;
}

void tc_egress_flows_leave(struct tc_egress_proxy *p)
{
    for (struct tc_egress_flow *f = p->flows; f; f = f->next)
        if (is_sent(f) && f->server.watch.fd >= 0)
            tc_egress_set_reset(f->server.watch.fd, false);
}

bool tc_egress_flows_sent(const struct tc_egress_proxy *p)
{
    for (const struct tc_egress_flow *f = p->flows; f; f = f->next)
        if (!is_sent(f))
            return false;
    return true;
}
