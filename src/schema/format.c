/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The values of `format`. Where a standard leaves a choice, the stricter reading is used. */
#include "schema/schema.h"

#include <arpa/inet.h>
#include <string.h>

#include "schema/pattern.h"

#define DIGITS "0123456789"
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define HEX DIGITS "abcdefABCDEF"

const char *const tc_values_format[] = {"date",         "time",  "date-time", "duration", "email",
                                        "hostname",     "ipv4",  "ipv6",      "uri",      "uuid",
                                        "json-pointer", "regex", NULL};

/* ---- dates and times ---- */

/* Consumes `digits` digits; false: fewer digits, or the number is not in [least, most]. */
static bool take_number(const char **at, size_t digits, int least, int most, int *ret)
{
    int value = 0;
    if (strspn(*at, DIGITS) < digits)
        return false;
    for (; digits; digits--)
        value = value * 10 + *(*at)++ - '0';
    *ret = value;
    return value >= least && value <= most;
}

static bool take_char(const char **at, char c)
{
    bool there = **at == c && c;
    *at += there;
    return there;
}

static bool take_date(const char **at)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int year = 0, month = 0, day = 0;
    if (!take_number(at, 4, 1, 9999, &year) || !take_char(at, '-') ||
        !take_number(at, 2, 1, 12, &month) || !take_char(at, '-') ||
        !take_number(at, 2, 1, 31, &day))
        return false;
    bool leap = year % 4 == 0 && (year % 100 || year % 400 == 0);
    return day <= days[month - 1] + (month == 2 && leap);
}

/* Consumes a time with its UTC offset. Leap seconds are rejected: they cannot be validated in
 * advance. */
static bool take_time(const char **at)
{
    int hour = 0, minute = 0, second = 0;
    if (!take_number(at, 2, 0, 23, &hour) || !take_char(at, ':') ||
        !take_number(at, 2, 0, 59, &minute) || !take_char(at, ':') ||
        !take_number(at, 2, 0, 59, &second))
        return false;
    if (take_char(at, '.')) {
        size_t digits = strspn(*at, DIGITS);
        if (!digits)
            return false;
        *at += digits;
    }
    if (take_char(at, 'Z'))
        return true;
    return (take_char(at, '+') || take_char(at, '-')) && take_number(at, 2, 0, 23, &hour) &&
           take_char(at, ':') && take_number(at, 2, 0, 59, &minute);
}

static bool is_date(const char *text)
{
    return take_date(&text) && !*text;
}

static bool is_time(const char *text)
{
    return take_time(&text) && !*text;
}

static bool is_date_time(const char *text)
{
    return take_date(&text) && take_char(&text, 'T') && take_time(&text) && !*text;
}

/* Consumes numbers with units: consecutive `units`, from any one on. False: none. */
static bool take_units(const char **at, const char *units)
{
    const char *unit = NULL;
    for (size_t digits; (digits = strspn(*at, DIGITS)) != 0; unit++, *at += digits + 1) {
        if (!unit)
            unit = (*at)[digits] ? strchr(units, (*at)[digits]) : NULL;
        if (!unit || !*unit || *unit != (*at)[digits])
            return false;
    }
    return unit;
}

static bool is_duration(const char *text)
{
    if (!take_char(&text, 'P'))
        return false;
    if (*text != 'T') {
        const char *weeks = text;
        if (take_units(&weeks, "W") && !*weeks)
            return true;
        if (!take_units(&text, "YMD"))
            return false;
    }
    return !*text || (take_char(&text, 'T') && take_units(&text, "HMS") && !*text);
}

/* ---- hosts, addresses and URIs ---- */

static bool is_hostname(const char *text)
{
    if (!*text || strlen(text) > 253)
        return false;
    for (;;) {
        size_t len = strspn(text, LETTERS DIGITS "-");
        if (!len || len > 63 || text[0] == '-' || text[len - 1] == '-')
            return false;
        text += len;
        if (!*text)
            return true;
        if (*text++ != '.')
            return false;
    }
}

static bool is_email(const char *text)
{
    const char *at = strchr(text, '@');
    if (!at || at == text || at - text > 64 || text[0] == '.' || at[-1] == '.')
        return false;
    for (const char *c = text; c < at; c++)
        if (!strchr(LETTERS DIGITS "!#$%&'*+/=?^_`{|}~-.", *c) || (c[0] == '.' && c[1] == '.'))
            return false;
    return is_hostname(at + 1);
}

static bool is_ipv4(const char *text)
{
    struct in_addr address;
    return inet_pton(AF_INET, text, &address) == 1;
}

static bool is_ipv6(const char *text)
{
    struct in6_addr address;
    return inet_pton(AF_INET6, text, &address) == 1;
}

/* Does the text consist of characters of `known` and %XX? */
static bool has_only(const char *text, size_t len, const char *known)
{
    for (const char *c = text; c < text + len; c++) {
        if (*c == '%' && (c + 2 >= text + len || strspn(c + 1, HEX) < 2))
            return false;
        if (*c != '%' && !strchr(known, *c))
            return false;
    }
    return true;
}

#define UNRESERVED LETTERS DIGITS "-._~"
#define DELIMITERS "!$&'()*+,;="

/* [user@]host[:port] */
static bool is_authority(const char *text, size_t len)
{
    const char *end = text + len, *at = memrchr(text, '@', len);
    if (at && !has_only(text, (size_t)(at - text), UNRESERVED DELIMITERS ":"))
        return false;
    const char *host = at ? at + 1 : text, *rest = host;
    if (host < end && *host == '[') {
        char address[INET6_ADDRSTRLEN] = "";
        const char *close = memchr(host, ']', (size_t)(end - host));
        size_t n = close ? (size_t)(close - host - 1) : sizeof(address);
        if (n >= sizeof(address))
            return false;
        memcpy(address, host + 1, n);
        if (!is_ipv6(address))
            return false;
        rest = close + 1;
    } else {
        while (rest < end && *rest != ':')
            rest++;
        if (!has_only(host, (size_t)(rest - host), UNRESERVED DELIMITERS))
            return false;
    }
    if (rest == end)
        return true;
    return *rest == ':' && rest + 1 + strspn(rest + 1, DIGITS) >= end;
}

static bool is_uri(const char *text)
{
    size_t scheme = strspn(text, LETTERS DIGITS "+-.");
    if (!scheme || !strchr(LETTERS, text[0]) || text[scheme] != ':')
        return false;
    text += scheme + 1;
    if (text[0] == '/' && text[1] == '/') {
        size_t len = strcspn(text + 2, "/?#");
        if (!is_authority(text + 2, len))
            return false;
        text += 2 + len;
    }
    size_t before = strcspn(text, "#");
    const char *fragment = text[before] ? text + before + 1 : "";
    return has_only(text, before, UNRESERVED DELIMITERS ":@/?") &&
           has_only(fragment, strlen(fragment), UNRESERVED DELIMITERS ":@/?");
}

/* ---- other formats ---- */

static bool is_uuid(const char *text)
{
    static const size_t parts[] = {8, 4, 4, 4, 12};
    for (size_t i = 0; i < TC_COUNT(parts); i++) {
        if ((i && *text++ != '-') || strspn(text, HEX) != parts[i])
            return false;
        text += parts[i];
    }
    return !*text;
}

static bool is_json_pointer(const char *text)
{
    if (*text && *text != '/')
        return false;
    for (; *text; text++)
        if (text[0] == '~' && text[1] != '0' && text[1] != '1')
            return false;
    return true;
}

static bool is_regex(const char *text)
{
    _autobuf_ struct tc_buf words = TC_BUF_INIT;
    struct tc_complaint c;
    bool scans = false;
    return tc_pattern_translate(text, &words, &scans, &c);
}

static const struct {
    const char *format, *example;
    bool (*fits)(const char *text);
} formats[] = {{"date", "2026-01-31", is_date},
               {"time", "09:30:00Z", is_time},
               {"date-time", "2026-01-31T09:30:00Z", is_date_time},
               {"duration", "PT1H30M", is_duration},
               {"email", "me@example.com", is_email},
               {"hostname", "www.example.com", is_hostname},
               {"ipv4", "192.0.2.1", is_ipv4},
               {"ipv6", "2001:db8::1", is_ipv6},
               {"uri", "https://example.com/a", is_uri},
               {"uuid", "123e4567-e89b-12d3-a456-426614174000", is_uuid},
               {"json-pointer", "/a/0", is_json_pointer},
               {"regex", "^[a-z]+$", is_regex}};

bool tc_format_fits(const char *format, const char *text)
{
    for (size_t i = 0; i < TC_COUNT(formats); i++)
        if (strcmp(formats[i].format, format) == 0)
            return formats[i].fits(text);
    return false;
}

const char *tc_format_example(const char *format)
{
    for (size_t i = 0; i < TC_COUNT(formats); i++)
        if (strcmp(formats[i].format, format) == 0)
            return formats[i].example;
    return NULL;
}
