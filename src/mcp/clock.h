/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * CLOCK_MONOTONIC in ms. */
#ifndef TC_MCP_CLOCK_H
#define TC_MCP_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t tc_mcp_now_ms(void)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

#endif
