/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Adds an element to YAML text that a reader has already accepted. The locations in the reader's
 * tree give the position; the surrounding text is unchanged. An edit is valid only if the edited
 * text parses to the same tree with the element added. */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/strv.h"
#include "policy/edit/amend.h"

enum { KEYS_MAX = 8 };

struct edit {
    tc_document_reader *reader;
    const char *text, *end;
    char *words;                /* the buffer that `keys` point into */
    const char *keys[KEYS_MAX]; /* from the root to the list, then NULL */
    const char *element;
};

static const char *line_at(const struct edit *e, uint32_t line)
{
    const char *at = e->text;
    for (uint32_t i = 1; at && i < line; i++) {
        at = memchr(at, '\n', (size_t)(e->end - at));
        at = at ? at + 1 : NULL;
    }
    return at;
}

static const char *place_at(const struct edit *e, struct tc_location place)
{
    const char *line = place.line ? line_at(e, place.line) : NULL;
    return line && place.column && place.column <= (size_t)(e->end - line) ? line + place.column - 1
                                                                           : NULL;
}

/* The bracket that closes the one at `at`, or NULL. */
static const char *closing(const char *at, const char *end)
{
    for (int depth = 0; at < end; at++) {
        if (*at == '\'')
            at = memchr(at + 1, '\'', (size_t)(end - at - 1));
        else if (*at == '#' && (at[-1] == ' ' || at[-1] == '\t'))
            at = memchr(at, '\n', (size_t)(end - at));
        for (bool quoted = at && *at == '"'; quoted && ++at < end && *at != '"';)
            at += *at == '\\';
        if (!at || at >= end)
            return NULL;
        depth += *at == '[' || *at == '{';
        depth -= *at == ']' || *at == '}';
        if (!depth)
            return at;
    }
    return NULL;
}

static uint32_t last_line(const struct tc_node *node)
{
    uint32_t line = node->at.line > node->key_at.line ? node->at.line : node->key_at.line;
    for (size_t i = 0; i < node->count; i++) {
        uint32_t inner = last_line(&node->items[i]);
        line = inner > line ? inner : line;
    }
    return line;
}

static size_t indent_of(const char *line)
{
    return strspn(line, " ");
}

/* Writes the other keys and the element: "filesystem: {readable: [x]}", "readable: [x]", "x". */
static void put_clause(struct tc_buf *out, const struct edit *e, size_t key)
{
    if (!e->keys[key]) {
        tc_buf_adds(out, e->element);
        return;
    }
    tc_buf_addf(out, "%s: %s", e->keys[key], e->keys[key + 1] ? "{" : "[");
    put_clause(out, e, key + 1);
    tc_buf_addc(out, e->keys[key + 1] ? '}' : ']');
}

/* The position of the inserted clause (at NULL: none found), and the text before and after it. */
struct spot {
    const char *at, *line, *before, *after;
    size_t indent;
};

static struct spot in_flow(const struct edit *e, const struct tc_node *node, const char *open)
{
    const char *at = *open == '[' ? closing(open, e->end) : open + 1;
    bool last = *open == '[';
    while (last && at && at > open + 1 && strchr(" \t\r\n", at[-1]))
        at--;
    return (struct spot){.at = at,
                         .line = "",
                         .before = node->count && last ? ", " : "",
                         .after = node->count && !last ? ", " : ""};
}

/* A new line below the last element. */
static struct spot in_list(const struct edit *e, const struct tc_node *node)
{
    const struct tc_node *last = node->count ? &node->items[node->count - 1] : NULL;
    const char *line = last ? line_at(e, last->at.line) : NULL;
    const char *below = last ? line_at(e, last_line(last) + 1) : NULL;
    if (!line || line[indent_of(line)] != '-')
        return (struct spot){0};
    return (struct spot){.at = below ? below : e->end,
                         .line = below ? "" : "\n",
                         .before = "- ",
                         .after = below ? "\n" : "",
                         .indent = indent_of(line)};
}

/* A new line directly below the table's key, so that comments stay next to their entries. */
static struct spot in_table(const struct edit *e, const struct tc_node *node)
{
    const char *at = node->key_at.line ? line_at(e, node->key_at.line + 1) : NULL;
    const char *line = node->count ? line_at(e, node->items[0].key_at.line) : NULL;
    if (!at || !line || indent_of(line) + 1 != node->items[0].key_at.column)
        return (struct spot){0};
    return (struct spot){
        .at = at, .line = "", .before = "", .after = "\n", .indent = indent_of(line)};
}

static bool write_edit(const struct edit *e, const struct tc_node *root, struct tc_buf *out)
{
    const struct tc_node *node = root, *inner;
    size_t key = 0;
    while (e->keys[key] && node->kind == TC_NODE_TABLE && (inner = tc_node_get(node, e->keys[key])))
        node = inner, key++;
    if (node->kind != (e->keys[key] ? TC_NODE_TABLE : TC_NODE_ARRAY))
        return false;
    const char *open = place_at(e, node->at);
    struct spot spot = open && (*open == '[' || *open == '{') ? in_flow(e, node, open)
                       : node->kind == TC_NODE_ARRAY          ? in_list(e, node)
                                                              : in_table(e, node);
    if (!spot.at)
        return false;
    tc_buf_add(out, e->text, (size_t)(spot.at - e->text));
    tc_buf_addf(out, "%s%*s%s", spot.line, (int)spot.indent, "", spot.before);
    put_clause(out, e, key);
    tc_buf_adds(out, spot.after);
    tc_buf_add(out, spot.at, (size_t)(e->end - spot.at));
    return true;
}

/* ---- checking that only the element was added ---- */

static bool same(const struct tc_node *a, const struct tc_node *b)
{
    _autobuf_ struct tc_buf x = TC_BUF_INIT;
    _autobuf_ struct tc_buf y = TC_BUF_INIT;
    tc_node_canonical(a, &x);
    tc_node_canonical(b, &y);
    return !x.failed && !y.failed && x.len == y.len && memcmp(x.data, y.data, x.len) == 0;
}

/* Is `after` the tree `before` with one element added at `keys`? `before` may be NULL. */
static bool grew(const struct tc_node *before, const struct tc_node *after, const char *const *keys)
{
    const struct tc_node *inner = *keys && before ? tc_node_get(before, *keys) : NULL;
    size_t count = before ? before->count : 0, more = inner ? 0 : 1;
    if (after->kind != (*keys ? TC_NODE_TABLE : TC_NODE_ARRAY) || after->count != count + more)
        return false;
    for (size_t i = 0; i < count; i++) {
        const struct tc_node *old = &before->items[i];
        const struct tc_node *new = *keys ? tc_node_get(after, old->key) : &after->items[i];
        if (!new || (old != inner && !same(old, new)))
            return false;
    }
    const struct tc_node *next = *keys ? tc_node_get(after, *keys) : NULL;
    return !*keys || (next && grew(inner, next, keys + 1));
}

static bool check_edit(const struct edit *e, const struct tc_node *before,
                       const struct tc_buf *text)
{
    _auto_(tc_document_done) struct tc_document after = {0};
    return e->reader(&after, text->data, text->len) && grew(before, &after.root, e->keys);
}

static bool split(struct edit *e, const char *table, const char *list)
{
    size_t count = 0;
    e->words = strdup(table);
    for (char *at = e->words; at && count < KEYS_MAX - 3; at = strchr(at, '.')) {
        if (count)
            *at++ = '\0';
        e->keys[count++] = at;
    }
    bool inner = tc_startswith(list, "filesystem.");
    if (inner)
        e->keys[count++] = "filesystem";
    e->keys[count] = inner ? list + strlen("filesystem.") : list;
    return e->words != NULL;
}

char *tc_yaml_add(tc_document_reader *reader, const char *text, const char *table, const char *list,
                  const char *element)
{
    _auto_(tc_document_done) struct tc_document before = {0};
    _autobuf_ struct tc_buf out = TC_BUF_INIT;
    struct edit e = {
        .reader = reader, .text = text, .end = text + strlen(text), .element = element};
    bool fine = split(&e, table, list) && reader(&before, text, strlen(text)) &&
                write_edit(&e, &before.root, &out) && !out.failed &&
                check_edit(&e, &before.root, &out);
    free(e.words);
    return fine ? tc_buf_steal(&out) : NULL;
}
