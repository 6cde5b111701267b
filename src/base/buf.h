/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A growing byte buffer with a maximum. Failure is sticky: after the first one every append does
 * nothing, so a writer checks once, at the end. Data is always followed by a NUL that `len` does
 * not count.
 */
#ifndef TC_BASE_BUF_H
#define TC_BASE_BUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct tc_buf {
    char *data;
    size_t len;
    size_t cap;
    size_t max;
    bool failed; /* out of memory, or over max */
};

#define TC_BUF_MAX ((size_t)64 << 20)
#define TC_BUF_INIT ((struct tc_buf){.max = TC_BUF_MAX})

void tc_buf_add(struct tc_buf *buf, const void *bytes, size_t len);
void tc_buf_adds(struct tc_buf *buf, const char *text);
void tc_buf_addc(struct tc_buf *buf, char c);
/* Appends the number in decimal. */
void tc_buf_addi(struct tc_buf *buf, int64_t number);
void tc_buf_addf(struct tc_buf *buf, const char *fmt, ...) TC_PRINTF(2, 3);
void tc_buf_vaddf(struct tc_buf *buf, const char *fmt, va_list ap) TC_PRINTF(2, 0);
/* Makes room for len more bytes and returns its address (not yet counted), or NULL. */
char *tc_buf_room(struct tc_buf *buf, size_t len);
/* The text, owned by the caller (free), or NULL when the buffer failed; the buffer is then
 * empty. */
char *tc_buf_steal(struct tc_buf *buf);
void tc_buf_done(struct tc_buf *buf);

#define _autobuf_ _auto_(tc_buf_done)

#endif
