/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "mcp/rescue.h"

#include <stdlib.h>
#include <string.h>

#include "mcp/scan.h"

/* ---- the id ---- */

static void add_id(struct tc_rescue *r, char c)
{
    if (strchr(": \t\r\n", c) && !r->string)
        r->taken = r->id_length > 0;
    else if (!r->taken && r->id_length + 1 < sizeof(r->id))
        r->id[r->id_length++] = c;
    else
        r->doubtful = true;
}

static void end_key(struct tc_rescue *r)
{
    bool id = r->key_length == 2 && memcmp(r->key, "id", 2) == 0;
    bool method = r->key_length == 6 && memcmp(r->key, "method", 6) == 0;
    r->naming = false;
    r->ids += id;
    r->methods += method;
    r->taking = id;
}

static void step_string(struct tc_rescue *r, char c)
{
    bool ends = c == '"' && !r->escaped;
    r->doubtful |= r->naming && c == '\\'; /* an escaped key may mean "id" */
    r->escaped = c == '\\' && !r->escaped;
    if (r->taking)
        add_id(r, c);
    r->string = !ends;
    if (r->naming && ends)
        end_key(r);
    else if (r->naming && r->key_length < sizeof(r->key))
        r->key[r->key_length++] = c;
}

static void open_container(struct tc_rescue *r, char c)
{
    r->doubtful |= r->closed || r->taking || (!r->depth && c != '{');
    r->naming = !r->depth;
    r->key_length = 0;
    r->depth++;
}

static void step(struct tc_rescue *r, char c)
{
    bool top = r->depth == 1;
    if (r->string) {
        step_string(r, c);
    } else if (c == '"') {
        r->string = true;
        r->doubtful |= !r->depth;
        if (r->taking)
            add_id(r, c);
    } else if (c == '{' || c == '[') {
        open_container(r, c);
    } else if (c == '}' || c == ']') {
        r->depth--;
        r->taking = r->taking && !top;
        r->closed |= !r->depth;
        r->doubtful |= r->depth < 0;
    } else if (c == ',' && top) {
        r->naming = true;
        r->taking = false;
        r->key_length = 0;
    } else if (r->taking) {
        add_id(r, c);
    }
}

void tc_rescue_add(struct tc_rescue *rescue, const char *text, size_t length)
{
    for (size_t i = 0; i < length && !rescue->doubtful; i++)
        step(rescue, text[i]);
}

static bool is_id(const char *text, size_t length)
{
    enum { DIGITS_MAX = 18 };
    size_t sign = length && text[0] == '-';
    if (!tc_scan_valid(text, length))
        return false;
    return text[0] == '"' ||
           (length - sign <= DIGITS_MAX && strspn(text + sign, "0123456789") == length - sign);
}

enum tc_rescued tc_rescue_end(struct tc_rescue *r, const char **ret_id)
{
    r->id[r->id_length] = '\0';
    *ret_id = r->id;
    if (r->doubtful || r->ids != 1 || r->methods > 1 || !is_id(r->id, r->id_length))
        return TC_RESCUED_NOTHING;
    return r->methods ? TC_RESCUED_REQUEST : TC_RESCUED_RESPONSE;
}

/* ---- unpaired surrogates ---- */

/* The value of "\uXXXX" at this place, or -1. */
static long read_unit(const char *at, const char *end)
{
    char digits[5] = "";
    if (end - at < 6 || at[0] != '\\' || at[1] != 'u')
        return -1;
    memcpy(digits, at + 2, 4);
    return strspn(digits, "0123456789abcdefABCDEF") == 4 ? strtol(digits, NULL, 16) : -1;
}

static bool is_high(long unit)
{
    return unit >= 0xd800 && unit <= 0xdbff;
}

static bool is_low(long unit)
{
    return unit >= 0xdc00 && unit <= 0xdfff;
}

/* The length of the escape at the backslash `at`; an unpaired surrogate is replaced and counted. */
static size_t take_escape(char *at, const char *end, long *count)
{
    long unit = read_unit(at, end);
    if (is_high(unit) && is_low(read_unit(at + 6, end)))
        return 12;
    if (is_high(unit) || is_low(unit)) {
        memcpy(at + 2, "fffd", 4);
        ++*count;
    }
    return unit < 0 ? 2 : 6;
}

static bool is_key_end(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\r' || *at == '\n'))
        at++;
    return at < end && *at == ':';
}

long tc_rescue_surrogates(char *text, size_t length)
{
    const char *end = text + length;
    long count = 0, before = 0;
    bool string = false;
    for (char *at = text; at < end;) {
        if (string && *at == '\\') {
            at += take_escape(at, end, &count);
            continue;
        }
        if (*at++ != '"')
            continue;
        if (string && count > before && is_key_end(at, end))
            return -1;
        string = !string;
        before = count;
    }
    return count;
}

char *tc_rescue_text(const char *text, size_t length)
{
    if (!memmem(text, length, "\\ud", 3) && !memmem(text, length, "\\uD", 3))
        return NULL;
    char *copy = malloc(length + 1);
    if (!copy)
        return NULL;
    memcpy(copy, text, length);
    copy[length] = '\0';
    if (tc_rescue_surrogates(copy, length) > 0)
        return copy;
    free(copy);
    return NULL;
}
