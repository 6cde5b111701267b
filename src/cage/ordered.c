/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Orders, where they arrive: in a program of its own, so it may allocate. It takes them once. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "cage/orders.h"

enum { STREAMS = 3 };

static int descriptors[TC_ORDERS_DESCRIPTORS_MAX];
static size_t got, taken;

/* Some more of the descriptors; how many, or -1. */
static ssize_t take_some(int sock, size_t room)
{
    size_t count = 0;
    char go;
    if (tc_recv(sock, &go, 1, descriptors + got, room < TC_FDS_MAX ? room : TC_FDS_MAX, &count,
                NULL, NULL, true) != 1 ||
        !count)
        return -1;
    got += count;
    return (ssize_t)count;
}

static bool read_orders(int sock, struct tc_orders *ret)
{
    int file = -1;
    size_t count = 0;
    struct stat st;
    char go;
    if (tc_recv(sock, &go, 1, &file, 1, &count, NULL, NULL, true) != 1 || count != 1 ||
        fstat(file, &st) < 0 || st.st_size <= 0 || st.st_size > TC_ORDERS_MAX)
        return false;
    char *bytes = malloc((size_t)st.st_size);
    if (!bytes || pread(file, bytes, (size_t)st.st_size, 0) != st.st_size)
        return false;
    (void)close(file);
    struct tc_wire w = TC_WIRE_GET_INIT(bytes, (size_t)st.st_size);
    tc_orders_visit(&w, ret);
    bool good = !w.failed && !w.left && ret->descriptors <= TC_ORDERS_DESCRIPTORS_MAX &&
                ret->descriptors >= STREAMS + ret->root + ret->image + ret->talks &&
                ret->directories.count && ret->argv.count && ret->filter_len &&
                ret->filter_len % sizeof(struct sock_filter) == 0;
    while (good && got < (size_t)ret->descriptors)
        good = take_some(sock, (size_t)ret->descriptors - got) > 0;
    return good;
}

static int next(void)
{
    if (taken == got)
        _exit(1);
    return descriptors[taken++];
}

static const char *const *list_of(const struct tc_strv *v)
{
    static const char *const nothing[] = {NULL};
    return v->count ? (const char *const *)v->items : nothing;
}

static const struct tc_box_mount *list_mounts(const struct tc_orders *o)
{
    struct tc_box_mount *list = calloc(o->mount_count + 1, sizeof(*list));
    for (size_t i = 0; list && i < o->mount_count; i++) {
        const struct tc_orders_mount *m = &o->mounts[i];
        list[i] = (struct tc_box_mount){.fd = m->attached ? next() : -1,
                                        .path = m->path ? m->path : "",
                                        .dev = (dev_t)m->dev,
                                        .ino = (ino_t)m->ino,
                                        .rights = (enum tc_landlock_kind)m->rights,
                                        .no_rule = m->no_rule,
                                        .frozen = m->frozen,
                                        .hide = m->hide.count ? list_of(&m->hide) : NULL,
                                        .layered = m->layered,
                                        .layers = m->layered ? next() : -1};
    }
    return list;
}

static const struct tc_box_limit *list_limits(const struct tc_orders *o)
{
    struct tc_box_limit *list = calloc(o->limit_count + 1, sizeof(*list));
    for (size_t i = 0; list && i < o->limit_count; i++) {
        int resource = (int)o->limits[i].resource;
        rlim_t most = (rlim_t)o->limits[i].value;
        struct rlimit now;
        if (getrlimit((__rlimit_resource_t)resource, &now) == 0 && now.rlim_max < most)
            most = now.rlim_max;
        list[i] = (struct tc_box_limit){resource, {most, most}};
    }
    return list;
}

static const struct tc_box_network *network_of(const struct tc_orders *o)
{
    static struct tc_box_network network;
    network = (struct tc_box_network){
        .listeners = (const struct tc_door_listener *)(const void *)o->listeners,
        .listener_count = o->listeners_len / sizeof(struct tc_door_listener)};
    for (size_t i = 0; i < TC_DOOR_REQUESTS; i++)
        network.requests[i] = (struct tc_door_requests){o->requests[i], o->requests_len[i]};
    return o->network ? &network : NULL;
}

bool tc_orders_receive(int sock, struct tc_orders *o, struct tc_box *ret)
{
    static struct sock_fprog filter;
    if (!read_orders(sock, o))
        return false;
    filter =
        (struct sock_fprog){.len = (unsigned short)(o->filter_len / sizeof(struct sock_filter)),
                            .filter = (struct sock_filter *)(void *)o->filter};
    *ret = (struct tc_box){.report = sock,
                           .uid = (uid_t)o->uid,
                           .gid = (gid_t)o->gid,
                           .limits = list_limits(o),
                           .limit_count = o->limit_count,
                           .network = network_of(o),
                           .landlock_abi = (int)o->landlock_abi,
                           .filter = &filter,
                           .watch = (enum tc_seccomp_watch)o->watch,
                           .directories = list_of(&o->directories),
                           .programs = list_of(&o->programs),
                           .argv = (char *const *)list_of(&o->argv),
                           .envp = (char *const *)list_of(&o->env),
                           .last_us = o->left_us ? tc_now_us() + o->left_us : 0,
                           .segments = o->segments};
    ret->in = next(); /* in this order, which an initialiser would not keep */
    ret->out = next();
    ret->err = next();
    ret->root = o->root ? next() : -1;
    ret->image = o->image ? next() : -1;
    ret->talks = o->talks;
    ret->talk = o->talks ? next() : -1;
    ret->mounts = list_mounts(o);
    ret->mount_count = o->mount_count;
    return ret->mounts && ret->limits;
}
