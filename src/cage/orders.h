/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What the first process of a cage is told when it is no copy of the helper: the box, as far as it
 * is words and numbers. Its descriptors come beside it (the streams, the root and the image where
 * there are such, then those of the mounts), so that no path of the host is ever resolved there. */
#ifndef TC_CAGE_ORDERS_H
#define TC_CAGE_ORDERS_H

#include "base/wire.h"
#include "cage/box.h"

enum { TC_ORDERS_DESCRIPTORS_MAX = 16384, TC_ORDERS_MAX = 16 << 20 };

struct tc_orders_mount {
    char *path;
    struct tc_strv hide;
    int64_t dev, ino, rights;
    bool attached, no_rule, frozen, layered; /* attached: with a descriptor of its own */
};

struct tc_orders_limit {
    int64_t resource, value;
};

struct tc_orders {
    int64_t descriptors;     /* how many follow */
    bool root, image, talks; /* after those of the streams */
    int64_t uid, gid;        /* what the tool sees as its own */
    int64_t left_us;         /* until it ends itself; 0: never */
    int64_t segments, landlock_abi, watch;
    struct tc_strv directories, programs, argv, env;
    struct tc_orders_mount *mounts;
    size_t mount_count;
    struct tc_orders_limit *limits;
    size_t limit_count;
    char *filter; /* of system calls: instructions */
    size_t filter_len;
    bool network;
    char *requests[TC_DOOR_REQUESTS], *listeners; /* as in struct tc_box_network */
    size_t requests_len[TC_DOOR_REQUESTS], listeners_len;
};

void tc_orders_visit(struct tc_wire *w, struct tc_orders *orders);
/* All but the strings, which are borrowed: for who fills them from a box. */
void tc_orders_drop(struct tc_orders *orders);
/* All of those that were read. */
void tc_orders_done(struct tc_orders *orders);
/* What the box says; the strings stay the box's. False: out of memory, or more than there can be.
 */
bool tc_orders_fill(struct tc_orders *orders, const struct tc_box *box, int64_t now_us);

/* The helper's side: all of the box that is not there at the other end. 0, or -1 with errno. */
int tc_orders_send(int sock, const struct tc_box *box);
/* The other side's: waits for them. The box points into *orders, and has no ids' maps and no stages
 * yet. False: nobody will send any, or they make no sense. */
bool tc_orders_receive(int sock, struct tc_orders *orders, struct tc_box *ret);

#endif
