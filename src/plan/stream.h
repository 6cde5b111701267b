/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * One output stream of a call: both ends are kept, the middle is counted. Or, where the host wants
 * all of it, a queue that holds what was not yet delivered. */
#ifndef TC_PLAN_STREAM_H
#define TC_PLAN_STREAM_H

#include "plan/outcome.h"

struct tc_output {
    size_t limit; /* bytes kept in all: half of them from the start, half from the end */
    char *head;
    size_t head_len, head_cap;
    char *tail; /* a ring */
    size_t tail_len, tail_at;
    int64_t bytes;
    bool all;    /* the head is the queue; whoever fills it heeds how long it is */
    bool failed; /* no memory: counted, not kept */
};

void tc_output_add(struct tc_output *out, const char *bytes, size_t len);
/* The first bytes of the queue were delivered. */
void tc_output_drop(struct tc_output *out, size_t len);
bool tc_output_over(const struct tc_output *out);
/* What is kept, with a marker where bytes were left out. `skip` bytes of the head were delivered
 * already and are left out (0 for the whole). */
void tc_output_finish(struct tc_output *out, size_t skip, struct tc_stream *ret);
void tc_output_done(struct tc_output *out);

#endif
