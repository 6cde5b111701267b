/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Memory with one lifetime: everything is freed at once. */
#ifndef TC_BASE_ARENA_H
#define TC_BASE_ARENA_H

#include <stddef.h>

#include "base/cleanup.h"

struct tc_arena {
    struct tc_arena_block *blocks;
};

/* Zeroed memory, or NULL. */
void *tc_arena_alloc(struct tc_arena *arena, size_t size);
char *tc_arena_format(struct tc_arena *arena, const char *fmt, ...) TC_PRINTF(2, 3);
void tc_arena_done(struct tc_arena *arena);

#endif
