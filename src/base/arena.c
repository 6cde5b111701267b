/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "base/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

enum { BLOCK = 16384 };

struct tc_arena_block {
    struct tc_arena_block *next;
    size_t used, size;
    _Alignas(16) char bytes[];
};

void *tc_arena_alloc(struct tc_arena *arena, size_t size)
{
    if (size > SIZE_MAX / 2)
        return NULL;
    size = (size + 15) & ~(size_t)15;
    struct tc_arena_block *b = arena->blocks;
    if (!b || b->size - b->used < size) {
        size_t room = size > BLOCK ? size : BLOCK;
        b = calloc(1, sizeof(*b) + room);
        if (!b)
            return NULL;
        b->size = room;
        b->next = arena->blocks;
        arena->blocks = b;
    }
    void *at = b->bytes + b->used;
    b->used += size;
    return at;
}

char *tc_arena_format(struct tc_arena *arena, const char *fmt, ...)
{
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    char *text = n < 0 ? NULL : tc_arena_alloc(arena, (size_t)n + 1);
    if (text)
        (void)vsnprintf(text, (size_t)n + 1, fmt, again);
    va_end(again);
    va_end(ap);
    return text;
}

void tc_arena_done(struct tc_arena *arena)
{
    while (arena->blocks) {
        struct tc_arena_block *next = arena->blocks->next;
        free(arena->blocks);
        arena->blocks = next;
    }
}
