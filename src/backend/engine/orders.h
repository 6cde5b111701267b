/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What the first program in a container of an engine's is told: the box of a cage, as far as it is
 * words and numbers. Its descriptors come beside it, in the order of struct tc_engine_place and
 * then those of the mounts, so that no path of the host is ever resolved by an engine. */
#ifndef TC_BACKEND_ENGINE_ORDERS_H
#define TC_BACKEND_ENGINE_ORDERS_H

#include "base/wire.h"
#include "cage/box.h"

/* The descriptors, before those of each mount (itself, and its layers where it has some). */
enum tc_engine_place {
    TC_ENGINE_ROOT,
    TC_ENGINE_IN,
    TC_ENGINE_OUT,
    TC_ENGINE_ERR,
    TC_ENGINE_IMAGE, /* where the orders say so */
};

enum { TC_ENGINE_DESCRIPTORS_MAX = 16384, TC_ENGINE_ORDERS_MAX = 16 << 20 };

struct tc_engine_mount {
    char *path;
    struct tc_strv hide;
    int64_t dev, ino, rights;
    bool attached, no_rule, frozen, layered; /* attached: with a descriptor of its own */
};

struct tc_engine_limit {
    int64_t resource, value;
};

struct tc_engine_orders {
    int64_t descriptors; /* how many follow */
    bool image;
    int64_t uid, gid; /* what the tool sees as its own */
    int64_t left_us;  /* until it ends itself; 0: never */
    int64_t segments, landlock_abi, watch;
    struct tc_strv directories, programs, argv, env;
    struct tc_engine_mount *mounts;
    size_t mount_count;
    struct tc_engine_limit *limits;
    size_t limit_count;
    char *filter; /* of system calls: instructions */
    size_t filter_len;
    bool network;
    char *requests[TC_DOOR_REQUESTS], *listeners; /* as in struct tc_box_network */
    size_t requests_len[TC_DOOR_REQUESTS], listeners_len;
};

void tc_engine_orders_visit(struct tc_wire *w, struct tc_engine_orders *orders);
/* All but the strings, which are borrowed: for who fills them from a box. */
void tc_engine_orders_drop(struct tc_engine_orders *orders);
/* All of those that were read. */
void tc_engine_orders_done(struct tc_engine_orders *orders);
/* What the box says; the strings stay the box's. False: out of memory, or more than there can be.
 */
bool tc_engine_orders_fill(struct tc_engine_orders *orders, const struct tc_box *box,
                           int64_t now_us);

/* That program: the helper's file under another name. Never returns. */
_Noreturn void tc_engine_guest_main(void);

#endif
