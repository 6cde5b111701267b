/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * How a call ended, in the words of a program of ours that was started ahead of it. */
#ifndef TC_BASE_HANDED_END_H
#define TC_BASE_HANDED_END_H

#include <stdint.h>

struct tc_handed_end {
    int32_t code;
    int32_t last;          /* it serves no more */
    int64_t cpu_us, bytes; /* that it took for the call; the most memory that it had until now */
};

/* One that somebody took over says what it likes: no more than a kernel could have said of it. */
static inline void tc_handed_bound(struct tc_handed_end *end)
{
    const int64_t most = INT64_C(1) << 50; /* a petabyte, or 35 years */
    end->code &= 255;
    end->cpu_us = end->cpu_us < 0 || end->cpu_us > most ? 0 : end->cpu_us;
    end->bytes = end->bytes < 0 || end->bytes > most ? 0 : end->bytes;
}

#endif
