/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "mcp/memory.h"

#include <jansson.h>
#include <stdlib.h>

static bool starved;

static void *take(size_t size)
{
    void *made = malloc(size);
    starved |= !made;
    return made;
}

void tc_mcp_memory_watch(void)
{
    starved = false;
    json_set_alloc_funcs(take, free);
}

bool tc_mcp_starved(void)
{
    return starved;
}
