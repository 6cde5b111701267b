/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cage/orders.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/fd.h"

enum { MOUNTS_MAX = 8192, LIMITS_MAX = 16, STREAMS = 3 };

static void visit_mount(struct tc_wire *w, struct tc_orders_mount *m)
{
    tc_wire_str(w, &m->path);
    tc_wire_strv(w, &m->hide);
    tc_wire_i64(w, &m->dev);
    tc_wire_i64(w, &m->ino);
    tc_wire_i64(w, &m->rights);
    TC_WIRE_INT(w, m->attached);
    TC_WIRE_INT(w, m->no_rule);
    TC_WIRE_INT(w, m->frozen);
    TC_WIRE_INT(w, m->layered);
}

static void visit_limit(struct tc_wire *w, struct tc_orders_limit *l)
{
    tc_wire_i64(w, &l->resource);
    tc_wire_i64(w, &l->value);
}

void tc_orders_visit(struct tc_wire *w, struct tc_orders *o)
{
    int64_t *numbers[] = {&o->descriptors, &o->uid,          &o->gid,  &o->left_us,
                          &o->segments,    &o->landlock_abi, &o->watch};
    struct tc_strv *lists[] = {&o->directories, &o->programs, &o->argv, &o->env};
    tc_wire_format(w, "orders-3");
    TC_WIRE_INT(w, o->root);
    TC_WIRE_INT(w, o->image);
    TC_WIRE_INT(w, o->talks);
    for (size_t i = 0; i < TC_COUNT(numbers); i++)
        tc_wire_i64(w, numbers[i]);
    for (size_t i = 0; i < TC_COUNT(lists); i++)
        tc_wire_strv(w, lists[i]);
    TC_WIRE_EACH(w, o->mounts, o->mount_count, MOUNTS_MAX, visit_mount);
    TC_WIRE_EACH(w, o->limits, o->limit_count, LIMITS_MAX, visit_limit);
    tc_wire_bytes(w, &o->filter, &o->filter_len);
    TC_WIRE_INT(w, o->network);
    for (size_t i = 0; i < TC_DOOR_REQUESTS; i++)
        tc_wire_bytes(w, &o->requests[i], &o->requests_len[i]);
    tc_wire_bytes(w, &o->listeners, &o->listeners_len);
}

void tc_orders_drop(struct tc_orders *o)
{
    free(o->mounts);
    free(o->limits);
    *o = (struct tc_orders){0};
}

void tc_orders_done(struct tc_orders *o)
{
    struct tc_strv *lists[] = {&o->directories, &o->programs, &o->argv, &o->env};
    char *texts[] = {o->filter, o->listeners};
    for (size_t i = 0; i < TC_COUNT(lists); i++)
        tc_strv_done(lists[i]);
    for (size_t i = 0; i < TC_COUNT(texts); i++)
        free(texts[i]);
    for (size_t i = 0; i < TC_COUNT(o->requests); i++)
        free(o->requests[i]);
    for (size_t i = 0; i < o->mount_count; i++) {
        free(o->mounts[i].path);
        tc_strv_done(&o->mounts[i].hide);
    }
    tc_orders_drop(o);
}

/* The codec takes what it may change, and writes nothing when it puts. */
#define BORROW(type, from) ((type)(uintptr_t)(from))

static struct tc_strv borrow(const char *const *list)
{
    struct tc_strv v = {.items = BORROW(char **, list)};
    while (list && list[v.count])
        v.count++;
    return v;
}

static bool fill_mounts(struct tc_orders *o, const struct tc_box *box)
{
    o->mounts = calloc(box->mount_count + 1, sizeof(*o->mounts));
    for (size_t i = 0; o->mounts && i < box->mount_count; i++) {
        const struct tc_box_mount *m = &box->mounts[i];
        o->mounts[o->mount_count++] = (struct tc_orders_mount){.path = BORROW(char *, m->path),
                                                               .hide = borrow(m->hide),
                                                               .dev = (int64_t)m->dev,
                                                               .ino = (int64_t)m->ino,
                                                               .rights = m->rights,
                                                               .attached = m->fd >= 0,
                                                               .no_rule = m->no_rule,
                                                               .frozen = m->frozen,
                                                               .layered = m->layered};
        o->descriptors += (m->fd >= 0) + m->layered;
    }
    return o->mounts && box->mount_count <= MOUNTS_MAX;
}

static bool fill_limits(struct tc_orders *o, const struct tc_box *box)
{
    o->limits = calloc(box->limit_count + 1, sizeof(*o->limits));
    for (size_t i = 0; o->limits && i < box->limit_count; i++)
        o->limits[o->limit_count++] = (struct tc_orders_limit){
            box->limits[i].resource, (int64_t)box->limits[i].value.rlim_max};
    return o->limits && box->limit_count <= LIMITS_MAX;
}

static void fill_network(struct tc_orders *o, const struct tc_box_network *n)
{
    o->network = true;
    for (size_t i = 0; i < TC_DOOR_REQUESTS; i++) {
        o->requests[i] = BORROW(char *, n->requests[i].at);
        o->requests_len[i] = n->requests[i].len;
    }
    o->listeners = BORROW(char *, n->listeners);
    o->listeners_len = n->listener_count * sizeof(*n->listeners);
}

bool tc_orders_fill(struct tc_orders *o, const struct tc_box *box, int64_t now_us)
{
    *o = (struct tc_orders){.descriptors =
                                STREAMS + (box->root >= 0) + (box->image >= 0) + box->talks,
                            .root = box->root >= 0,
                            .image = box->image >= 0,
                            .talks = box->talks,
                            .uid = box->uid,
                            .gid = box->gid,
                            .left_us = box->last_us ? box->last_us - now_us : 0,
                            .segments = box->segments,
                            .landlock_abi = box->landlock_abi,
                            .watch = box->watch,
                            .directories = borrow(box->directories),
                            .programs = borrow(box->programs),
                            .argv = borrow((const char *const *)box->argv),
                            .env = borrow((const char *const *)box->envp),
                            .filter = BORROW(char *, box->filter->filter),
                            .filter_len = box->filter->len * sizeof(*box->filter->filter)};
    if (box->last_us && o->left_us < 1)
        o->left_us = 1;
    if (box->network)
        fill_network(o, box->network);
    return fill_mounts(o, box) && fill_limits(o, box) &&
           o->descriptors <= TC_ORDERS_DESCRIPTORS_MAX;
}

struct sending {
    int sock, fds[TC_FDS_MAX];
    size_t count;
    bool failed;
};

static void flush(struct sending *s)
{
    if (s->count && !s->failed)
        s->failed = tc_send(s->sock, "", 1, s->fds, s->count) < 0;
    s->count = 0;
}

static void add(struct sending *s, int fd)
{
    if (s->count == TC_FDS_MAX)
        flush(s);
    s->fds[s->count++] = fd;
    s->failed = s->failed || fd < 0;
}

static bool send_descriptors(int sock, const struct tc_box *box)
{
    struct sending s = {.sock = sock};
    const int streams[STREAMS] = {box->in, box->out, box->err};
    for (size_t i = 0; i < STREAMS; i++)
        add(&s, streams[i]);
    if (box->root >= 0)
        add(&s, box->root);
    if (box->image >= 0)
        add(&s, box->image);
    if (box->talks)
        add(&s, box->talk);
    for (size_t i = 0; i < box->mount_count; i++) {
        if (box->mounts[i].fd >= 0)
            add(&s, box->mounts[i].fd);
        if (box->mounts[i].layered)
            add(&s, box->mounts[i].layers);
    }
    flush(&s);
    return !s.failed;
}

int tc_orders_send(int sock, const struct tc_box *box)
{
    struct tc_orders orders = {0};
    struct tc_wire w = TC_WIRE_PUT_INIT;
    bool good = tc_orders_fill(&orders, box, tc_now_us());
    if (good)
        tc_orders_visit(&w, &orders);
    _autofd_ int file = good && !w.failed ? tc_memfd("orders", w.out.data, w.out.len) : -1;
    tc_buf_done(&w.out);
    tc_orders_drop(&orders);
    bool sent = file >= 0 && tc_send(sock, "", 1, &file, 1) == 0 && send_descriptors(sock, box);
    return sent ? 0 : -1;
}
