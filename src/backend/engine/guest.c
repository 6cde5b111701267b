/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The first program in a container of an engine's: the helper's own file, under another name. It
 * has the container's id and no right of any kind, and nothing to look at but a socket to the
 * helper. From there it gets what a cage is made of, and goes the way of every cage's PID 1, in
 * namespaces of its own. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "backend/engine/orders.h"
#include "base/clock.h"
#include "base/fd.h"
#include "cage/stages.h"
#include "engine/engine.h"

static int descriptors[TC_ENGINE_DESCRIPTORS_MAX];
static size_t got, taken;

/* Where the report socket of every first process stands. */
static bool connect_report(void)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX, .sun_path = TC_ENGINE_TALK "/report"};
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&name, sizeof(name)) < 0)
        return false;
    return fd == TC_BOX_REPORT || dup3(fd, TC_BOX_REPORT, O_CLOEXEC) >= 0;
}

/* Some more of the descriptors; how many, or -1. */
static ssize_t take_some(size_t room)
{
    size_t count = 0;
    char go;
    if (tc_recv(TC_BOX_REPORT, &go, 1, descriptors + got, room < TC_FDS_MAX ? room : TC_FDS_MAX,
                &count, NULL, NULL, true) != 1 ||
        !count)
        return -1;
    got += count;
    return (ssize_t)count;
}

static bool read_orders(struct tc_engine_orders *ret)
{
    int file = -1;
    size_t count = 0;
    struct stat st;
    char go;
    if (tc_recv(TC_BOX_REPORT, &go, 1, &file, 1, &count, NULL, NULL, true) != 1 || count != 1 ||
        fstat(file, &st) < 0 || st.st_size <= 0 || st.st_size > TC_ENGINE_ORDERS_MAX)
        return false;
    char *bytes = malloc((size_t)st.st_size);
    if (!bytes || pread(file, bytes, (size_t)st.st_size, 0) != st.st_size)
        return false;
    (void)close(file);
    struct tc_wire w = TC_WIRE_GET_INIT(bytes, (size_t)st.st_size);
    tc_engine_orders_visit(&w, ret);
    bool good = !w.failed && !w.left && ret->descriptors <= TC_ENGINE_DESCRIPTORS_MAX &&
                ret->descriptors >= TC_ENGINE_IMAGE && ret->directories.count && ret->argv.count &&
                ret->filter_len && ret->filter_len % sizeof(struct sock_filter) == 0;
    while (good && got < (size_t)ret->descriptors)
        good = take_some((size_t)ret->descriptors - got) > 0;
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

static const struct tc_box_mount *list_mounts(const struct tc_engine_orders *o)
{
    struct tc_box_mount *list = calloc(o->mount_count + 1, sizeof(*list));
    for (size_t i = 0; list && i < o->mount_count; i++) {
        const struct tc_engine_mount *m = &o->mounts[i];
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

static const struct tc_box_limit *list_limits(const struct tc_engine_orders *o)
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

static const struct tc_box_network *network_of(const struct tc_engine_orders *o)
{
    static struct tc_box_network network;
    network = (struct tc_box_network){
        .listeners = (const struct tc_door_listener *)(const void *)o->listeners,
        .listener_count = o->listeners_len / sizeof(struct tc_door_listener)};
    for (size_t i = 0; i < TC_DOOR_REQUESTS; i++)
        network.requests[i] = (struct tc_door_requests){o->requests[i], o->requests_len[i]};
    return o->network ? &network : NULL;
}

void tc_engine_guest_main(void)
{
    struct tc_engine_orders o = {0};
    if (!connect_report() || !read_orders(&o))
        _exit(1);
    struct sock_fprog filter = {.len = (unsigned short)(o.filter_len / sizeof(struct sock_filter)),
                                .filter = (struct sock_filter *)(void *)o.filter};
    taken = TC_ENGINE_IMAGE + o.image;
    const struct tc_box_mount *mounts = list_mounts(&o);
    struct tc_box box = {.stages = &tc_contained_stages,
                         .report = TC_BOX_REPORT,
                         .root = descriptors[TC_ENGINE_ROOT],
                         .in = descriptors[TC_ENGINE_IN],
                         .out = descriptors[TC_ENGINE_OUT],
                         .err = descriptors[TC_ENGINE_ERR],
                         .image = o.image ? descriptors[TC_ENGINE_IMAGE] : -1,
                         .uid = (uid_t)o.uid,
                         .gid = (gid_t)o.gid,
                         .mounts = mounts,
                         .mount_count = o.mount_count,
                         .limits = list_limits(&o),
                         .limit_count = o.limit_count,
                         .network = network_of(&o),
                         .landlock_abi = (int)o.landlock_abi,
                         .filter = &filter,
                         .watch = (enum tc_seccomp_watch)o.watch,
                         .directories = list_of(&o.directories),
                         .programs = list_of(&o.programs),
                         .argv = (char *const *)list_of(&o.argv),
                         .envp = (char *const *)list_of(&o.env),
                         .last_us = o.left_us ? tc_now_us() + o.left_us : 0,
                         .segments = o.segments};
    /* one id, the container's, is the tool's */
    tc_id_map(box.uid_map, box.uid, geteuid());
    tc_id_map(box.gid_map, box.gid, getegid());
    if (!box.mounts || !box.limits)
        _exit(1);
    tc_box_go(&box);
    _exit(1);
}
