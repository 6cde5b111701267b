/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The helper's event loop: watched fds, each with an owner, and the next deadline. */
#ifndef TC_HELPER_LOOP_H
#define TC_HELPER_LOOP_H

#include <stdint.h>

struct tc_loop {
    int epoll;
};

struct tc_source {
    void (*ready)(struct tc_source *source);
    void *owner;
    int fd;                     /* -1: not watched */
    uint32_t events, ready_for; /* epoll events: requested, and received */
};

int tc_loop_open(struct tc_loop *loop);
/* Watches fd for these epoll events, changes the events, or (fd -1) stops watching. 0, or -1 with
 * errno. */
int tc_loop_watch(struct tc_loop *loop, struct tc_source *source, int fd, uint32_t events);
/* Waits until an fd is ready or until `until_us` (monotonic; 0: no limit), and handles events. 0,
 * or -1. */
int tc_loop_turn(struct tc_loop *loop, int64_t until_us);

#endif
