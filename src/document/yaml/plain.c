/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The meaning of a plain (unquoted) YAML scalar: only the core schema of YAML 1.2. A scalar that
 * another YAML version or TOML reads differently is an error, because a policy must not have two
 * meanings; quotes resolve it. */
#include "document/yaml/yaml.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* Buffer size for a number without its underscores; larger than any 64-bit number. */
enum { NUMBER_MAX = 64 };

static const char DIGITS[] = "0123456789";

static bool one_of(const char *text, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(text, words[i]) == 0)
            return true;
    return false;
}

static const char *skip_sign(const char *text)
{
    return text + (*text == '-' || *text == '+');
}

static bool is_integer(const char *text)
{
    text = skip_sign(text);
    return *text && !text[strspn(text, DIGITS)];
}

/* 0o17 or 0x1F, without a sign; `letter` marks the base. */
static bool is_based(const char *text, char letter, const char *digits)
{
    return text[0] == '0' && text[1] == letter && text[2] && !text[2 + strspn(text + 2, digits)];
}

static bool is_float(const char *text)
{
    text = skip_sign(text);
    size_t whole = strspn(text, DIGITS), part = 0;
    text += whole;
    if (*text == '.') {
        part = strspn(text + 1, DIGITS);
        text += 1 + part;
    }
    if (!whole && !part)
        return false;
    if (*text == 'e' || *text == 'E') {
        text = skip_sign(text + 1);
        if (!*text)
            return false;
        text += strspn(text, DIGITS);
    }
    return !*text;
}

static bool special(const char *text, double *ret)
{
    static const char *const infinite[] = {".inf", ".Inf", ".INF"}, *const none[] = {".nan", ".NaN",
                                                                                     ".NAN"};
    if (one_of(skip_sign(text), infinite, TC_COUNT(infinite)))
        *ret = *text == '-' ? -INFINITY : INFINITY;
    else if (one_of(text, none, TC_COUNT(none)))
        *ret = NAN;
    else
        return false;
    return true;
}

/* YAML 1.1 reads 010 as eight; TOML rejects it. */
static bool leading_zero(const char *text)
{
    text = skip_sign(text);
    return text[0] == '0' && text[1] >= '0' && text[1] <= '9';
}

static bool is_number(const char *text)
{
    return is_integer(text) || is_float(text) || is_based(skip_sign(text), 'o', "01234567") ||
           is_based(skip_sign(text), 'b', "01") ||
           is_based(skip_sign(text), 'x', "0123456789abcdefABCDEF");
}

/* 1_000 is a number in TOML and YAML 1.1, and a string in YAML 1.2. */
static bool underscored(const char *text)
{
    char bare[NUMBER_MAX];
    size_t n = 0;
    if (!strchr(text, '_') || !strchr(DIGITS, *skip_sign(text)))
        return false;
    for (; *text && n + 1 < sizeof(bare); text++)
        if (*text != '_')
            bare[n++] = *text;
    bare[n] = '\0';
    return is_number(bare);
}

/* Skips a prefix of the given shape, as in "9999-99-99"; '9' matches any digit. NULL: no match. */
static const char *skip_shape(const char *text, const char *shape)
{
    for (; *shape; shape++, text++)
        if (*shape == '9' ? !*text || !strchr(DIGITS, *text) : *text != *shape)
            return NULL;
    return text;
}

/* Dates and times of TOML and YAML 1.1. YAML 1.1 reads 1:30 as ninety. */
static bool is_time(const char *text)
{
    const char *rest = skip_shape(text, "9999-99-99");
    if (rest && (!*rest || (strchr("Tt ", *rest) && skip_shape(rest + 1, "99:99"))))
        return true;
    text = skip_sign(text);
    size_t n = strspn(text, DIGITS);
    rest = text + n;
    if (!n || *rest != ':')
        return false;
    while (*rest == ':' && (n = strspn(rest + 1, DIGITS)) > 0 && n <= 2)
        rest += 1 + n;
    return !*rest || (*rest == '.' && !rest[1 + strspn(rest + 1, DIGITS)]);
}

static const char *set_integer(struct tc_node *node, const char *text, int base)
{
    errno = 0;
    node->kind = TC_NODE_INTEGER;
    node->integer = strtoll(base == 10 ? text : text + 2, NULL, base);
    return errno ? "the number does not fit into 64 bits" : NULL;
}

static const char *set_float(struct tc_node *node, const char *text)
{
    locale_t locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!locale)
        return "out of memory";
    node->kind = TC_NODE_FLOAT;
    node->number = strtod_l(text, NULL, locale);
    freelocale(locale);
    return isinf(node->number) ? "the number is too large" : NULL;
}

static const char *set_number(struct tc_node *node, const char *text)
{
    if (leading_zero(text))
        return "a number with a leading zero";
    if (is_integer(text))
        return set_integer(node, text, 10);
    if (is_based(text, 'o', "01234567"))
        return set_integer(node, text, 8);
    if (is_based(text, 'x', "0123456789abcdefABCDEF"))
        return set_integer(node, text, 16);
    if (is_float(text))
        return set_float(node, text);
    return "a number that YAML 1.2 reads as a string";
}

static const char *set_word(struct tc_node *node, const char *text)
{
    static const char *const nothing[] = {"", "~", "null", "Null", "NULL"},
                             *const yes[] = {"true", "True", "TRUE"},
                             *const no[] = {"false", "False", "FALSE"};
    node->kind = TC_NODE_STRING;
    if (one_of(text, nothing, TC_COUNT(nothing)))
        return "there is no value here";
    bool truth = one_of(text, yes, TC_COUNT(yes));
    if (truth || one_of(text, no, TC_COUNT(no))) {
        node->kind = TC_NODE_BOOL;
        node->integer = truth;
    } else if (special(text, &node->number)) {
        node->kind = TC_NODE_FLOAT;
    } else if (underscored(text)) {
        return "a number with underscores, which YAML 1.2 reads as a string";
    } else if (is_time(text)) {
        return "a date or a time, which YAML 1.2 reads as a string";
    }
    return NULL;
}

static bool only_digits(const char *text, size_t len)
{
    size_t i = len && (*text == '-' || *text == '+');
    bool any = i < len;
    for (; i < len; i++)
        if (!strchr("0123456789_.", text[i]) || !text[i])
            return false;
    return any;
}

const char *tc_yaml_plain(const char *text, size_t len, struct tc_node *node)
{
    char word[NUMBER_MAX];
    node->kind = TC_NODE_STRING;
    if (len >= sizeof(word))
        return only_digits(text, len) ? "the number has too many digits" : NULL;
    memcpy(word, text, len);
    word[len] = '\0';
    return is_number(word) ? set_number(node, word) : set_word(node, word);
}
