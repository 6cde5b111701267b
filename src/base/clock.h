/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Time in microseconds, and identifiers of calls that sort by it. */
#ifndef TC_BASE_CLOCK_H
#define TC_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* For limits from the wire, which may be any number: clamped to a thousand years. */
static inline int64_t tc_us_of_ms(int64_t ms)
{
    const int64_t longest = INT64_C(1000) * 366 * 24 * 3600 * 1000;
    return (ms < 0 ? 0 : ms > longest ? longest : ms) * 1000;
}

/* Monotonic time in microseconds. */
static inline int64_t tc_now_us(void)
{
    struct timespec ts;
    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

enum { TC_ULID_SIZE = 27 };
/* Its digits, in their order. */
#define TC_ULID_DIGITS "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
/* Is the name a ULID, which is stored in `ret`, and this ending? */
bool tc_ulid_named(const char *name, const char *ending, char ret[TC_ULID_SIZE]);
/* A fresh ULID (26 characters and a NUL): milliseconds of real time, then 80 random bits. 0, or
 * -1 with errno when the kernel has no randomness. */
int tc_ulid(char out[TC_ULID_SIZE]);

#endif
