/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "base/jsontext.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/display.h"
#include "base/strv.h"
#include "text/base64.h"

enum { WORD = sizeof(uint64_t) };

/* Length of the valid UTF-8 sequence at p, or 0. */
static size_t sequence(const char *p, size_t left)
{
    for (size_t n = 1; n <= 4 && n <= left; n++)
        if (tc_utf8_valid(p, n))
            return n;
    return 0;
}

static void add_escaped(struct tc_buf *buf, unsigned char c)
{
    static const char names[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
    const char *named = c ? strchr(names, c) : NULL;
    if (named)
        tc_buf_addf(buf, "\\%c", letters[named - names]);
    else
        tc_buf_addf(buf, "\\u%04x", c);
}

/* Are these eight ASCII characters, none of which needs an escape? Tests all eight in one word:
 * subtracting a value sets the top bit of a byte that is smaller than the value. So control
 * characters (below the blank) and bytes that the exclusive or has made 0 (the quote, the
 * backslash) get a top bit; other ASCII characters do not. */
static bool are_plain(const char text[static WORD])
{
    const uint64_t each = UINT64_C(0x0101010101010101);
    uint64_t word;
    memcpy(&word, text, sizeof(word));
    uint64_t control = word - each * ' ', quote = (word ^ each * '"') - each,
             slash = (word ^ each * '\\') - each;
    return !((word | control | quote | slash) & each << 7);
}

/* The number of bytes from here on that need no escape. */
static size_t plain(const char *text, size_t len)
{
    size_t i = 0;
    for (size_t n = 1; n && i < len; i += n) {
        unsigned char c = (unsigned char)text[i];
        if (len - i >= WORD && are_plain(text + i))
            n = WORD;
        else if (c < 0x80)
            n = c >= ' ' && c != '"' && c != '\\';
        else
            n = sequence(text + i, len - i);
    }
    return i;
}

void tc_json_string(struct tc_buf *buf, const char *text, size_t len)
{
    tc_buf_addc(buf, '"');
    for (size_t i = 0; i < len; i++) {
        size_t n = plain(text + i, len - i);
        tc_buf_add(buf, text + i, n);
        i += n;
        if (i < len && (unsigned char)text[i] >= 0x80)
            tc_buf_adds(buf, "\xef\xbf\xbd");
        else if (i < len)
            add_escaped(buf, (unsigned char)text[i]);
    }
    tc_buf_addc(buf, '"');
}

void tc_toml_string(struct tc_buf *buf, const char *text)
{
    _autobuf_ struct tc_buf json = TC_BUF_INIT;
    tc_json_string(&json, text, strlen(text));
    buf->failed = buf->failed || json.failed;
    for (const char *c = json.data; c && *c;) {
        uint32_t point = 0;
        size_t n = tc_harmful(c, &point);
        if (n)
            tc_buf_addf(buf, point > 0xffff ? "\\U%08X" : "\\u%04X", point);
        else
            tc_buf_addc(buf, *c);
        c += n ? n : 1;
    }
}

void tc_json_key(struct tc_buf *buf, const char *key)
{
    char last = buf->len ? buf->data[buf->len - 1] : '{';
    if (last != '{' && last != '[')
        tc_buf_addc(buf, ',');
    tc_json_string(buf, key, strlen(key));
    tc_buf_addc(buf, ':');
}

void tc_json_member(struct tc_buf *buf, const char *key, const char *text)
{
    tc_json_key(buf, key);
    tc_json_string(buf, text, strlen(text));
}

void tc_json_optional(struct tc_buf *buf, const char *key, const char *text)
{
    tc_json_key(buf, key);
    if (text)
        tc_json_string(buf, text, strlen(text));
    else
        tc_buf_adds(buf, "null");
}

void tc_json_number(struct tc_buf *buf, const char *key, int64_t value)
{
    tc_json_key(buf, key);
    tc_buf_addi(buf, value);
}

void tc_json_bool(struct tc_buf *buf, const char *key, bool value)
{
    tc_json_key(buf, key);
    tc_buf_adds(buf, value ? "true" : "false");
}

void tc_json_base64(struct tc_buf *buf, const void *bytes, size_t len)
{
    const unsigned char *in = bytes;
    static const char digits[] = TC_BASE64_DIGITS;
    for (size_t i = 0; i < len; i += 3) {
        unsigned n = (unsigned)in[i] << 16;
        n |= i + 1 < len ? (unsigned)in[i + 1] << 8 : 0;
        n |= i + 2 < len ? in[i + 2] : 0;
        char quad[4] = {digits[n >> 18], digits[n >> 12 & 63], digits[n >> 6 & 63], digits[n & 63]};
        if (i + 2 >= len)
            quad[3] = '=';
        if (i + 1 >= len)
            quad[2] = '=';
        tc_buf_add(buf, quad, sizeof(quad));
    }
}

void tc_json_bytes(struct tc_buf *buf, const char *key, const char *base64_key, const void *bytes,
                   size_t len)
{
    if (tc_utf8_valid(bytes, len)) {
        tc_json_key(buf, key);
        tc_json_string(buf, bytes, len);
        return;
    }
    tc_json_key(buf, base64_key);
    tc_buf_addc(buf, '"');
    tc_json_base64(buf, bytes, len);
    tc_buf_addc(buf, '"');
}

void tc_number_write(double value, char out[TC_NUMBER_TEXT_SIZE])
{
    for (int digits = 15; digits <= 17; digits++) {
        (void)snprintf(out, TC_NUMBER_TEXT_SIZE, "%.*g", digits, value);
        if (strtod(out, NULL) == value)
            break;
    }
    char *comma = strchr(out, ',');
    if (comma)
        *comma = '.';
}

void tc_json_list(struct tc_buf *buf, const char *key, const struct tc_strv *list)
{
    tc_json_key(buf, key);
    tc_buf_addc(buf, '[');
    for (size_t i = 0; i < list->count; i++) {
        tc_buf_adds(buf, i ? "," : "");
        tc_json_string(buf, list->items[i], strlen(list->items[i]));
    }
    tc_buf_addc(buf, ']');
}

void tc_toml_list(struct tc_buf *buf, const struct tc_strv *list)
{
    tc_buf_addc(buf, '[');
    for (size_t i = 0; i < list->count; i++) {
        tc_buf_adds(buf, i ? ", " : "");
        tc_toml_string(buf, list->items[i]);
    }
    tc_buf_addc(buf, ']');
}
