/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Reaches src/mcp/scan.c. What it takes for JSON another strict reader must take too, but for
 * numbers that this one cannot hold; what it sees in there must be what the other sees. */
#include "mcp/scan.h"

#include <jansson.h>
#include <string.h>

#include "fuzz.h"

static void compare(struct tc_slice mine, const json_t *theirs);

static void compare_text(struct tc_slice mine, const char *text, size_t length)
{
    size_t n = 0;
    char *own = tc_scan_text(mine, &n);
    INVARIANT(own && n == length && memcmp(own, text, n) == 0);
    bool ascii = true;
    for (size_t i = 0; i < n; i++)
        ascii &= own[i] > 0;
    INVARIANT(!ascii || (tc_scan_is(mine, own) && tc_scan_folds(mine, own)));
    free(own);
}

/* The other reader keeps the last of two members. */
static void compare_members(struct tc_slice mine, const json_t *theirs)
{
    struct tc_scan_each each = tc_scan_walk(mine);
    size_t count = 0;
    while (tc_scan_next(&each)) {
        size_t n = 0;
        char *key = tc_scan_text(each.key, &n);
        INVARIANT(key);
        INVARIANT(json_object_getn(theirs, key, n));
        free(key);
        count++;
    }
    INVARIANT(count >= json_object_size(theirs));
}

static void compare(struct tc_slice mine, const json_t *theirs)
{
    INVARIANT(tc_scan_is_string(mine) == json_is_string(theirs));
    INVARIANT(tc_scan_is_array(mine) == json_is_array(theirs));
    INVARIANT(tc_scan_is_object(mine) == json_is_object(theirs));
    if (json_is_string(theirs))
        compare_text(mine, json_string_value(theirs), json_string_length(theirs));
    if (json_is_object(theirs))
        compare_members(mine, theirs);
    struct tc_scan_each each = tc_scan_walk(mine);
    for (size_t i = 0; json_is_array(theirs) && i < json_array_size(theirs); i++) {
        INVARIANT(tc_scan_next(&each));
        compare(each.value, json_array_get(theirs, i));
    }
    INVARIANT(!json_is_array(theirs) || !tc_scan_next(&each));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    json_error_t error;
    json_t *theirs =
        json_loadb(text, size, JSON_DECODE_ANY | JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL, &error);
    bool valid = tc_scan_valid(text, size);
    /* theirs has no place for some numbers, nor for a NUL in a member's name */
    INVARIANT(!valid || theirs || json_error_code(&error) == json_error_numeric_overflow ||
              json_error_code(&error) == json_error_null_byte_in_key);
    /* theirs is as deep as 2,048, and overlooks a NUL after the value */
    INVARIANT(valid || !theirs || size > 512 || memchr(data, 0, size));
    while (size && strchr(" \t\r\n", *text) && *text) {
        text++;
        size--;
    }
    while (size && strchr(" \t\r\n", text[size - 1]) && text[size - 1])
        size--;
    if (valid && theirs)
        compare((struct tc_slice){text, size}, theirs);
    json_decref(theirs);
    return 0;
}
