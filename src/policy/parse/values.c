/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "policy/parse/values.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strv.h"

struct unit {
    const char *name;
    int64_t factor;
};

static const struct unit sizes[] = {
    {"TiB", (int64_t)1 << 40},
    {"TB", 1000000000000},
    {"GiB", 1 << 30},
    {"GB", 1000000000},
    {"MiB", 1 << 20},
    {"MB", 1000000},
    {"KiB", 1 << 10},
    {"KB", 1000},
    {"B", 1},
    {NULL, 0},
};
static const struct unit durations[] = {
    {"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1}, {NULL, 0}};

static const struct unit *units_of(enum tc_unit unit)
{
    return unit == TC_UNIT_SIZE ? sizes : durations;
}

void tc_value_bare(enum tc_unit unit, const char *text, struct tc_complaint *c)
{
    size_t digits = strspn(text, "0123456789");
    int n = digits > 15 ? 15 : (int)digits;
    if (unit == TC_UNIT_SIZE) {
        const char *letter =
            n && strpbrk(text + digits, "kKmMgGtT") ? strpbrk(text + digits, "kKmMgGtT") : "M";
        char up = (char)(*letter >= 'a' ? *letter - 'a' + 'A' : *letter);
        tc_complain(c, "", "\"%.40s\" has no unit that says powers of 1000 or of 1024", text);
        (void)snprintf(c->hint, sizeof(c->hint),
                       "write \"%.*s%ciB\" (powers of 1024) or \"%.*s%cB\" (powers of 1000)",
                       n ? n : 3, n ? text : "512", up, n ? n : 3, n ? text : "512", up);
        return;
    }
    tc_complain(c, "", "\"%.40s\" is a duration without a unit", text);
    (void)snprintf(c->hint, sizeof(c->hint),
                   "write \"%.*ss\" (seconds) or \"%.*sms\"; units are ms, s, m, h", n ? n : 2,
                   n ? text : "30", n ? n : 2, n ? text : "30");
}

bool tc_value_check(enum tc_unit unit, int64_t value, int64_t min, int64_t max,
                    struct tc_complaint *c)
{
    if (value >= min && value <= max)
        return true;
    char is[TC_VALUE_TEXT_SIZE], low[TC_VALUE_TEXT_SIZE], high[TC_VALUE_TEXT_SIZE];
    tc_value_write(unit, value, is);
    tc_value_write(unit, min, low);
    tc_value_write(unit, max, high);
    tc_complain(c, "", "%s is too %s", is, value < min ? "small" : "large");
    (void)snprintf(c->hint, sizeof(c->hint), "the range is %s to %s", low, high);
    return false;
}

static bool too_large(const char *text, enum tc_unit unit, int64_t max, struct tc_complaint *c)
{
    char high[TC_VALUE_TEXT_SIZE];
    tc_value_write(unit, max, high);
    tc_complain(c, "", "\"%.40s\" is too large", text);
    (void)snprintf(c->hint, sizeof(c->hint), "the maximum is %s", high);
    return false;
}

/* Converts n digits. False: overflow. */
static bool read_digits(const char *text, size_t n, int64_t *ret)
{
    int64_t value = 0;
    for (size_t i = 0; i < n; i++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, text[i] - '0', &value))
            return false;
    *ret = value;
    return true;
}

static bool read_with_unit(enum tc_unit unit, const char *text, int64_t max, int64_t *ret,
                           struct tc_complaint *c)
{
    size_t digits = strspn(text, "0123456789");
    if (text[0] == '-') {
        tc_complain(c, "write a positive value", "\"%.40s\" is negative", text);
        return false;
    }
    if (!digits) {
        tc_complain(c,
                    unit == TC_UNIT_SIZE ? "write it as in \"512MiB\" or \"128MB\""
                                         : "write it as in \"30s\" or \"500ms\"",
                    "\"%.40s\" is not a %s", text, unit == TC_UNIT_SIZE ? "size" : "duration");
        return false;
    }
    if (text[digits] == '.') {
        tc_complain(c,
                    unit == TC_UNIT_SIZE ? "use the next smaller unit, as in \"1536MiB\""
                                         : "use the next smaller unit, as in \"1500ms\"",
                    "\"%.40s\" is not a whole number", text);
        return false;
    }
    for (const struct unit *u = units_of(unit); u->name; u++) {
        if (!tc_streq(u->name, text + digits))
            continue;
        int64_t value = 0;
        if (!read_digits(text, digits, &value) || __builtin_mul_overflow(value, u->factor, ret))
            return too_large(text, unit, max, c);
        return true;
    }
    bool bare = !text[digits] || (unit == TC_UNIT_SIZE &&
                                  strspn(text + digits, "kKmMgGtTbBiI") == strlen(text + digits));
    if (bare)
        tc_value_bare(unit, text, c);
    else if (text[digits] == ' ')
        tc_complain(c,
                    unit == TC_UNIT_SIZE
                        ? "write number and unit together, as in \"512MiB\""
                        : "write number and unit together, as in \"30s\"; units are ms, s, m, h",
                    "\"%.40s\" has a space before its unit", text);
    else
        tc_complain(c,
                    unit == TC_UNIT_SIZE ? "units are B, KB, MB, GB, TB (powers of 1000) and KiB, "
                                           "MiB, GiB, TiB (powers of 1024)"
                    : strpbrk(text + digits, "0123456789")
                        ? "write it with one unit, as in \"90s\"; units are ms, s, m, h"
                        : "units are ms, s, m, h",
                    "\"%.40s\" has an unknown unit \"%.20s\"", text, text + digits);
    return false;
}

static bool read_cpus(const char *text, int64_t *ret)
{
    size_t whole = strspn(text, "0123456789"), fraction = 0;
    const char *rest = text + whole;
    if (*rest == '.')
        fraction = strspn(++rest, "0123456789");
    if (!whole || whole > 9 || fraction > 3 || rest[fraction] ||
        (rest != text + whole && !fraction))
        return false;
    int64_t value = 0, part = 0;
    (void)read_digits(text, whole, &value);
    (void)read_digits(rest, fraction, &part);
    for (size_t i = fraction; i < 3; i++)
        part *= 10;
    *ret = value * 1000 + part;
    return true;
}

bool tc_value_read(enum tc_unit unit, const char *text, int64_t min, int64_t max, int64_t *ret,
                   struct tc_complaint *c)
{
    int64_t value = 0;
    if (unit == TC_UNIT_CPUS) {
        if (!read_cpus(text, &value)) {
            tc_complain(c, "write it as in \"2\" or \"1.5\"", "\"%.40s\" is not a number of CPUs",
                        text);
            return false;
        }
    } else if (unit == TC_UNIT_COUNT) {
        size_t n = strlen(text);
        if (!n || strspn(text, "0123456789") != n) {
            tc_complain(c, "write digits only", "\"%.40s\" is not a whole number", text);
            return false;
        }
        if (!read_digits(text, n, &value))
            return too_large(text, unit, max, c);
    } else if (!read_with_unit(unit, text, max, &value, c)) {
        return false;
    }
    if (!tc_value_check(unit, value, min, max, c))
        return false;
    *ret = value;
    return true;
}

void tc_value_write(enum tc_unit unit, int64_t value, char out[TC_VALUE_TEXT_SIZE])
{
    if (unit == TC_UNIT_COUNT) {
        (void)snprintf(out, TC_VALUE_TEXT_SIZE, "%lld", (long long)value);
        return;
    }
    if (unit == TC_UNIT_CPUS) {
        (void)snprintf(out, TC_VALUE_TEXT_SIZE, "%lld.%03lld", (long long)(value / 1000),
                       (long long)(value % 1000));
        size_t n = strlen(out);
        while (out[n - 1] == '0')
            out[--n] = '\0';
        if (out[n - 1] == '.')
            out[n - 1] = '\0';
        return;
    }
    if (value == 0) {
        (void)snprintf(out, TC_VALUE_TEXT_SIZE, unit == TC_UNIT_SIZE ? "0B" : "0s");
        return;
    }
    for (const struct unit *u = units_of(unit); u->name; u++)
        if (value % u->factor == 0) {
            (void)snprintf(out, TC_VALUE_TEXT_SIZE, "%lld%s", (long long)(value / u->factor),
                           u->name);
            return;
        }
}
