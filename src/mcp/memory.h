/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * jansson does not always say that it got no memory: a text that it writes then lacks a piece, and
 * one that it reads is said to be no JSON. From the first time on nothing more may be said. */
#ifndef TC_MCP_MEMORY_H
#define TC_MCP_MEMORY_H

#include <stdbool.h>

/* From here on jansson's allocations are looked at, for the whole program. */
void tc_mcp_memory_watch(void);
/* Was there one without memory? */
bool tc_mcp_starved(void);

#endif
