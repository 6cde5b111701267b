/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What goes to a flow's server, counted; and what becomes of the flow when it takes no more, or the
 * call has had its share. */
#include <sys/socket.h>

#include "egress/proxy/flow.h"
#include "egress/proxy/meter.h"
#include "egress/read/said.h"

bool tc_egress_flow_deaf(struct tc_egress_proxy *p, struct tc_egress_flow *f)
{
    if (f->mode != TC_MODE_REQUEST) {
        tc_egress_flow_close(p, f, true);
        return false;
    }
    f->rest.done = true;
    free(TAKE(f->server.pending));
    f->server.len = 0;
    return true;
}

/* An answer may be on its way already. */
bool tc_egress_flow_spent(struct tc_egress_proxy *p, struct tc_egress_flow *f)
{
    f->speaks = TC_SPEAKS_BYTES;
    tc_egress_flow_refuse(p, f, TC_EGRESS_SPENT, NULL);
    return false;
}

bool tc_egress_flow_send(struct tc_egress_proxy *p, struct tc_egress_flow *f, const char *bytes,
                         size_t len)
{
    if (!tc_egress_meter_take(p, len))
        return tc_egress_flow_spent(p, f);
    if (!tc_egress_side_send(p, &f->server, bytes, len))
        return tc_egress_flow_deaf(p, f);
    tc_egress_sent(p->said, f->destination, len);
    return true;
}
