/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Frames on a stream of bytes: {kind, length, bytes}, two numbers of 32 bits, the least byte first.
 * Whoever reads them takes its peer for hostile: each kind has a most, a length over it is refused
 * as soon as it is read, and memory is taken for what has come, never for what was announced. */
#ifndef TC_BASE_FRAME_H
#define TC_BASE_FRAME_H

#include "base/buf.h"

enum { TC_FRAME_HEAD = 8, TC_FRAME_READ = 65536 };

struct tc_frame {
    uint32_t kind;
    const char *bytes; /* borrowed from the reader until it reads again */
    size_t len;
};

struct tc_frames {
    struct tc_buf in;
    size_t at;          /* what was handed out of it */
    const size_t *most; /* bytes of a frame by its kind; a kind past the end is refused */
    size_t kinds;
    bool failed;
};

void tc_frame_put(struct tc_buf *out, uint32_t kind, const void *bytes, size_t len);

struct tc_frames tc_frames_of(const size_t *most, size_t kinds);
/* Reads what is there, some bytes and no more than TC_FRAME_READ: how many, 0 at the end of the
 * file, or -1 with errno (EPROTO: a frame was wrong before). */
ssize_t tc_frames_read(struct tc_frames *frames, int fd);
/* The next whole frame: 1; 0 when more has to be read; -1 when the peer broke the rules, for good.
 */
int tc_frames_next(struct tc_frames *frames, struct tc_frame *ret);
/* Has a frame begun that is not whole? */
bool tc_frames_cut(const struct tc_frames *frames);
void tc_frames_done(struct tc_frames *frames);

#endif
