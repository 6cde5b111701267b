/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Finds a position in TOML text that a reader has already accepted. This scanner recognises only
 * statements, strings, comments and brackets; the caller parses the edited text again. */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "policy/edit/amend.h"

enum { KEY_MAX = 256 };

struct value {
    const char *at, *end; /* NULL: no value */
};

/* The list "filesystem.readable" has the outer key "filesystem" and the inner one "readable";
 * "network" has no inner key. */
struct name {
    const char *full;
    int outer; /* length */
};

/* Positions of the table and its settings in the text. */
struct place {
    const char *table;        /* the line after its header */
    const char *sub;          /* the line after the header of [TABLE.OUTER] */
    struct value whole, list; /* of the outer key, and of the full one */
    const char *beside;       /* the line after another OUTER.X */
};

static struct name name_of(const char *list)
{
    return (struct name){list, (int)strcspn(list, ".")};
}

static const char *inner(struct name name)
{
    return name.full[name.outer] ? name.full + name.outer + 1 : name.full + name.outer;
}

/* ---- lexing ---- */

static const char *skip_string(const char *p)
{
    char quote = *p;
    bool raw = quote == '\'', three = p[1] == quote && p[2] == quote;
    for (p += three ? 3 : 1; *p; p++) {
        if (*p == '\\' && !raw && p[1])
            p++;
        else if (*p == quote && (!three || (p[1] == quote && p[2] == quote)))
            return p + (three ? 3 : 1);
    }
    return p;
}

static const char *skip_line(const char *p)
{
    p = strchrnul(p, '\n');
    return *p ? p + 1 : p;
}

/* Skips blanks, line breaks and comments. */
static const char *skip_space(const char *p)
{
    for (;; p = skip_line(p)) {
        p += strspn(p, " \t\r\n");
        if (*p != '#')
            return p;
    }
}

/* Skips a value; `ends` are the characters that end it outside of brackets. */
static const char *skip_value(const char *p, const char *ends)
{
    const char *end = p;
    for (int depth = 0; *p && (depth || !strchr(ends, *p));) {
        if (*p == '#') {
            p = skip_line(p);
            continue;
        }
        if (*p == '"' || *p == '\'') {
            end = p = skip_string(p);
            continue;
        }
        depth += (*p == '[' || *p == '{') - (*p == ']' || *p == '}');
        p++;
        if (!strchr(" \t\r\n", p[-1]))
            end = p;
    }
    return end;
}

/* Reads a dotted key or a header's name without blanks and quotes. Returns its end. */
static const char *read_key(const char *p, const char *ends, char *to, size_t size)
{
    size_t n = 0;
    for (; *p && !strchr(ends, *p); p++)
        if (!strchr(" \t\"'", *p) && n + 1 < size)
            to[n++] = *p;
    to[n] = '\0';
    return p;
}

/* ---- finding the position ---- */

enum where { ELSEWHERE, IN_TABLE, IN_SUB };

static const char *read_header(const char *p, const char *table, struct name list,
                               struct place *place, enum where *ret)
{
    char name[KEY_MAX], sub[KEY_MAX];
    (void)snprintf(sub, sizeof(sub), "%s.%.*s", table, list.outer, list.full);
    const char *end = skip_line(read_key(p + 1, "]\n", name, sizeof(name)));
    *ret = strcmp(name, table) == 0 ? IN_TABLE : strcmp(name, sub) == 0 ? IN_SUB : ELSEWHERE;
    if (*ret == IN_TABLE)
        place->table = end;
    if (*ret == IN_SUB)
        place->sub = end;
    return end;
}

static const char *read_statement(const char *p, struct name list, enum where where,
                                  struct place *place)
{
    char key[KEY_MAX];
    const char *full = where == IN_SUB ? inner(list) : list.full;
    p = read_key(p, "=\n", key, sizeof(key));
    const char *value = *p == '=' ? p + 1 + strspn(p + 1, " \t") : p;
    struct value found = {value, skip_value(value, "\n")};
    const char *next = skip_line(found.end);
    if (where == ELSEWHERE)
        return next;
    if (strcmp(key, full) == 0)
        place->list = found;
    else if (where != IN_TABLE || strncmp(key, list.full, (size_t)list.outer) != 0)
        return next;
    else if (!key[list.outer])
        place->whole = found;
    else if (key[list.outer] == '.')
        place->beside = next;
    return next;
}

static void find_list(const char *text, const char *table, struct name list, struct place *place)
{
    enum where where = ELSEWHERE;
    for (const char *p = skip_space(text); *p; p = skip_space(p))
        p = *p == '[' ? read_header(p, table, list, place, &where)
                      : read_statement(p, list, where, place);
}

/* The list in an inline table; `at` is NULL if the table has no list of this name. */
static struct value member(struct value table, const char *list)
{
    char key[KEY_MAX];
    for (const char *p = skip_space(table.at + 1); *p && *p != '}'; p = skip_space(p)) {
        p = read_key(p, "=}\n", key, sizeof(key));
        const char *value = *p == '=' ? p + 1 + strspn(p + 1, " \t") : p;
        struct value found = {value, skip_value(value, ",}")};
        if (strcmp(key, list) == 0)
            return found;
        p = skip_space(found.end);
        p += *p == ',';
    }
    return (struct value){NULL, NULL};
}

/* ---- the edit ---- */

static char *put_words(const char *text, const char *at, const char *until,
                       const struct tc_buf *words)
{
    _autobuf_ struct tc_buf out = TC_BUF_INIT;
    tc_buf_add(&out, text, (size_t)(at - text));
    tc_buf_adds(&out, words->data ? words->data : "");
    tc_buf_adds(&out, until);
    return words->failed ? NULL : tc_buf_steal(&out);
}

/* The end of the last element, and its beginning; NULL for an empty array. */
static const char *last_element(struct value array, const char **ret_begin)
{
    const char *end = NULL;
    for (const char *p = skip_space(array.at + 1); *p && *p != ']'; p = skip_space(p)) {
        *ret_begin = p;
        end = skip_value(p, ",]");
        p = skip_space(end);
        p += *p == ',';
    }
    return end;
}

/* Adds the element after the last one, on a new line if the last one starts its line. */
static char *add_element(const char *text, struct value array, const char *element)
{
    _autobuf_ struct tc_buf words = TC_BUF_INIT;
    const char *begin = NULL, *end = last_element(array, &begin);
    if (!end) {
        tc_buf_adds(&words, element);
        return put_words(text, array.at + 1, array.at + 1, &words);
    }
    const char *line = begin;
    while (line > array.at && line[-1] != '\n')
        line--;
    bool own_line = line > array.at && strspn(line, " \t") == (size_t)(begin - line);
    tc_buf_adds(&words, own_line ? ",\n" : ", ");
    if (own_line)
        tc_buf_add(&words, line, (size_t)(begin - line));
    tc_buf_adds(&words, element);
    return put_words(text, end, end, &words);
}

static char *add_member(const char *text, struct value table, const char *list, const char *element)
{
    _autobuf_ struct tc_buf words = TC_BUF_INIT;
    bool empty = *skip_space(table.at + 1) == '}';
    tc_buf_addf(&words, " %s = [%s]%s", list, element, empty ? " " : ",");
    return put_words(text, table.at + 1, table.at + 1, &words);
}

/* Adds a separate statement on a new line. */
static char *add_statement(const char *text, const char *at, const char *list, const char *element)
{
    _autobuf_ struct tc_buf words = TC_BUF_INIT;
    bool cut = at > text && at[-1] != '\n';
    tc_buf_addf(&words, "%s%s = [%s]\n", cut ? "\n" : "", list, element);
    return put_words(text, at, at, &words);
}

static char *replace_none(const char *text, struct value none, const char *list,
                          const char *element)
{
    _autobuf_ struct tc_buf words = TC_BUF_INIT;
    tc_buf_addf(&words, *list ? "{ %s = [%s] }" : "%s[%s]", list, element);
    return put_words(text, none.at, none.end, &words);
}

char *tc_toml_add(const char *text, const char *table, const char *list, const char *element,
                  const char **ret_why)
{
    struct place place = {0};
    const struct name name = name_of(list);
    const char *last = inner(name);
    *ret_why = NULL;
    find_list(text, table, name, &place);
    if (place.list.at && *place.list.at == '[')
        return add_element(text, place.list, element);
    if (place.list.at)
        return replace_none(text, place.list, "", element);
    if (place.whole.at && *place.whole.at == '{') {
        struct value inside = member(place.whole, last);
        return inside.at ? add_element(text, inside, element)
                         : add_member(text, place.whole, last, element);
    }
    if (place.whole.at)
        return replace_none(text, place.whole, last, element);
    if (place.sub && *last)
        return add_statement(text, place.sub, last, element);
    if (place.beside || place.table)
        return add_statement(text, place.beside ? place.beside : place.table, list, element);
    *ret_why = "it has no separate table in the file";
    return NULL;
}
