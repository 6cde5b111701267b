/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Jobs over a byte stream, which cannot pass fds: the helper's end of the frames in protocol.h.
 * Inline data becomes fds here, so that the rest of the helper handles all jobs alike. */
#ifndef TC_HELPER_INLINE_H
#define TC_HELPER_INLINE_H

#include <stdbool.h>

#include "base/frame.h"
#include "carry/carry.h"
#include "helper/loop.h"
#include "plan/protocol.h"

/* The granted trees of a call. They arrive before the call; changes are sent back after its end. */
struct tc_carried {
    const char *place; /* borrowed; NULL: trees are not accepted */
    struct tc_unpack in;
    struct tc_pack out;
    bool some; /* all trees have arrived */
};

/* Begins a job; takes the fds. The plan is one of them, or `inside`, borrowed. */
typedef void (*tc_inline_begin)(const struct tc_job *job, const char *inside, const int *fds,
                                size_t count);

struct tc_inline {
    struct tc_loop *loop;
    tc_inline_begin begin;
    bool (*renew)(const struct tc_renewal *renewal); /* NULL: not supported here */
    int (*again)(void);                              /* reconnects; NULL: impossible */
    struct tc_source from, to;                       /* the stream */
    struct tc_source job;   /* the helper's end of the running job's socket */
    struct tc_source input; /* the pipe that the tool reads */
    /* the fds of these four sources, watched or not; -1: none */
    int from_fd, to_fd, job_fd, input_fd;
    int plan, secrets; /* of the announced job */
    struct tc_job announced;
    bool waits;                /* the announced job is incomplete */
    struct tc_carried carried; /* opened after the stream, if trees are accepted */
    bool returning;            /* changed files are being sent back */
    int outcome;               /* sent after the files; -1: none */
    struct tc_frames frames;
    struct tc_buf out; /* unsent bytes, from `sent` on */
    size_t sent;
    struct tc_buf pending; /* input, from `fed` on */
    size_t fed, untold;    /* taken, but not acknowledged */
    bool input_ended;
    bool over; /* the peer closed the stream or violated the protocol */
};

/* Takes the fds, which may be equal. 0, or -1 with errno. */
int tc_inline_open(struct tc_inline *stream, struct tc_loop *loop, int from, int to,
                   tc_inline_begin begin);
/* Closes everything; a running job is cancelled as if the library had closed its socket. */
void tc_inline_close(struct tc_inline *stream);

/* carried.c */
void tc_carried_open(struct tc_carried *carried, const char *place, uid_t owner);
/* Handles a frame of the trees. False: unexpected, or failed. */
bool tc_carried_take(struct tc_carried *carried, const struct tc_frame *frame);
/* After the call: compares the trees. False: the changes cannot be determined. */
bool tc_carried_compare(struct tc_carried *carried);
/* Appends frames with changes: 1, 0 after the last, or -1 with errno. */
int tc_carried_next(struct tc_carried *carried, struct tc_buf *out);
void tc_carried_close(struct tc_carried *carried);

#endif
