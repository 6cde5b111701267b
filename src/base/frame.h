/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Frames on a stream of bytes: {kind, length, bytes}, two 32-bit little-endian numbers. The
 * reader treats its peer as hostile: each kind has a maximum length, a longer frame is rejected
 * as soon as its length is read, and memory is allocated for received bytes, never for an
 * announced length. */
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
    size_t at;          /* bytes of `in` that were returned as frames */
    const size_t *most; /* maximum bytes of a frame by its kind; a kind past the end is rejected */
    size_t kinds;
    bool failed;
};

void tc_frame_put(struct tc_buf *out, uint32_t kind, const void *bytes, size_t len);

struct tc_frames tc_frames_of(const size_t *most, size_t kinds);
/* Reads available bytes, at most TC_FRAME_READ: the count, 0 at the end of the file, or -1 with
 * errno (EPROTO: an earlier frame was invalid). */
ssize_t tc_frames_read(struct tc_frames *frames, int fd);
/* The next whole frame: 1; 0 when more must be read; -1 when the peer violated the protocol,
 * permanently. */
int tc_frames_next(struct tc_frames *frames, struct tc_frame *ret);
/* Does the input end within a frame? */
bool tc_frames_cut(const struct tc_frames *frames);
void tc_frames_done(struct tc_frames *frames);

#endif
