/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cli/json.h"

#include <string.h>

static const char *skip_space(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r'))
        at++;
    return at;
}

static const char *skip_string(const char *at, const char *end)
{
    for (at++; at < end && *at != '"'; at++)
        if (*at == '\\')
            at++;
    return at < end ? at + 1 : NULL;
}

/* Past the value that starts at `at`; NULL when the text ends before it. */
static const char *skip_value(const char *at, const char *end)
{
    size_t depth = 0;
    if (at >= end)
        return NULL;
    do {
        if (*at == '"') {
            at = skip_string(at, end);
            if (!at)
                return NULL;
        } else if (*at == '{' || *at == '[') {
            depth++;
            at++;
        } else if (*at == '}' || *at == ']') {
            if (!depth)
                return NULL;
            depth--;
            at++;
        } else if (depth) {
            at++;
        } else {
            size_t length = 0;
            while (at + length < end && !strchr(",:]} \t\n\r", at[length]))
                length++;
            return length ? at + length : NULL;
        }
    } while (depth && at < end);
    return depth ? NULL : at;
}

struct tc_json tc_json_of(const char *text)
{
    const char *end = text + strlen(text);
    return (struct tc_json){skip_space(text, end), end};
}

struct tc_json_each tc_json_walk(struct tc_json container)
{
    struct tc_json_each each = {0};
    if (container.at && container.at < container.end &&
        (*container.at == '{' || *container.at == '['))
        each.rest = container;
    return each;
}

bool tc_json_next(struct tc_json_each *each)
{
    const char *at = each->rest.at, *end = each->rest.end;
    each->rest.at = NULL;
    if (!at || at >= end)
        return false;
    /* `at` is the opening bracket at first, then the comma or the closing bracket */
    bool object = *at == '{' || (*at == ',' && each->key.at);
    if (*at != '{' && *at != '[' && *at != ',')
        return false;
    at = skip_space(at + 1, end);
    each->key = (struct tc_json){0};
    if (object) {
        const char *after = at < end && *at == '"' ? skip_string(at, end) : NULL;
        if (!after)
            return false;
        each->key = (struct tc_json){at, after};
        at = skip_space(after, end);
        if (at >= end || *at != ':')
            return false;
        at = skip_space(at + 1, end);
    }
    const char *after = skip_value(at, end);
    if (!after)
        return false;
    each->value = (struct tc_json){at, after};
    each->rest.at = skip_space(after, end);
    return true;
}

struct tc_json tc_json_get(struct tc_json object, const char *key)
{
    struct tc_json_each each = tc_json_walk(object);
    while (tc_json_next(&each))
        if (tc_json_is(each.key, key))
            return each.value;
    return (struct tc_json){0};
}

bool tc_json_is(struct tc_json value, const char *string)
{
    size_t length = strlen(string);
    return value.at && (size_t)(value.end - value.at) == length + 2 && *value.at == '"' &&
           !memcmp(value.at + 1, string, length);
}

static unsigned hex4(const char *at, const char *end)
{
    unsigned value = 0;
    for (int i = 0; i < 4; i++) {
        char c = at + i < end ? at[i] : '0';
        unsigned digit = c >= 'a'   ? (unsigned)(c - 'a' + 10)
                         : c >= 'A' ? (unsigned)(c - 'A' + 10)
                                    : (unsigned)(c - '0');
        value = value << 4 | (digit & 15);
    }
    return value;
}

static char *put_utf8(char *to, unsigned point)
{
    if (point < 0x80) {
        *to++ = (char)point;
    } else if (point < 0x800) {
        *to++ = (char)(0xc0 | point >> 6);
        *to++ = (char)(0x80 | (point & 63));
    } else if (point < 0x10000) {
        *to++ = (char)(0xe0 | point >> 12);
        *to++ = (char)(0x80 | (point >> 6 & 63));
        *to++ = (char)(0x80 | (point & 63));
    } else {
        *to++ = (char)(0xf0 | point >> 18);
        *to++ = (char)(0x80 | (point >> 12 & 63));
        *to++ = (char)(0x80 | (point >> 6 & 63));
        *to++ = (char)(0x80 | (point & 63));
    }
    return to;
}

/* \uXXXX at `at` (after the backslash), a pair of surrogates as one; moves past it. */
static unsigned unescape(const char **at, const char *end)
{
    unsigned point = hex4(*at + 1, end);
    *at += 5;
    if (point >= 0xd800 && point < 0xdc00 && end - *at >= 6 && (*at)[0] == '\\' &&
        (*at)[1] == 'u') {
        unsigned low = hex4(*at + 2, end);
        if (low >= 0xdc00 && low < 0xe000) {
            *at += 6;
            return 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00);
        }
    }
    /* a NUL would cut the text short, and a lone surrogate is none */
    return !point || (point >= 0xd800 && point < 0xe000) ? 0xfffd : point;
}

char *tc_json_text(struct tc_json value)
{
    static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
    if (!value.at || *value.at != '"')
        return NULL;
    char *text = malloc((size_t)(value.end - value.at) + 1), *out = text;
    if (!text)
        return NULL;
    const char *end = value.end - 1;
    for (const char *at = value.at + 1; at < end;) {
        if (*at != '\\') {
            *out++ = *at++;
            continue;
        }
        at++;
        if (at < end && *at == 'u') {
            out = put_utf8(out, unescape(&at, end));
            continue;
        }
        const char *known = at < end && *at ? strchr(from, *at) : NULL;
        *out++ = known ? to[known - from] : *at;
        at++;
    }
    *out = '\0';
    return text;
}

int64_t tc_json_int(struct tc_json value, int64_t otherwise)
{
    if (!value.at || !strchr("-0123456789", *value.at))
        return otherwise;
    char *end;
    long long number = strtoll(value.at, &end, 10);
    return end == value.end ? number : otherwise;
}

bool tc_json_true(struct tc_json value)
{
    return value.at && value.end - value.at == 4 && !memcmp(value.at, "true", 4);
}
