/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "mcp/memory.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static bool starved;

static void *take_memory(size_t size)
{
    void *made = malloc(size);
    starved |= !made;
    return made;
}

void tc_mcp_memory_watch(void)
{
    starved = false;
    json_set_alloc_funcs(take_memory, free);
}

bool tc_mcp_starved(void)
{
    return starved;
}

/* ---- struct tc_text ---- */

enum { FIRST_SIZE = 512 };

static bool make_room(struct tc_text *text, size_t more)
{
    size_t want = text->size ? text->size : FIRST_SIZE;
    while (want < text->length + more)
        want *= 2;
    char *grown = want == text->size ? text->bytes : realloc(text->bytes, want);
    if (!grown)
        return false;
    text->bytes = grown;
    text->size = want;
    return true;
}

/* After the first lost piece all further pieces are rejected. */
static ssize_t keep_bytes(void *cookie, const char *bytes, size_t length)
{
    struct tc_text *text = cookie;
    text->failed = text->failed || !make_room(text, length + 1);
    if (text->failed)
        return 0;
    memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
    text->bytes[text->length] = '\0';
    return (ssize_t)length;
}

bool tc_text_begin(struct tc_text *text)
{
    *text = (struct tc_text){0};
    text->out = fopencookie(text, "w", (cookie_io_functions_t){.write = keep_bytes});
    if (!text->out)
        return false;
    setbuf(text->out, NULL);
    (void)keep_bytes(text, "", 0);
    if (text->failed)
        (void)tc_text_finish(text);
    return !text->failed;
}

char *tc_text_finish(struct tc_text *text)
{
    bool good = text->out && fclose(text->out) == 0 && !text->failed;
    char *bytes = text->bytes;
    text->out = NULL;
    text->bytes = NULL;
    if (good)
        return bytes;
    free(bytes);
    return NULL;
}
