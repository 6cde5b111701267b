/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Finds the end of a body, so that no bytes after it are forwarded with it. Pure. */
#include "egress/read/http.h"

#include <string.h>

/* States: the size's digits, its extension and line end, the data and its line end, trailers, the
 * final line end. In requests, chunk extensions and trailers are refused: they are rare, and
 * servers disagree about them. */
enum { SIZE, EXTENSION, SIZE_END, DATA, DATA_CR, DATA_LF, LAST_CR, LAST_LF, TRAILER, TRAILER_LF };

enum { DIGITS_MAX = 12 };

void tc_egress_http_rest_start(struct tc_egress_http_rest *rest,
                               const struct tc_egress_http_head *head)
{
    *rest = (struct tc_egress_http_rest){.body = head->body,
                                         .done = head->body == TC_EGRESS_HTTP_NO_BODY};
    rest->left = head->body == TC_EGRESS_HTTP_LENGTH ? head->length : 0;
}

static int hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool size_byte(struct tc_egress_http_rest *rest, char c)
{
    int digit = hex(c);
    if (digit < 0) {
        bool extends = rest->lenient && (c == ';' || c == ' ' || c == '\t');
        rest->state = extends ? EXTENSION : SIZE_END;
        return (c == '\r' || extends) && rest->digits;
    }
    rest->left = rest->left * 16 + (uint64_t)digit;
    return ++rest->digits <= DIGITS_MAX;
}

static bool expect(struct tc_egress_http_rest *rest, char c, char wanted, int next)
{
    rest->state = next;
    return c == wanted;
}

/* Within an extension or a trailer. */
static bool text_byte(struct tc_egress_http_rest *rest, char c, int next)
{
    if (c == '\r')
        rest->state = next;
    return c != '\n' && c != '\0';
}

/* Processes one byte that is not data. */
static bool step(struct tc_egress_http_rest *rest, char c)
{
    switch (rest->state) {
    case SIZE:
        return size_byte(rest, c);
    case SIZE_END:
        return expect(rest, c, '\n', rest->left ? DATA : LAST_CR);
    case DATA_CR:
        return expect(rest, c, '\r', DATA_LF);
    case DATA_LF:
        rest->digits = 0;
        return expect(rest, c, '\n', SIZE);
    case LAST_CR:
        if (rest->lenient && c != '\r') {
            rest->state = TRAILER;
            return text_byte(rest, c, TRAILER_LF);
        }
        return expect(rest, c, '\r', LAST_LF);
    case EXTENSION:
        return text_byte(rest, c, SIZE_END);
    case TRAILER:
        return text_byte(rest, c, TRAILER_LF);
    case TRAILER_LF:
        return expect(rest, c, '\n', LAST_CR);
    default:
        rest->done = true;
        return c == '\n';
    }
}

static size_t take_data(struct tc_egress_http_rest *rest, size_t len)
{
    size_t n = len < rest->left ? len : (size_t)rest->left;
    rest->left -= n;
    return n;
}

static ssize_t take_chunks(struct tc_egress_http_rest *rest, const char *bytes, size_t len)
{
    size_t used = 0;
    while (used < len && !rest->done) {
        if (rest->state != DATA) {
            if (!step(rest, bytes[used++]))
                return -1;
            continue;
        }
        used += take_data(rest, len - used);
        if (!rest->left)
            rest->state = DATA_CR;
    }
    return (ssize_t)used;
}

ssize_t tc_egress_http_rest_take(struct tc_egress_http_rest *rest, const char *bytes, size_t len)
{
    if (rest->done)
        return 0;
    if (rest->body == TC_EGRESS_HTTP_CHUNKED)
        return take_chunks(rest, bytes, len);
    size_t used = take_data(rest, len);
    rest->done = !rest->left;
    return (ssize_t)used;
}

bool tc_egress_http_rest_piece(struct tc_egress_http_rest *rest, const char **at, const char *end,
                               struct tc_egress_http_text *ret)
{
    while (*at < end && !rest->done) {
        bool data = rest->body != TC_EGRESS_HTTP_CHUNKED || rest->state == DATA;
        if (!data && !step(rest, *(*at)++))
            return false;
        if (!data)
            continue;
        *ret = (struct tc_egress_http_text){*at, take_data(rest, (size_t)(end - *at))};
        *at += ret->len;
        rest->done = rest->body != TC_EGRESS_HTTP_CHUNKED && !rest->left;
        if (rest->body == TC_EGRESS_HTTP_CHUNKED && !rest->left)
            rest->state = DATA_CR;
        return true;
    }
    return false;
}
