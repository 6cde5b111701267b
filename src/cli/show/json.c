/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cli/show/json.h"

#include <string.h>

#include "cli/show/base64.h"
#include "cli/show/clean.h"

struct tc_slice tc_json_of(const char *text)
{
    return tc_scan_whole(text, strlen(text));
}

struct tc_slice tc_json_get(struct tc_slice object, const char *key)
{
    struct tc_scan_each each = tc_scan_walk(object);
    while (tc_scan_is_object(object) && tc_scan_next(&each))
        if (tc_scan_is(each.key, key))
            return each.value;
    return (struct tc_slice){0};
}

char *tc_json_text(struct tc_slice value)
{
    size_t length = 0;
    char *text = tc_scan_text(value, &length);
    for (size_t i = 0; text && i < length; i++)
        if (!text[i]) /* it would cut the text short */
            text[i] = ' ';
    return text;
}

char *tc_json_line(struct tc_slice value)
{
    _autofree_ char *text = tc_json_text(value);
    return text ? tc_clean(TC_CLEAN_LINE, text, strlen(text), NULL) : NULL;
}

static char *bytes_of(struct tc_slice row, const char *key, const char *base64_key, size_t *length)
{
    char *text = tc_json_text(tc_json_get(row, key));
    *length = text ? strlen(text) : 0;
    if (text)
        return text;
    _autofree_ char *coded = tc_json_text(tc_json_get(row, base64_key));
    return coded ? tc_base64_decode(coded, strlen(coded), length) : NULL;
}

char *tc_json_name(struct tc_slice row, const char *key, const char *base64_key)
{
    size_t length = 0;
    _autofree_ char *name = bytes_of(row, key, base64_key, &length);
    return name ? tc_clean(TC_CLEAN_LINE, name, length, NULL) : NULL;
}

char *tc_json_raw_path(struct tc_slice row)
{
    size_t length = 0;
    _autofree_ char *bytes = bytes_of(row, "path", "path_base64", &length);
    return bytes ? strndup(bytes, length) : NULL;
}

char *tc_json_path(struct tc_slice row)
{
    return tc_json_name(row, "path", "path_base64");
}

int tc_json_order(const void *a, const void *b)
{
    const struct tc_slice *x = a, *y = b;
    size_t least = x->length < y->length ? x->length : y->length;
    int order = memcmp(x->at, y->at, least);
    return order ? order : (x->length > y->length) - (x->length < y->length);
}

int64_t tc_json_int(struct tc_slice value, int64_t otherwise)
{
    char *end;
    if (!value.at || !strchr("-0123456789", *value.at))
        return otherwise;
    long long number = strtoll(value.at, &end, 10);
    return end == value.at + value.length ? number : otherwise;
}

bool tc_json_true(struct tc_slice value)
{
    return value.at && *value.at == 't';
}
