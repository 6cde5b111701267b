/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "mcp/scan.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "text/utf8.h"

enum { DEPTH_MAX = 512 };

/* ---- strict parser: each function takes the start of an element and returns its end, or NULL ----
 * */

static const char *skip_space(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\r' || *at == '\n'))
        at++;
    return at;
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The value of the four digits after \u, or -1. */
static int read_hex(const char *at, const char *end)
{
    int value = 0;
    if (end - at < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        int digit = hex_value(at[i]);
        if (digit < 0)
            return -1;
        value = value << 4 | digit;
    }
    return value;
}

/* Skips an escape after its backslash. An unpaired surrogate is invalid. */
static const char *skip_escape(const char *at, const char *end)
{
    if (at == end)
        return NULL;
    if (*at != 'u')
        return strchr("\"\\/bfnrt", *at) && *at ? at + 1 : NULL;
    int unit = read_hex(at + 1, end);
    if (unit < 0 || (unit >= 0xdc00 && unit <= 0xdfff))
        return NULL;
    at += 5;
    if (unit < 0xd800 || unit > 0xdbff)
        return at;
    int low = end - at >= 6 && at[0] == '\\' && at[1] == 'u' ? read_hex(at + 2, end) : -1;
    return low >= 0xdc00 && low <= 0xdfff ? at + 6 : NULL;
}

/* Skips one character beyond ASCII. */
static const char *skip_utf8(const char *at, const char *end)
{
    uint32_t code;
    size_t length = tc_utf8_decode(at, (size_t)(end - at), &code);
    return length ? at + length : NULL;
}

static const char *read_string(const char *at, const char *end)
{
    for (at++; at && at < end;) {
        unsigned char c = (unsigned char)*at;
        if (c == '"')
            return at + 1;
        if (c < 0x20)
            return NULL;
        if (c == '\\')
            at = skip_escape(at + 1, end);
        else
            at = c < 0x80 ? at + 1 : skip_utf8(at, end);
    }
    return NULL;
}

static const char *skip_digits(const char *at, const char *end)
{
    const char *start = at;
    while (at < end && *at >= '0' && *at <= '9')
        at++;
    return at > start ? at : NULL;
}

static const char *read_number(const char *at, const char *end)
{
    at += *at == '-';
    if (at < end && *at == '0')
        at++;
    else
        at = skip_digits(at, end);
    if (at && at < end && *at == '.')
        at = skip_digits(at + 1, end);
    if (!at || at == end || (*at != 'e' && *at != 'E'))
        return at;
    at++;
    if (at < end && (*at == '+' || *at == '-'))
        at++;
    return skip_digits(at, end);
}

static const char *read_scalar(const char *at, const char *end)
{
    static const char *const words[] = {"true", "false", "null"};
    if (*at == '"')
        return read_string(at, end);
    if (*at == '-' || (*at >= '0' && *at <= '9'))
        return read_number(at, end);
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        size_t n = strlen(words[i]);
        if ((size_t)(end - at) >= n && memcmp(at, words[i], n) == 0)
            return at + n;
    }
    return NULL;
}

static const char *read_key(const char *at, const char *end)
{
    at = skip_space(at, end);
    if (at == end || *at != '"')
        return NULL;
    at = read_string(at, end);
    at = at ? skip_space(at, end) : NULL;
    return at && at < end && *at == ':' ? at + 1 : NULL;
}

/* The state of the parser of nested values. The parser is not recursive, because the sender chooses
 * the depth. */
struct reader {
    const char *at, *end;
    int depth;
    char closes[DEPTH_MAX];
};

/* Enters the container at the current position and moves to its first value. `*ret_empty`: it has
 * none. */
static bool enter_container(struct reader *r, bool *ret_empty)
{
    if (r->depth == DEPTH_MAX)
        return false;
    char close = *r->at == '{' ? '}' : ']';
    r->closes[r->depth++] = close;
    r->at = skip_space(r->at + 1, r->end);
    *ret_empty = r->at < r->end && *r->at == close;
    if (!*ret_empty && close == '}')
        r->at = read_key(r->at, r->end);
    return r->at != NULL;
}

/* After a value: moves out of the containers that end here, or to the next value. */
static bool leave(struct reader *r)
{
    while (r->depth) {
        char close = r->closes[r->depth - 1];
        r->at = skip_space(r->at, r->end);
        if (r->at == r->end || (*r->at != close && *r->at != ','))
            return false;
        if (*r->at++ == ',') {
            r->at = close == '}' ? read_key(r->at, r->end) : r->at;
            return r->at != NULL;
        }
        r->depth--;
    }
    return true;
}

bool tc_scan_valid(const char *text, size_t length)
{
    struct reader r = {.at = text, .end = text + length};
    do {
        bool empty = false;
        r.at = skip_space(r.at, r.end);
        if (r.at == r.end)
            return false;
        if (*r.at == '{' || *r.at == '[') {
            if (!enter_container(&r, &empty))
                return false;
            if (!empty)
                continue;
        } else {
            r.at = read_scalar(r.at, r.end);
        }
        if (!r.at || !leave(&r))
            return false;
        if (!r.depth)
            return skip_space(r.at, r.end) == r.end;
    } while (true);
}

struct tc_slice tc_scan_whole(const char *text, size_t length)
{
    if (!tc_scan_valid(text, length))
        return (struct tc_slice){0};
    const char *at = skip_space(text, text + length), *end = text + length;
    while (strchr(" \t\r\n", end[-1]))
        end--;
    return (struct tc_slice){at, (size_t)(end - at)};
}

/* ---- slices of valid text ---- */

static const char *end_of_string(const char *at)
{
    for (at++; *at != '"'; at++)
        at += *at == '\\';
    return at + 1;
}

static const char *end_of_value(const char *at, const char *end)
{
    int depth = 0;
    do {
        if (*at == '"') {
            at = end_of_string(at);
            continue;
        }
        depth += *at == '{' || *at == '[';
        depth -= *at == '}' || *at == ']';
        at++;
    } while (at < end && (depth || !strchr(",]} \t\r\n", *at)));
    return at;
}

struct tc_scan_each tc_scan_walk(struct tc_slice container)
{
    const char *end = container.at ? container.at + container.length : NULL;
    return (struct tc_scan_each){.rest = container.at, .end = end};
}

/* each->rest is at the container's opening bracket, or directly after the last value. */
bool tc_scan_next(struct tc_scan_each *each)
{
    const char *at = each->rest, *end = each->end;
    if (!at)
        return false;
    at = skip_space(at, end);
    bool first = *at == '{' || *at == '[';
    bool object = end[-1] == '}';
    if (!first && *at != ',')
        return false;
    at = skip_space(at + 1, end);
    if (at >= end - 1)
        return false;
    if (object) {
        each->key = (struct tc_slice){at, (size_t)(end_of_string(at) - at)};
        at = skip_space(at + each->key.length, end);
        at = skip_space(at + 1, end);
    }
    each->rest = end_of_value(at, end);
    each->value = (struct tc_slice){at, (size_t)(each->rest - at)};
    return true;
}

bool tc_scan_is_string(struct tc_slice value)
{
    return value.at && *value.at == '"';
}

bool tc_scan_is_null(struct tc_slice value)
{
    return value.at && *value.at == 'n';
}

bool tc_scan_is_object(struct tc_slice value)
{
    return value.at && *value.at == '{';
}

bool tc_scan_is_array(struct tc_slice value)
{
    return value.at && *value.at == '[';
}

/* ---- the content of strings ---- */

static uint32_t read_escaped(const char **at)
{
    static const char plain[] = "\"\\/bfnrt", means[] = "\"\\/\b\f\n\r\t";
    const char *p = *at + 1;
    if (*p != 'u') {
        *at = p + 1;
        return (unsigned char)means[strchr(plain, *p) - plain];
    }
    uint32_t unit = (uint32_t)read_hex(p + 1, p + 5);
    *at = p + 5;
    if (unit < 0xd800 || unit > 0xdbff)
        return unit;
    uint32_t low = (uint32_t)read_hex(p + 7, p + 11);
    *at = p + 11;
    return 0x10000 + ((unit & 0x3ff) << 10 | (low & 0x3ff));
}

/* Writes a code point as UTF-8; returns the number of bytes. */
static size_t put_utf8(uint32_t code, char *to)
{
    static const unsigned char marks[] = {0, 0, 0xc0, 0xe0, 0xf0};
    size_t n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = n - 1; i > 0; i--, code >>= 6)
        to[i] = (char)(0x80 | (code & 0x3f));
    to[0] = (char)(marks[n] | code);
    return n;
}

char *tc_scan_text(struct tc_slice string, size_t *ret_length)
{
    if (!tc_scan_is_string(string))
        return NULL;
    /* an escape is never shorter than its UTF-8 */
    char *text = malloc(string.length), *to = text;
    const char *at = string.at + 1, *end = string.at + string.length - 1;
    while (text && at < end) {
        if (*at == '\\')
            to += put_utf8(read_escaped(&at), to);
        else
            *to++ = *at++;
    }
    if (!text)
        return NULL;
    *to = '\0';
    *ret_length = (size_t)(to - text);
    return text;
}

/* The next character in lower case. Two characters beyond ASCII also fold to ASCII letters. */
static uint32_t next_folded(const char **at)
{
    if (**at == '\\') {
        uint32_t code = read_escaped(at);
        code = code == 0x17f ? 's' : code == 0x212a ? 'k' : code;
        return code >= 'A' && code <= 'Z' ? code + 32 : code;
    }
    if (strncmp(*at, "\xc5\xbf", 2) == 0) {
        *at += 2;
        return 's';
    }
    if (strncmp(*at, "\xe2\x84\xaa", 3) == 0) {
        *at += 3;
        return 'k';
    }
    unsigned char c = (unsigned char)*(*at)++;
    return c >= 'A' && c <= 'Z' ? c + 32U : c;
}

/* Where the string continues after `word`; NULL: it does not begin with it. */
static const char *skip_folded(struct tc_slice string, const char *word)
{
    const char *at = string.at + 1, *end = string.at + string.length - 1;
    for (; at < end && *word; word++) {
        unsigned char c = (unsigned char)*word;
        if (next_folded(&at) != (c >= 'A' && c <= 'Z' ? c + 32U : c))
            return NULL;
    }
    return *word ? NULL : at;
}

bool tc_scan_folds(struct tc_slice string, const char *word)
{
    return skip_folded(string, word) == string.at + string.length - 1;
}

bool tc_scan_begins(struct tc_slice string, const char *word)
{
    return skip_folded(string, word);
}

bool tc_scan_is(struct tc_slice string, const char *word)
{
    if (!tc_scan_is_string(string))
        return false;
    const char *at = string.at + 1, *end = string.at + string.length - 1;
    for (; at < end && *word; word++) {
        uint32_t code = *at == '\\' ? read_escaped(&at) : (unsigned char)*at++;
        if (code != (unsigned char)*word)
            return false;
    }
    return at == end && !*word;
}

bool tc_scan_member(struct tc_slice object, const char *key, struct tc_slice *ret)
{
    struct tc_scan_each each = tc_scan_walk(object);
    *ret = (struct tc_slice){0};
    while (tc_scan_is_object(object) && tc_scan_next(&each)) {
        if (!tc_scan_folds(each.key, key))
            continue;
        if (ret->at || !tc_scan_is(each.key, key))
            return false;
        *ret = each.value;
    }
    return true;
}
