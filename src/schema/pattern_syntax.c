/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Translates ECMA-262 to PCRE2 syntax. It writes only constructs that it recognises, and every
 * character as its number, so that no other PCRE2 syntax can pass through. */
#include <stdio.h>
#include <string.h>

#include "base/strv.h"
#include "schema/pattern.h"
#include "text/utf8.h"

enum { REPEAT_MAX = 65535, LAST = 0x10ffff, FIXED_MAX = 512 };

#define SPACES                                                                                    \
    "\\x{9}-\\x{d}\\x{20}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}" \
    "\\x{3000}\\x{feff}"
#define NO_SPACES                                                                               \
    "\\x{0}-\\x{8}\\x{e}-\\x{1f}\\x{21}-\\x{9f}\\x{a1}-\\x{167f}\\x{1681}-\\x{1fff}\\x{200b}-"  \
    "\\x{2027}\\x{202a}-\\x{202e}\\x{2030}-\\x{205e}\\x{2060}-\\x{2fff}\\x{3001}-\\x{fefe}\\x{" \
    "ff00}"                                                                                     \
    "-\\x{10ffff}"

/* Character class escapes, as members of a PCRE2 class. */
static const struct {
    char letter;
    const char *members;
} sets[] = {{'d', "0-9"},
            {'D', "\\x{0}-\\x{2f}\\x{3a}-\\x{10ffff}"},
            {'w', "0-9A-Z_a-z"},
            {'W', "\\x{0}-\\x{2f}\\x{3a}-\\x{40}\\x{5b}-\\x{5e}\\x{60}\\x{7b}-\\x{10ffff}"},
            {'s', SPACES},
            {'S', NO_SPACES}};

struct reader {
    const char *at;
    struct tc_buf *out;
    struct tc_complaint *c;
    unsigned depth;
    uint64_t ahead;  /* a bit per open group, the innermost is bit 0: is it a lookahead? */
    unsigned fixed;  /* sum of the minimum counts of all {n,m}: text that one step may read */
    bool looks;      /* the pattern contains a lookahead */
    bool repeatable; /* a quantifier may follow */
};

static bool bad(struct reader *r, const char *hint, const char *what)
{
    tc_complain(r->c, hint, "the pattern contains %s, which is not supported", what);
    return false;
}

static bool bad_at(struct reader *r, const char *hint, size_t n)
{
    char what[24] = "";
    size_t len = strnlen(r->at, n);
    while (len && tc_utf8_inside(r->at[len]))
        len++;
    (void)snprintf(what, sizeof(what), "\"%.*s\"", (int)len, r->at);
    return bad(r, hint, what);
}

static void put_point(struct reader *r, uint32_t point)
{
    tc_buf_addf(r->out, "\\x{%x}", point);
}

/* Consumes one character of valid UTF-8. */
static uint32_t take_point(struct reader *r)
{
    uint32_t point;
    size_t length = tc_utf8_decode(r->at, strnlen(r->at, 4), &point);
    r->at += length ? length : 1;
    return point;
}

static bool take_hex(struct reader *r, size_t digits, uint32_t *ret)
{
    static const char known[] = "0123456789abcdefABCDEF";
    uint32_t value = 0;
    for (size_t i = 0; i < digits; i++) {
        const char *place = r->at[i] ? strchr(known, r->at[i]) : NULL;
        if (!place)
            return false;
        size_t digit = (size_t)(place - known);
        value = value << 4 | (uint32_t)(digit < 16 ? digit : digit - 6);
    }
    r->at += digits;
    *ret = value;
    return true;
}

/* Consumes what follows \u: four digits, a surrogate pair, or {...}. */
static bool take_unicode(struct reader *r, uint32_t *ret)
{
    uint32_t low = 0;
    if (*r->at == '{') {
        size_t digits = strspn(r->at + 1, "0123456789abcdefABCDEF");
        if (!digits || digits > 6 || r->at[1 + digits] != '}')
            return false;
        r->at++;
        (void)take_hex(r, digits, ret);
        r->at++;
    } else if (!take_hex(r, 4, ret)) {
        return false;
    }
    if (*ret >= 0xd800 && *ret <= 0xdbff && r->at[0] == '\\' && r->at[1] == 'u') {
        r->at += 2;
        if (!take_hex(r, 4, &low) || low < 0xdc00 || low > 0xdfff)
            return false;
        *ret = 0x10000 + ((*ret - 0xd800) << 10) + (low - 0xdc00);
    }
    return *ret <= LAST && (*ret < 0xd800 || *ret > 0xdfff);
}

/* Consumes an escape of one character, after its backslash. */
static bool take_escape(struct reader *r, bool in_set, uint32_t *ret)
{
    static const struct {
        char letter;
        uint32_t point;
    } letters[] = {{'t', 9}, {'n', 10}, {'v', 11}, {'f', 12}, {'r', 13}};
    const char *start = r->at;
    char letter = *r->at ? *r->at++ : '\0';
    for (size_t i = 0; i < TC_COUNT(letters); i++)
        if (letters[i].letter == letter) {
            *ret = letters[i].point;
            return true;
        }
    *ret = (unsigned char)letter;
    if (letter && (strchr("^$\\.*+?()[]{}|/", letter) || (in_set && letter == '-')))
        return true;
    if (in_set && letter == 'b') {
        *ret = 8;
        return true;
    }
    if ((letter == 'x' && take_hex(r, 2, ret)) || (letter == 'u' && take_unicode(r, ret)))
        return true;
    r->at = start - 1;
    return bad_at(r,
                  "escapes are \\d \\w \\s \\D \\W \\S \\b \\B, \\t \\n \\v \\f \\r, \\xHH, "
                  "\\uHHHH and those of ^$\\.*+?()[]{}|/",
                  2);
}

static const char *set_of(const char *at)
{
    for (size_t i = 0; at[0] == '\\' && i < TC_COUNT(sets); i++)
        if (sets[i].letter == at[1])
            return sets[i].members;
    return NULL;
}

static bool take_member(struct reader *r, uint32_t *ret)
{
    if (*r->at != '\\') {
        *ret = take_point(r);
        return true;
    }
    r->at++;
    return take_escape(r, true, ret);
}

/* Translates a member of a character class, or a range. */
static bool read_member(struct reader *r)
{
    uint32_t low = 0, high = 0;
    const char *members = set_of(r->at);
    if (r->at[0] == '[' && r->at[1] && strchr(":.=", r->at[1]))
        return bad_at(r, "write the characters themselves", 2);
    if (members) {
        tc_buf_adds(r->out, members);
        r->at += 2;
        if (r->at[0] == '-' && r->at[1] != ']')
            return bad_at(r, "let a range begin and end with a character, or write \\-", 2);
        return true;
    }
    if (!take_member(r, &low))
        return false;
    high = low;
    if (r->at[0] == '-' && r->at[1] && r->at[1] != ']') {
        r->at++;
        if (set_of(r->at))
            return bad_at(r, "let a range begin and end with a character, or write \\-", 2);
        if (!take_member(r, &high))
            return false;
        if (high < low)
            return bad(r, "write the lower one first", "a range that ends before it begins");
    }
    put_point(r, low);
    if (high != low) {
        tc_buf_addc(r->out, '-');
        put_point(r, high);
    }
    return true;
}

static bool read_set(struct reader *r)
{
    bool inverse = r->at[1] == '^';
    r->at += inverse ? 2 : 1;
    if (*r->at == ']')
        return bad(r, "name the characters", inverse ? "\"[^]\"" : "\"[]\"");
    tc_buf_adds(r->out, inverse ? "[^" : "[");
    while (*r->at && *r->at != ']')
        if (!read_member(r))
            return false;
    if (!*r->at)
        return bad(r, "end it with ], or write \\[", "a [ that does not end");
    r->at++;
    tc_buf_addc(r->out, ']');
    r->repeatable = true;
    return true;
}

static bool take_number(struct reader *r, unsigned *ret)
{
    size_t digits = strspn(r->at, "0123456789");
    if (!digits || digits > 5)
        return false;
    for (*ret = 0; digits; digits--)
        *ret = *ret * 10 + (unsigned)(*r->at++ - '0');
    return *ret <= REPEAT_MAX;
}

static bool take_counts(struct reader *r)
{
    unsigned least = 0, most = 0;
    r->at++;
    if (!take_number(r, &least))
        return false;
    r->fixed += least;
    tc_buf_addf(r->out, "{%u", least);
    if (*r->at == ',') {
        r->at++;
        tc_buf_addc(r->out, ',');
        if (*r->at != '}') {
            if (!take_number(r, &most) || most < least)
                return false;
            tc_buf_addf(r->out, "%u", most);
        }
    }
    if (*r->at != '}')
        return false;
    r->at++;
    tc_buf_addc(r->out, '}');
    return true;
}

static bool read_quantifier(struct reader *r)
{
    const char *start = r->at;
    if (!r->repeatable)
        return bad_at(r, "let it follow a character, a set or a group, or write it with \\", 1);
    if (*r->at == '{') {
        if (!take_counts(r)) {
            r->at = start;
            return bad_at(r, "write {2}, {2,} or {2,5}, at most 65535, or \\{", 4);
        }
    } else {
        tc_buf_addc(r->out, *r->at++);
    }
    if (*r->at == '?')
        tc_buf_addc(r->out, *r->at++);
    r->repeatable = false;
    return true;
}

static bool read_group(struct reader *r)
{
    static const char *const openings[] = {"(?:", "(?=", "(?!"};
    bool ahead = tc_startswith(r->at, "(?=") || tc_startswith(r->at, "(?!");
    size_t i = 0;
    if (r->at[1] == '*')
        return bad_at(r, "write \\* for the character", 2);
    while (r->at[1] == '?' && i < TC_COUNT(openings) && !tc_startswith(r->at, openings[i]))
        i++;
    if (i == TC_COUNT(openings))
        return bad_at(r, "groups are (...), (?:...), (?=...) and (?!...)", 3);
    tc_buf_adds(r->out, openings[i]); /* without capturing: backreferences are not supported */
    r->at += r->at[1] == '?' ? 3 : 1;
    if (r->depth == 32)
        return bad(r, "write a plainer one", "groups nested deeper than 32");
    r->ahead = r->ahead << 1 | ahead;
    r->looks |= ahead;
    r->depth++;
    r->repeatable = false;
    return true;
}

static bool end_group(struct reader *r)
{
    if (!r->depth)
        return bad(r, "write \\) for the character", "a ) without (");
    r->repeatable = !(r->ahead & 1);
    r->ahead >>= 1;
    r->depth--;
    r->at++;
    tc_buf_addc(r->out, ')');
    return true;
}

static bool read_backslash(struct reader *r)
{
    uint32_t point = 0;
    const char *members = set_of(r->at);
    if (members) {
        tc_buf_addf(r->out, "[%s]", members);
        r->at += 2;
    } else if (r->at[1] == 'b' || r->at[1] == 'B') {
        tc_buf_addf(r->out, "\\%c", r->at[1]);
        r->at += 2;
        r->repeatable = false;
        return true;
    } else {
        r->at++;
        if (!take_escape(r, false, &point))
            return false;
        put_point(r, point);
    }
    r->repeatable = true;
    return true;
}

/* Translates an anchor, an alternation or a dot. */
static bool read_mark(struct reader *r)
{
    static const struct {
        char mark;
        const char *words;
        bool repeatable;
    } marks[] = {{'^', "\\A", false},
                 {'$', "\\z", false},
                 {'|', "|", false},
                 {'.', "[^\\x{a}\\x{d}\\x{2028}\\x{2029}]", true}};
    for (size_t i = 0; i < TC_COUNT(marks); i++)
        if (marks[i].mark == *r->at) {
            tc_buf_adds(r->out, marks[i].words);
            r->repeatable = marks[i].repeatable;
        }
    r->at++;
    return true;
}

static bool read_piece(struct reader *r)
{
    switch (*r->at) {
    case '\\':
        return read_backslash(r);
    case '[':
        return read_set(r);
    case '(':
        return read_group(r);
    case ')':
        return end_group(r);
    case '*':
    case '+':
    case '?':
    case '{':
        return read_quantifier(r);
    case ']':
    case '}':
        return bad_at(r, "write it with \\ for the character", 1);
    case '^':
    case '$':
    case '|':
    case '.':
        return read_mark(r);
    default:
        put_point(r, take_point(r));
        r->repeatable = true;
        return true;
    }
}

bool tc_pattern_translate(const char *text, struct tc_buf *out, bool *ret_scans,
                          struct tc_complaint *c)
{
    struct reader r = {.at = text, .out = out, .c = c};
    size_t len = strlen(text);
    if (len > TC_PATTERN_BYTES_MAX) {
        tc_complain(c, "write a shorter one", "the pattern has %zu bytes, the maximum is %d", len,
                    TC_PATTERN_BYTES_MAX);
        return false;
    }
    if (!tc_utf8_valid(text, len))
        return bad(&r, "save the policy as UTF-8", "invalid UTF-8");
    while (*r.at)
        if (!read_piece(&r))
            return false;
    if (r.depth)
        return bad(&r, "end it with ), or write \\(", "a ( that does not end");
    *ret_scans = r.looks || r.fixed > FIXED_MAX;
    return true;
}
