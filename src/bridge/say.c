/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The clock, and lines for the operator. */
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include "bridge/bridge.h"

int64_t tc_bridge_now_ms(void)
{
    struct timespec ts;
    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

void tc_bridge_note(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    (void)vfprintf(stderr, fmt, ap);
    va_end(ap);
    (void)fputc('\n', stderr);
}
