/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The limits of a call's traffic: total bytes, and bytes per second. */
#include "egress/proxy/flow.h"

/* The bucket holds BUCKET_US worth of bytes, so a pause does not lead to a large burst. */
enum { BUCKET_US = 100000, REST_US = 20000, SECOND_US = 1000000, SHARE_MIN = 512 };

/* ---- total ---- */

bool tc_egress_meter_left(const struct tc_egress_proxy *p)
{
    return !atomic_load(&p->stats->spent);
}

bool tc_egress_meter_take(struct tc_egress_proxy *p, size_t len)
{
    struct tc_egress_meter *m = &p->meter;
    int64_t most = p->config.transfer;
    if (!most)
        return true;
    if (!tc_egress_meter_left(p) || (int64_t)len > most - m->taken) {
        atomic_store(&p->stats->spent, 1);
        return false;
    }
    m->taken += (int64_t)len;
    return true;
}

/* ---- rate ---- */

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t bucket_size(const struct tc_egress_proxy *p)
{
    int64_t size = p->config.bandwidth / (SECOND_US / BUCKET_US);
    return size > SHARE_MIN ? size : SHARE_MIN;
}

static void fill_budget(struct tc_egress_proxy *p)
{
    struct tc_egress_meter *m = &p->meter;
    int64_t passed = least(p->now - m->filled_at, SECOND_US);
    int64_t more = p->config.bandwidth * passed / SECOND_US;
    if (!more)
        return;
    m->filled_at = p->now;
    m->bucket = least(m->bucket + more, bucket_size(p));
}

size_t tc_egress_meter_room(struct tc_egress_proxy *p, size_t size)
{
    if (!p->config.bandwidth)
        return size;
    if (p->meter.rest_until)
        return 0;
    fill_budget(p);
    /* no flow takes all of it while others wait */
    int64_t share = bucket_size(p) / (int64_t)(p->flow_count + 1);
    int64_t room = least(p->meter.bucket, share > SHARE_MIN ? share : SHARE_MIN);
    return room < (int64_t)size ? (size_t)room : size;
}

/* A datagram is relayed completely or not at all, so the bucket may become negative; reading then
 * pauses until it is refilled. */
bool tc_egress_meter_datagram(struct tc_egress_proxy *p, size_t len)
{
    struct tc_egress_meter *m = &p->meter;
    if (!p->config.bandwidth)
        return true;
    if (m->rest_until)
        return false;
    fill_budget(p);
    m->bucket -= (int64_t)len;
    if (m->bucket <= 0)
        m->rest_until = p->now + REST_US - m->bucket * SECOND_US / p->config.bandwidth;
    return true;
}

static void watch_all(struct tc_egress_proxy *p)
{
    struct tc_egress_flow *next;
    for (struct tc_egress_flow *f = p->flows; f; f = next) {
        next = f->next;
        tc_egress_flow_watch(p, f);
    }
}

void tc_egress_meter_read(struct tc_egress_proxy *p, size_t len)
{
    struct tc_egress_meter *m = &p->meter;
    if (!p->config.bandwidth)
        return;
    m->bucket -= (int64_t)len;
    if (m->bucket <= 0)
        m->rest_until = p->now + REST_US;
}

void tc_egress_meter_tick(struct tc_egress_proxy *p)
{
    struct tc_egress_meter *m = &p->meter;
    if (!m->rest_until || p->now < m->rest_until)
        return;
    m->rest_until = 0;
    watch_all(p);
}
