/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#ifndef TC_BASE_CLOCK_H
#define TC_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Monotonic time in microseconds. */
static inline int64_t tc_now_us(void)
{
    struct timespec ts;
    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

enum { TC_ULID_SIZE = 27 };
/* A fresh ULID (26 characters and a NUL): milliseconds of real time, then 80 random bits. 0, or -1
 * with errno when the kernel gives no randomness. */
int tc_ulid(char out[TC_ULID_SIZE]);

#endif
