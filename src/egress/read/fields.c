/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "egress/read/fields.h"

#include <string.h>
#include <strings.h>

bool tc_egress_http_is(struct tc_egress_http_text text, const char *word)
{
    return text.len == strlen(word) && strncasecmp(text.at, word, text.len) == 0;
}

bool tc_egress_http_is_token(struct tc_egress_http_text text)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.at[i];
        bool alnum = (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
        if (!alnum && !(c && strchr("!#$%&'*+-.^_`|~", c)))
            return false;
    }
    return text.len > 0;
}

/* ---- lines ---- */

const char *tc_egress_http_end(const char *bytes, size_t len, bool *ret_bad)
{
    for (size_t i = 0; i < len; i++) {
        char c = bytes[i];
        if (c != '\r' && c != '\n' && c != '\0')
            continue;
        if (c != '\r' || (i + 1 < len && bytes[i + 1] != '\n')) {
            *ret_bad = true;
            return NULL;
        }
        if (i + 3 < len && bytes[i + 2] == '\r' && bytes[i + 3] == '\n')
            return bytes + i + 4;
        i++;
    }
    return NULL;
}

struct tc_egress_http_text tc_egress_http_next(const char **at, const char *end)
{
    const char *start = *at, *cr = memchr(start, '\r', (size_t)(end - start));
    *at = cr + 2;
    return (struct tc_egress_http_text){start, (size_t)(cr - start)};
}

/* ---- fields ---- */

static bool is_space(char c)
{
    return c == ' ' || c == '\t';
}

const char *tc_egress_http_field_read(struct tc_egress_http_text line,
                                      struct tc_egress_http_field *ret)
{
    const char *colon = memchr(line.at, ':', line.len), *end = line.at + line.len;
    if (!colon)
        return "a header field has no colon";
    ret->name = (struct tc_egress_http_text){line.at, (size_t)(colon - line.at)};
    /* a continued line starts with a space, and also fails here */
    if (!tc_egress_http_is_token(ret->name))
        return "a header field's name is not a token";
    const char *value = colon + 1;
    while (value < end && is_space(*value))
        value++;
    while (end > value && is_space(end[-1]))
        end--;
    for (const char *c = value; c < end; c++)
        if (((unsigned char)*c < 0x20 && *c != '\t') || *c == 0x7f)
            return "a header field's value contains a control character";
    ret->value = (struct tc_egress_http_text){value, (size_t)(end - value)};
    return NULL;
}

/* ---- lists ---- */

bool tc_egress_http_each(struct tc_egress_http_text list, tc_egress_http_word_fn *visit, void *ctx)
{
    const char *at = list.at, *end = list.at + list.len;
    while (at < end) {
        const char *comma = memchr(at, ',', (size_t)(end - at)), *stop = comma ? comma : end;
        const char *from = at, *to = stop;
        while (from < to && is_space(*from))
            from++;
        while (to > from && is_space(to[-1]))
            to--;
        if (to > from && !visit((struct tc_egress_http_text){from, (size_t)(to - from)}, ctx))
            return false;
        at = stop + 1;
    }
    return true;
}

static bool is_other(struct tc_egress_http_text word, void *ctx)
{
    const struct tc_egress_http_text *name = ctx;
    return word.len != name->len || strncasecmp(word.at, name->at, word.len) != 0;
}

bool tc_egress_http_lists(struct tc_egress_http_text list, struct tc_egress_http_text word)
{
    return !tc_egress_http_each(list, is_other, &word);
}

bool tc_egress_http_has(struct tc_egress_http_text list, const char *word)
{
    return tc_egress_http_lists(list, (struct tc_egress_http_text){word, strlen(word)});
}

bool tc_egress_http_number(struct tc_egress_http_text value, uint64_t *ret)
{
    enum { DIGITS_MAX = 18 };
    *ret = 0;
    for (size_t i = 0; i < value.len; i++) {
        if (value.at[i] < '0' || value.at[i] > '9')
            return false;
        *ret = *ret * 10 + (uint64_t)(value.at[i] - '0');
    }
    return value.len >= 1 && value.len <= DIGITS_MAX;
}
