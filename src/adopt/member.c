/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Adds and removes members of JSON settings in place: comments and formatting stay. */
#include <stdlib.h>
#include <string.h>

#include "adopt/adopt.h"
#include "base/buf.h"
#include "base/jsonc.h"
#include "mcp/scan.h"

enum { DEPTH_MAX = 512, INDENT = 2 };

char *tc_adopt_strict(const char *text, size_t length)
{
    char *strict = malloc(length + 1);
    if (!strict)
        return NULL;
    memcpy(strict, text, length);
    strict[length] = '\0';
    if (tc_jsonc_blank(strict, length, DEPTH_MAX, TC_JSONC_STRICT) &&
        tc_scan_is_object(tc_scan_whole(strict, length)))
        return strict;
    free(strict);
    return NULL;
}

static void add_line(struct tc_buf *out, size_t depth)
{
    tc_buf_addc(out, '\n');
    for (size_t i = 0; i < depth * INDENT; i++)
        tc_buf_addc(out, ' ');
}

/* The value in the objects, or the list, of the keys that are missing. */
static void add_value(struct tc_buf *out, const char *const *keys, const char *value, bool append,
                      size_t depth)
{
    if (!*keys && append) {
        tc_buf_adds(out, "[");
        add_line(out, depth + 1);
        tc_buf_adds(out, value);
        add_line(out, depth);
        tc_buf_adds(out, "]");
    } else if (!*keys) {
        tc_buf_adds(out, value);
    } else {
        tc_buf_adds(out, "{");
        add_line(out, depth + 1);
        tc_buf_addf(out, "\"%s\": ", *keys);
        add_value(out, keys + 1, value, append, depth + 1);
        add_line(out, depth);
        tc_buf_adds(out, "}");
    }
}

/* Where a new last element of the container goes, and whether it needs a comma before it. */
static size_t place_last(const char *strict, struct tc_slice container, bool *ret_comma)
{
    struct tc_scan_each each = tc_scan_walk(container);
    size_t at = (size_t)(container.at - strict) + 1;
    *ret_comma = false;
    while (tc_scan_next(&each)) {
        at = (size_t)(each.value.at - strict) + each.value.length;
        *ret_comma = true;
    }
    return at;
}

/* The text with `part` in place of a range. */
static char *splice(const char *text, size_t length, struct tc_adopt_range range,
                    const struct tc_buf *part, size_t *ret_length)
{
    _autobuf_ struct tc_buf out = TC_BUF_INIT;
    tc_buf_add(&out, text, range.at);
    tc_buf_add(&out, part->data, part->len);
    tc_buf_add(&out, text + range.end, length - range.end);
    if (part->failed || out.failed)
        return NULL;
    *ret_length = out.len;
    return tc_buf_steal(&out);
}

/* Follows the keys as far as their objects exist. *ret_object is the last one; *ret_value is the
 * member with the key that is returned, or absent. NULL: the settings have another form. */
static const char *const *follow(struct tc_slice root, const char *const *keys,
                                 struct tc_slice *ret_object, struct tc_slice *ret_value)
{
    for (*ret_object = root;; *ret_object = *ret_value, keys++)
        if (!tc_scan_is_object(*ret_object) || !tc_scan_member(*ret_object, *keys, ret_value))
            return NULL;
        else if (!ret_value->at || !keys[1])
            return keys;
}

/* A new last element of the list at `keys`, or a new member of the object. */
static char *add_last(const char *text, size_t length, size_t at, bool comma, size_t depth,
                      struct tc_buf *element, size_t *ret_length)
{
    _autobuf_ struct tc_buf part = TC_BUF_INIT;
    tc_buf_adds(&part, comma ? "," : "");
    add_line(&part, depth);
    tc_buf_add(&part, element->data, element->len);
    if (!comma)
        add_line(&part, depth - 1);
    part.failed |= element->failed;
    return splice(text, length, (struct tc_adopt_range){at, at}, &part, ret_length);
}

char *tc_adopt_put(const char *text, size_t length, const char *const *keys, const char *value,
                   bool append, size_t *ret_length)
{
    _autofree_ char *strict = tc_adopt_strict(text, length);
    _autobuf_ struct tc_buf part = TC_BUF_INIT;
    struct tc_slice object, there;
    bool comma;
    const char *const *rest =
        strict ? follow(tc_scan_whole(strict, length), keys, &object, &there) : NULL;
    if (!rest || (there.at && append && !tc_scan_is_array(there)))
        return NULL;
    size_t depth = (size_t)(rest - keys) + 1;
    if (there.at && !append) {
        size_t at = (size_t)(there.at - strict);
        tc_buf_adds(&part, value);
        return splice(text, length, (struct tc_adopt_range){at, at + there.length}, &part,
                      ret_length);
    }
    size_t at = place_last(strict, there.at ? there : object, &comma);
    if (there.at) {
        tc_buf_adds(&part, value);
    } else {
        tc_buf_addf(&part, "\"%s\": ", *rest);
        add_value(&part, rest + 1, value, append, depth);
    }
    return add_last(text, length, at, comma, there.at ? depth + 1 : depth, &part, ret_length);
}

char *tc_adopt_take(const char *text, size_t length, struct tc_adopt_range element,
                    size_t *ret_length)
{
    _autofree_ char *strict = tc_adopt_strict(text, length);
    _autobuf_ struct tc_buf out = TC_BUF_INIT;
    size_t at = element.at, end = element.end, next = end;
    if (!strict || end > length)
        return NULL;
    while (next < length && strchr(" \t\r\n", strict[next]))
        next++;
    while (at && strchr(" \t\r\n", strict[at - 1]) && strict[at - 1])
        at--;
    if (strict[next] == ',') {
        end = next + 1;
        at = element.at;
        while (end < length && strchr(" \t\r\n", text[end]))
            end++;
    } else if (at && strict[at - 1] == ',') {
        at--;
    } else {
        end = next; /* the only one */
    }
    tc_buf_add(&out, text, at);
    tc_buf_add(&out, text + end, length - end);
    *ret_length = out.len;
    return tc_buf_steal(&out);
}
