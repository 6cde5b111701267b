/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * JSON as in RFC 8259: numbers as written, strings in UTF-8. */
#include "tool.h"

enum { DEPTH = 200 };

struct reader {
    const char *at, *end;
    const char *why;
    int depth;
};

static bool wrong(struct reader *r, const char *why)
{
    if (!r->why)
        r->why = why;
    return false;
}

static void skip_blanks(struct reader *r)
{
    while (r->at < r->end && strchr(" \t\r\n", *r->at) && *r->at)
        r->at++;
}

static bool next_is(struct reader *r, char c)
{
    skip_blanks(r);
    if (r->at == r->end || *r->at != c)
        return false;
    r->at++;
    return true;
}

static int digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static bool read_unit(struct reader *r, unsigned *ret)
{
    *ret = 0;
    for (int i = 0; i < 4; i++, r->at++) {
        int value = r->at < r->end ? digit(*r->at) : -1;
        if (value < 0)
            return wrong(r, "\\u needs four hexadecimal digits");
        *ret = *ret << 4 | (unsigned)value;
    }
    return true;
}

static void append_rune(struct text *to, unsigned rune)
{
    unsigned char bytes[4];
    size_t n = rune < 0x80 ? 1 : rune < 0x800 ? 2 : rune < 0x10000 ? 3 : 4;
    static const unsigned char heads[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = n; i-- > 1; rune >>= 6)
        bytes[i] = (unsigned char)(0x80 | (rune & 0x3f));
    bytes[0] = (unsigned char)(heads[n] | rune);
    append(to, bytes, n);
}

/* An unpaired surrogate becomes U+FFFD. */
static bool read_rune(struct reader *r, struct text *to)
{
    unsigned rune, low;
    if (!read_unit(r, &rune))
        return false;
    if (rune >= 0xd800 && rune < 0xdc00 && r->end - r->at >= 6 && r->at[0] == '\\' &&
        r->at[1] == 'u') {
        const char *back = r->at;
        r->at += 2;
        if (!read_unit(r, &low))
            return false;
        if (low >= 0xdc00 && low < 0xe000)
            rune = 0x10000 + ((rune - 0xd800) << 10) + (low - 0xdc00);
        else
            r->at = back;
    }
    append_rune(to, rune >= 0xd800 && rune < 0xe000 ? 0xfffd : rune);
    return true;
}

static bool read_escape(struct reader *r, struct text *to)
{
    static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";
    char c = r->at < r->end ? *r->at++ : '\0';
    const char *which = c ? strchr(from, c) : NULL;
    if (c == 'u')
        return read_rune(r, to);
    if (!which)
        return wrong(r, "unknown escape in a string");
    append(to, &into[which - from], 1);
    return true;
}

/* Reads a string after its opening quote. */
static bool read_string(struct reader *r, struct text *to)
{
    append(to, "", 0);
    while (r->at < r->end && *r->at != '"') {
        const char *from = r->at;
        while (r->at < r->end && *r->at != '"' && *r->at != '\\' && (unsigned char)*r->at >= ' ')
            r->at++;
        append(to, from, (size_t)(r->at - from));
        if (r->at < r->end && (unsigned char)*r->at < ' ')
            return wrong(r, "a control character in a string");
        if (r->at < r->end && *r->at == '\\') {
            r->at++;
            if (!read_escape(r, to))
                return false;
        }
    }
    return r->at < r->end ? (r->at++, true) : wrong(r, "a string does not end");
}

static size_t count_digits(const char *at, const char *end)
{
    size_t n = 0;
    while (at + n < end && at[n] >= '0' && at[n] <= '9')
        n++;
    return n;
}

static bool read_number(struct reader *r, struct json *ret)
{
    const char *from = r->at;
    r->at += *r->at == '-';
    size_t whole = count_digits(r->at, r->end);
    if (!whole || (whole > 1 && *r->at == '0'))
        return wrong(r, "this is not a value");
    r->at += whole;
    if (r->at < r->end && *r->at == '.') {
        size_t part = count_digits(r->at + 1, r->end);
        if (!part)
            return wrong(r, "a number has no digits after its point");
        r->at += part + 1;
    }
    if (r->at < r->end && (*r->at == 'e' || *r->at == 'E')) {
        const char *at = r->at + 1;
        at += at < r->end && (*at == '+' || *at == '-');
        size_t part = count_digits(at, r->end);
        if (!part)
            return wrong(r, "a number has an empty exponent");
        r->at = at + part;
    }
    ret->kind = JSON_NUMBER;
    append(&ret->text, from, (size_t)(r->at - from));
    return true;
}

static bool read_word(struct reader *r, struct json *ret)
{
    static const struct {
        const char *word;
        enum kind kind;
    } words[] = {{"null", JSON_NULL}, {"false", JSON_FALSE}, {"true", JSON_TRUE}};
    for (size_t i = 0; i < COUNT(words); i++) {
        size_t n = strlen(words[i].word);
        if ((size_t)(r->end - r->at) >= n && memcmp(r->at, words[i].word, n) == 0) {
            r->at += n;
            ret->kind = words[i].kind;
            return true;
        }
    }
    return read_number(r, ret);
}

static bool read_value(struct reader *r, struct json *ret);

static struct json *add(struct json *to, size_t *room)
{
    if (to->count == *room) {
        *room = *room ? 2 * *room : 4;
        to->items = take(to->items, *room * sizeof(*to->items));
    }
    to->items[to->count] = (struct json){0};
    return &to->items[to->count++];
}

/* Reads an array or object after its opening bracket. */
static bool read_list(struct reader *r, struct json *ret)
{
    bool object = ret->kind == JSON_OBJECT;
    char end = object ? '}' : ']';
    size_t room = 0;
    if (next_is(r, end))
        return true;
    do {
        struct json *item = add(ret, &room);
        if (object && (!next_is(r, '"') || !read_string(r, &item->name) || !next_is(r, ':')))
            return wrong(r, "a member needs a name in quotes and a colon");
        if (!read_value(r, item))
            return false;
    } while (next_is(r, ','));
    return next_is(r, end) ||
           wrong(r, object ? "a comma or } is missing" : "a comma or ] is missing");
}

static bool read_value(struct reader *r, struct json *ret)
{
    skip_blanks(r);
    if (r->at == r->end)
        return wrong(r, "a value is missing");
    if (*r->at == '"') {
        r->at++;
        ret->kind = JSON_STRING;
        return read_string(r, &ret->text);
    }
    if (*r->at != '{' && *r->at != '[')
        return read_word(r, ret);
    ret->kind = *r->at++ == '{' ? JSON_OBJECT : JSON_ARRAY;
    if (++r->depth > DEPTH)
        return wrong(r, "it is nested too deeply");
    bool fine = read_list(r, ret);
    r->depth--;
    return fine;
}

struct json *json_read(const struct text *text, const char **ret_why)
{
    static char where[160];
    struct reader r = {.at = text->at, .end = text->at + text->len};
    struct json *value = take(NULL, sizeof(*value));
    *value = (struct json){0};
    if (read_value(&r, value)) {
        skip_blanks(&r);
        if (r.at == r.end)
            return value;
        (void)wrong(&r, "there is text after the value");
    }
    size_t line = 1;
    for (const char *at = text->at; at < r.at; at++)
        line += *at == '\n';
    (void)snprintf(where, sizeof(where), "line %zu: %s", line, r.why);
    *ret_why = where;
    return NULL;
}

void json_string(struct text *to, const char *bytes, size_t length)
{
    static const char plain[] = "\"\\\n\r\t\b\f", said[] = "\"\\nrtbf";
    append(to, "\"", 1);
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)bytes[i];
        const char *which = c ? strchr(plain, c) : NULL;
        char escaped[8] = {'\\', which ? said[which - plain] : 'u'};
        if (!which && c < ' ')
            (void)snprintf(escaped, sizeof(escaped), "\\u%04x", c);
        if (which || c < ' ')
            append_text(to, escaped);
        else
            append(to, &bytes[i], 1);
    }
    append(to, "\"", 1);
}

static void new_line(struct text *to, int indent, int depth)
{
    if (!indent)
        return;
    append(to, "\n", 1);
    for (int i = 0; i < indent * depth; i++)
        append(to, " ", 1);
}

static void write_value(struct text *to, const struct json *value, int indent, int depth)
{
    static const char *const words[] = {"null", "false", "true"};
    if (value->kind <= JSON_TRUE)
        append_text(to, words[value->kind]);
    else if (value->kind == JSON_NUMBER)
        append(to, value->text.at, value->text.len);
    else if (value->kind == JSON_STRING)
        json_string(to, value->text.at, value->text.len);
    if (value->kind < JSON_ARRAY)
        return;
    bool object = value->kind == JSON_OBJECT;
    append(to, object ? "{" : "[", 1);
    for (size_t i = 0; i < value->count; i++) {
        append(to, ",", i > 0);
        new_line(to, indent, depth + 1);
        if (object) {
            json_string(to, value->items[i].name.at, value->items[i].name.len);
            append(to, ": ", indent ? 2 : 1);
        }
        write_value(to, &value->items[i], indent, depth + 1);
    }
    if (value->count)
        new_line(to, indent, depth);
    append(to, object ? "}" : "]", 1);
}

void json_write(struct text *to, const struct json *value, int indent)
{
    write_value(to, value, indent, 0);
}

/* The last member of that name counts. */
const struct json *json_member(const struct json *object, const char *name)
{
    for (size_t i = object->kind == JSON_OBJECT ? object->count : 0; i-- > 0;)
        if (strcmp(object->items[i].name.at, name) == 0)
            return &object->items[i];
    return NULL;
}
