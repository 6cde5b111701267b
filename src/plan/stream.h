/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * One output stream of a call: stores its beginning and its end, and counts the bytes between them.
 * If the host wants all output, it is a queue of undelivered bytes. */
#ifndef TC_PLAN_STREAM_H
#define TC_PLAN_STREAM_H

#include "plan/outcome.h"

struct tc_output {
    size_t limit; /* maximum of stored bytes: half from the start, half from the end */
    char *head;
    size_t head_len, head_cap;
    char *tail; /* a ring buffer */
    size_t tail_len, tail_at;
    int64_t bytes;
    bool all;    /* the head is the queue; the writer must limit its length */
    bool failed; /* out of memory: bytes are counted, not stored */
};

void tc_output_add(struct tc_output *out, const char *bytes, size_t len);
/* Removes the first bytes of the queue: they were delivered. */
void tc_output_drop(struct tc_output *out, size_t len);
bool tc_output_over(const struct tc_output *out);
/* The stored bytes, with a marker at the gap. Leaves out the first `skip` bytes of the head, which
 * were delivered before. */
void tc_output_finish(struct tc_output *out, size_t skip, struct tc_stream *ret);
void tc_output_done(struct tc_output *out);

#endif
