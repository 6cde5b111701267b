/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cli/show/json.h"

#include <errno.h>
#include <string.h>

#include "cli/show/clean.h"
#include "text/base64.h"

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
        if (!text[i]) /* a NUL would end the text */
            text[i] = ' ';
    return text;
}

struct tc_slice tc_json_find(struct tc_slice list, const char *key, const char *text)
{
    for (struct tc_scan_each each = tc_scan_walk(list); tc_scan_next(&each);) {
        _autofree_ char *own = tc_json_text(tc_json_get(each.value, key));
        if (own && !strcmp(own, text))
            return each.value;
    }
    return (struct tc_slice){0};
}

char *tc_json_line(struct tc_slice value)
{
    _autofree_ char *text = tc_json_text(value);
    return text ? tc_clean(TC_CLEAN_LINE, text, strlen(text), NULL) : NULL;
}

/* Decodes four digits, the last `padding` of which are padding, into three bytes. */
static bool decode_quad(const char quad[4], int padding, unsigned char to[3])
{
    unsigned bits = 0;
    for (int i = 0; i < 4; i++) {
        int value = i < 4 - padding ? tc_base64_value(quad[i]) : 0;
        if (value < 0)
            return false;
        bits = bits << 6 | (unsigned)value;
    }
    to[0] = (unsigned char)(bits >> 16);
    to[1] = (unsigned char)(bits >> 8);
    to[2] = (unsigned char)bits;
    /* unused bits must be zero */
    return (padding < 1 || !to[2]) && (padding < 2 || !to[1]);
}

/* RFC 4648 as the library writes it, with padding and no other characters; NULL with errno. */
static char *decode(const char *text, size_t length, size_t *ret_length)
{
    if (length % 4)
        return errno = EINVAL, NULL;
    int padding = !length || text[length - 1] != '=' ? 0 : text[length - 2] == '=' ? 2 : 1;
    char *bytes = malloc(length / 4 * 3 + 1);
    bool good = bytes != NULL;
    for (size_t i = 0; good && i < length; i += 4)
        good = decode_quad(text + i, i + 4 == length ? padding : 0,
                           (unsigned char *)bytes + i / 4 * 3);
    if (!good) {
        int errnum = bytes ? EINVAL : ENOMEM;
        free(bytes);
        return errno = errnum, NULL;
    }
    *ret_length = length / 4 * 3 - (size_t)padding;
    bytes[*ret_length] = '\0';
    return bytes;
}

char *tc_json_decoded(struct tc_slice row, const char *key, const char *base64_key,
                      size_t *ret_length)
{
    struct tc_slice text = tc_json_get(row, key);
    struct tc_slice coded = tc_scan_is_string(text) ? text : tc_json_get(row, base64_key);
    size_t length = 0;
    if (!tc_scan_is_string(coded))
        return errno = EINVAL, NULL;
    _autofree_ char *said = tc_scan_text(coded, &length);
    if (!said)
        return errno = ENOMEM, NULL;
    if (coded.at != text.at)
        return decode(said, length, ret_length);
    char *whole = said;
    said = NULL;
    *ret_length = length;
    return whole;
}

char *tc_json_name(struct tc_slice row, const char *key, const char *base64_key)
{
    size_t length = 0;
    _autofree_ char *name = tc_json_decoded(row, key, base64_key, &length);
    return name ? tc_clean(TC_CLEAN_LINE, name, length, NULL) : NULL;
}

char *tc_json_raw_path(struct tc_slice row)
{
    size_t length = 0;
    _autofree_ char *bytes = tc_json_decoded(row, "path", "path_base64", &length);
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
