/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Answers requests from the record of a call. Equal requests get their responses in the order in
 * which they were recorded, each once; any other request is refused, and listed. */
#include <string.h>

#include "egress/proxy/flow.h"
#include "egress/read/stats.h"

/* "GET /path" */
static void refuse(struct tc_egress_proxy *p, struct tc_egress_flow *f)
{
    const char *request = f->kept.request ? f->kept.request : "";
    const char *path = strrchr(request, ' ');
    _autofree_ char *text =
        tc_format("%.*s%s", (int)strcspn(request, " "), request, path ? path : "");
    f->kept.open = false;
    tc_egress_flow_refuse(p, f, TC_EGRESS_NOT_KEPT, text);
}

/* The request is complete: finds its response. False: there is none, and the flow ends. */
static bool look_up(struct tc_egress_proxy *p, struct tc_egress_flow *f)
{
    char body[TC_DIGEST_SIZE];
    tc_digest_finish(&f->kept.hash, body);
    const struct tc_egress_recorded *a =
        f->kept.request ? tc_egress_recorded_take(p->keeper.again, f->kept.request, body) : NULL;
    if (!a) {
        refuse(p, f);
        return false;
    }
    f->mode = TC_MODE_REQUEST; /* an upgrade that a server accepts is not recorded */
    f->kept.found = true;
    f->kept.reply = a->reply;
    f->kept.left = a->length;
    f->kept.keeps = a->end.keeps;
    return true;
}

/* False: the flow is closed. */
static bool feed(struct tc_egress_proxy *p, struct tc_egress_flow *f)
{
    enum { PIECE = 65536 };
    while (f->kept.left && !f->client.len) {
        size_t n = f->kept.left < PIECE ? f->kept.left : PIECE;
        if (!tc_egress_meter_take(p, n))
            return tc_egress_flow_spent(p, f);
        tc_egress_received(p->stats, f->destination, n);
        if (!tc_egress_flow_tell(p, f, f->kept.reply, n)) {
            tc_egress_flow_close(p, f, true);
            return false;
        }
        f->kept.reply += n;
        f->kept.left -= n;
    }
    if (f->kept.left)
        return true;
    f->kept.open = false;
    f->reply.stage = TC_REPLY_DONE;
    f->reply.client_stays = f->reply.wanted && f->kept.keeps;
    f->reply.server_stays = f->reply.client_stays;
    return true;
}

bool tc_egress_again_go_on(struct tc_egress_proxy *p, struct tc_egress_flow *f)
{
    while (f->kept.open && f->rest.done) {
        if ((!f->kept.found && !look_up(p, f)) || !feed(p, f))
            return false;
        if (f->kept.open || f->client.len)
            return true;
        if (!tc_egress_exchange_next(p, f))
            return false;
    }
    return true;
}
