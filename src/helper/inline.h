/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Jobs that come over a plain stream of bytes, where no descriptor can travel: the helper's end of
 * the frames that protocol.h describes. What came inline gets descriptors here, so that a job is
 * the same whatever way it came. */
#ifndef TC_HELPER_INLINE_H
#define TC_HELPER_INLINE_H

#include <stdbool.h>

#include "base/frame.h"
#include "carry/carry.h"
#include "helper/loop.h"
#include "plan/protocol.h"

/* The granted trees of a call: they come before it, and what was changed of them goes back when it
 * has ended. */
struct tc_carried {
    const char *place; /* borrowed; NULL: none are taken */
    struct tc_unpack in;
    struct tc_pack out;
    bool some; /* have come, all of them */
};

/* Begins a job; takes the descriptors. Its plan is among them, or `inside`, borrowed. */
typedef void (*tc_inline_begin)(const struct tc_job *job, const char *inside, const int *fds,
                                size_t count);

struct tc_inline {
    struct tc_loop *loop;
    tc_inline_begin begin;
    bool (*renew)(const struct tc_renewal *renewal); /* NULL: nobody asks for that here */
    int (*again)(void);        /* another stream; NULL: the one is all there is */
    struct tc_source from, to; /* the stream */
    struct tc_source job;      /* our end of the socket of the one that runs */
    struct tc_source input;    /* the pipe that its tool reads */
    /* the same, whether watched or not; -1: none */
    int from_fd, to_fd, job_fd, input_fd;
    int plan, secrets; /* of a job that has been announced */
    struct tc_job announced;
    bool waits;                /* it is not whole */
    struct tc_carried carried; /* to be opened after the stream, where trees may come */
    bool returning;            /* what was changed of them goes back */
    int outcome;               /* that follows it; -1: none does */
    struct tc_frames frames;
    struct tc_buf out; /* what the stream has not taken yet, from `sent` on */
    size_t sent;
    struct tc_buf pending; /* input, from `fed` on */
    size_t fed, untold;    /* taken, and not said yet */
    bool input_ended;
    bool over; /* the peer has gone, or broke the rules */
};

/* Takes the descriptors, which may be one twice. 0, or -1 with errno. */
int tc_inline_open(struct tc_inline *stream, struct tc_loop *loop, int from, int to,
                   tc_inline_begin begin);
/* Closes everything: a job that runs is then without a host. */
void tc_inline_close(struct tc_inline *stream);

/* carried.c */
void tc_carried_open(struct tc_carried *carried, const char *place, uid_t owner);
/* A frame of theirs. False: it may not come, or cannot be taken. */
bool tc_carried_take(struct tc_carried *carried, const struct tc_frame *frame);
/* The call has ended. False: what became of them cannot be told. */
bool tc_carried_compare(struct tc_carried *carried);
/* Appends some frames of what has changed: 1, 0 after the last, or -1 with errno. */
int tc_carried_next(struct tc_carried *carried, struct tc_buf *out);
void tc_carried_close(struct tc_carried *carried);

#endif
