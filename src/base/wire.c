/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "base/wire.h"

#include <endian.h>
#include <string.h>

static void fail_memory(struct tc_wire *w)
{
    w->failed = w->memory = true;
}

/* Zeroed. */
static void *allocate(struct tc_wire *w, size_t count, size_t size)
{
    enum { ALIGN = 16 };
    size_t bytes = count * size, whole = (bytes + ALIGN - 1) / ALIGN * ALIGN;
    void *to = NULL;
    if (!w->room) {
        to = calloc(count, size);
    } else if (whole <= (size_t)(w->room_end - w->room)) {
        to = memset(w->room, 0, bytes);
        w->room += whole;
    }
    if (!to)
        fail_memory(w);
    return to;
}

static void raw(struct tc_wire *w, void *bytes, size_t len)
{
    if (w->failed)
        return;
    if (w->mode == TC_WIRE_PUT) {
        tc_buf_add(&w->out, bytes, len);
        w->failed = w->out.failed;
    } else if (len > w->left) {
        w->failed = true;
    } else {
        memcpy(bytes, w->in, len);
        w->in += len;
        w->left -= len;
    }
}

void tc_wire_i64(struct tc_wire *w, int64_t *value)
{
    uint64_t little = htole64((uint64_t)*value);
    raw(w, &little, sizeof(little));
    *value = (int64_t)le64toh(little);
}

void tc_wire_bytes(struct tc_wire *w, char **bytes, size_t *len)
{
    int64_t n = w->mode == TC_WIRE_PUT && *bytes ? (int64_t)*len : -1;
    tc_wire_i64(w, &n);
    w->failed |= n < -1;
    if (w->failed || n < 0)
        return;
    if (w->mode == TC_WIRE_PUT) {
        raw(w, *bytes, (size_t)n);
        return;
    }
    if ((size_t)n > w->left) {
        w->failed = true;
        return;
    }
    char *copy = allocate(w, (size_t)n + 1, 1);
    if (!copy)
        return;
    raw(w, copy, (size_t)n);
    *bytes = copy;
    *len = (size_t)n;
}

void tc_wire_str(struct tc_wire *w, char **text)
{
    size_t len = w->mode == TC_WIRE_PUT && *text ? strlen(*text) : 0;
    tc_wire_bytes(w, text, &len);
    if (w->mode == TC_WIRE_GET && !w->failed && *text && strlen(*text) != len)
        w->failed = true;
}

void tc_wire_strv(struct tc_wire *w, struct tc_strv *v)
{
    int64_t n = (int64_t)v->count;
    tc_wire_i64(w, &n);
    if (n < 0 || w->room) /* growing lists are on the heap */
        w->failed = true;
    for (int64_t i = 0; i < n && !w->failed; i++) {
        char *text = w->mode == TC_WIRE_PUT ? v->items[i] : NULL;
        tc_wire_str(w, &text);
        if (w->mode == TC_WIRE_PUT)
            continue;
        w->failed |= !text; /* a list has no NULL elements */
        if (w->failed)
            free(text);
        else if (!tc_strv_take(v, text))
            fail_memory(w);
    }
}

void tc_wire_array(struct tc_wire *w, void **items, size_t *count, size_t size, size_t most)
{
    int64_t n = w->mode == TC_WIRE_PUT ? (int64_t)*count : 0;
    tc_wire_i64(w, &n);
    if (w->failed || w->mode == TC_WIRE_PUT)
        return;
    /* each element takes at least one byte, so a count over the rest is invalid */
    if (n < 0 || (size_t)n > most || (size_t)n > w->left) {
        w->failed = true;
        return;
    }
    *items = n ? allocate(w, (size_t)n, size) : NULL;
    *count = *items ? (size_t)n : 0;
}

void tc_wire_texts(struct tc_wire *w, char ***list)
{
    int64_t n = -1;
    if (w->mode == TC_WIRE_PUT && *list)
        for (n = 0; (*list)[n]; n++)
            ;
    tc_wire_i64(w, &n);
    if (w->failed || n == -1)
        return;
    if (w->mode == TC_WIRE_GET) { /* each string has its length */
        w->failed = n < 0 || (size_t)n > w->left / sizeof(int64_t);
        *list = w->failed ? NULL : allocate(w, (size_t)n + 1, sizeof(**list));
    }
    for (int64_t i = 0; i < n && !w->failed; i++) {
        tc_wire_str(w, &(*list)[i]);
        w->failed |= !(*list)[i]; /* a list has no NULL elements */
    }
}

void tc_wire_fd(struct tc_wire *w, int *fd)
{
    int64_t there = w->mode == TC_WIRE_PUT && *fd >= 0;
    tc_wire_i64(w, &there);
    if (w->mode == TC_WIRE_PUT) {
        int *to = there && !w->failed ? TC_PUSH(w->fds, w->fd_count) : NULL;
        if (to)
            *to = *fd;
        else if (there)
            fail_memory(w);
        return;
    }
    w->failed |= there < 0 || there > 1 || (there && w->fd_count == w->fd_max);
    *fd = !w->failed && there ? w->fds[w->fd_count++] : -1;
}

void tc_wire_format(struct tc_wire *w, const char *format)
{
    _autofree_ char *text = w->mode == TC_WIRE_PUT ? strdup(format) : NULL;
    tc_wire_str(w, &text);
    if (!tc_streq(text, format))
        w->failed = true;
}
