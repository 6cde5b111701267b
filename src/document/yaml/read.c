/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * YAML into the generic tree, by the events of libfyaml: no tree of the library is made, nothing
 * recurses, and what a policy has no use for ends the reading where it stands. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/strv.h"
#include "document/yaml/fyaml.h"
#include "document/yaml/plain.h"
#include "document/yaml/walls.h"
#include "document/yaml/yaml.h"

/* An open table or array. */
struct frame {
    struct tc_node *node;
    bool keyed; /* its last member has a key and waits for its value */
};

struct reader {
    struct tc_document *document;
    const char *text;
    size_t len;
    struct tc_fyaml fyaml;
    struct fy_diag *diag;
    struct fy_parser *parser;
    /* where the last place was, because places come in the order of the text */
    size_t seen, line_start;
    uint32_t line;
    struct frame open[TC_DOCUMENT_DEPTH_MAX + 1];
    size_t depth;
    bool begun;
};

static void reader_done(struct reader *r)
{
    if (r->parser)
        r->fyaml.fy_parser_destroy(r->parser);
    if (r->diag)
        r->fyaml.fy_diag_destroy(r->diag);
    tc_fyaml_close(&r->fyaml);
}

/* ---- places ---- */

static struct tc_place place_of(struct reader *r, size_t offset)
{
    if (offset > r->len)
        offset = r->len;
    if (offset < r->line_start) {
        r->seen = r->line_start = 0;
        r->line = 1;
    }
    const char *newline;
    while (r->seen < offset && (newline = memchr(r->text + r->seen, '\n', offset - r->seen))) {
        r->seen = r->line_start = (size_t)(newline - r->text) + 1;
        r->line++;
    }
    if (r->seen < offset)
        r->seen = offset;
    return (struct tc_place){r->line, (uint32_t)(offset - r->line_start) + 1, 1};
}

static struct tc_place place_of_mark(struct reader *r, const struct fy_mark *mark)
{
    return place_of(r, mark ? mark->input_pos : r->len);
}

static struct tc_place place_of_token(struct reader *r, struct fy_token *token)
{
    const struct fy_mark *end = token ? r->fyaml.fy_token_end_mark(token) : NULL;
    struct tc_place at = place_of_mark(r, token ? r->fyaml.fy_token_start_mark(token) : NULL);
    size_t start = r->line_start + at.column - 1;
    if (end && end->input_pos > start && end->input_pos <= r->len &&
        !memchr(r->text + start, '\n', end->input_pos - start))
        at.span = (uint32_t)(end->input_pos - start);
    return at;
}

/* The library's places leave out what begins and ends a thing: quotes, & and *. */
static struct tc_place widen(struct tc_place at, unsigned before, unsigned after)
{
    if (at.column <= before)
        return at;
    return (struct tc_place){at.line, at.column - before, at.span + before + after};
}

static struct tc_place place_of_event(struct reader *r, struct fy_event *event)
{
    struct fy_token *token = r->fyaml.fy_event_get_token(event);
    const struct frame *top = r->depth ? &r->open[r->depth - 1] : NULL;
    if (!token && top && top->keyed) /* nothing stands there: its key does */
        return top->node->items[top->node->count - 1].key_at;
    return token ? place_of_token(r, token) : place_of_mark(r, r->fyaml.fy_event_start_mark(event));
}

/* ---- findings ---- */

static bool fail(struct reader *r, struct tc_place at, const char *hint, const char *message)
{
    if (!r->document->error && hint)
        r->document->hint = hint;
    tc_document_fail(r->document, at, message);
    return false;
}

static bool fail_memory(struct reader *r)
{
    r->document->memory = true;
    return false;
}

/* The library's own finding. */
static bool fail_syntax(struct reader *r)
{
    void *each = NULL;
    const struct fy_diag_error *error = r->fyaml.fy_diag_errors_iterate(r->diag, &each);
    if (!error) /* it has no words for some of its errors */
        return fail(r, place_of(r, r->seen), NULL, "syntax error, here or in what follows");
    struct tc_place at = {(uint32_t)error->line, (uint32_t)error->column, 1};
    if (error->fyt)
        at = place_of_token(r, error->fyt);
    _autofree_ char *message = tc_format("syntax error: %s", error->msg ? error->msg : "no YAML");
    return message ? fail(r, at, NULL, message) : fail_memory(r);
}

/* ---- values ---- */

static bool refuse_extras(struct reader *r, struct fy_token *anchor, struct fy_token *tag)
{
    if (anchor)
        return fail(r, widen(place_of_token(r, anchor), 1, 0),
                    "write the value out where it is needed",
                    "anchors and aliases have no place in a policy");
    if (tag)
        return fail(r, place_of_token(r, tag), "leave it out; quotes make anything a string",
                    "tags have no place in a policy");
    return true;
}

/* The node that the next value fills; NULL when there is a finding. */
static struct tc_node *slot(struct reader *r, struct tc_place at)
{
    if (!r->depth)
        return &r->document->root;
    struct frame *top = &r->open[r->depth - 1];
    if (top->node->kind == TC_NODE_ARRAY)
        return tc_node_add(r->document, top->node);
    if (!top->keyed) {
        fail(r, at, NULL, "a key must be a single string");
        return NULL;
    }
    top->keyed = false;
    return &top->node->items[top->node->count - 1];
}

static bool open_node(struct reader *r, struct fy_event *event, enum tc_node_kind kind)
{
    const struct tc_place at = place_of_event(r, event);
    struct tc_node *node = slot(r, at);
    if (!node)
        return false;
    node->kind = kind;
    node->at = at;
    if (r->depth == TC_COUNT(r->open))
        return fail(r, at, NULL, "the tables are nested too deeply (at most 24 levels)");
    r->open[r->depth++] = (struct frame){.node = node};
    return true;
}

static int compare_members(const void *a, const void *b)
{
    const struct tc_node *const *x = a, *const *y = b;
    int order = strcmp((*x)->key, (*y)->key);
    return order ? order : *x < *y ? -1 : 1;
}

static bool fail_twice(struct reader *r, const struct tc_node *first, const struct tc_node *second)
{
    _autofree_ char *message = tc_format("the key \"%.80s\" is here twice, first in line %u",
                                         second->key, first->key_at.line);
    return message ? fail(r, second->key_at, "keep one of them", message) : fail_memory(r);
}

/* The first member, by place, whose key was there before. */
static bool check_keys(struct reader *r, const struct tc_node *table)
{
    _autofree_ const struct tc_node **order = calloc(table->count + 1, sizeof(*order));
    const struct tc_node *first = NULL, *second = NULL;
    if (!order)
        return fail_memory(r);
    for (size_t i = 0; i < table->count; i++)
        order[i] = &table->items[i];
    qsort(order, table->count, sizeof(*order), compare_members);
    for (size_t i = 1; i < table->count; i++)
        if (strcmp(order[i]->key, order[i - 1]->key) == 0 && (!second || order[i] < second)) {
            first = order[i - 1];
            second = order[i];
        }
    return !second || fail_twice(r, first, second);
}

static bool close_node(struct reader *r)
{
    const struct tc_node *node = r->open[--r->depth].node;
    return node->kind != TC_NODE_TABLE || check_keys(r, node);
}

static bool add_key(struct reader *r, struct tc_place at, const char *text, size_t len, bool plain)
{
    struct frame *top = &r->open[r->depth - 1];
    struct tc_node *child, meant = {0};
    const char *wrong = plain ? tc_yaml_plain(text, len, &meant) : NULL;
    if (wrong || (plain && meant.kind != TC_NODE_STRING))
        return fail(r, at, "write it in quotes", "a key must be a string");
    if (plain && len == 2 && memcmp(text, "<<", 2) == 0)
        return fail(r, at, "write the members out; [defaults] hold for every tool",
                    "merge keys have no place in a policy");
    child = tc_node_add(r->document, top->node);
    if (!child)
        return false;
    top->keyed = true;
    child->key_at = child->at = at;
    return tc_node_set_key(r->document, child, text, len);
}

static bool fill_scalar(struct reader *r, struct tc_place at, const char *text, size_t len,
                        bool plain)
{
    struct tc_node *node = slot(r, at);
    if (!node)
        return false;
    node->at = at;
    const char *wrong = plain ? tc_yaml_plain(text, len, node) : NULL;
    if (wrong)
        return fail(r, at,
                    "write a string in quotes, a number in plain digits; leave out keys "
                    "without a value",
                    wrong);
    if (!plain)
        node->kind = TC_NODE_STRING;
    return node->kind != TC_NODE_STRING || tc_node_set_text(r->document, node, text, len);
}

/* The library (0.7.12) reads four quotes in a row within single quotes wrongly; on one line they
 * are read here. *ret is owned, or NULL where the library is right. */
static bool read_quotes(struct reader *r, struct fy_token *token, char **ret, size_t *ret_len)
{
    const struct fy_mark *start = r->fyaml.fy_token_start_mark(token),
                         *end = r->fyaml.fy_token_end_mark(token);
    *ret = NULL;
    if (!start || !end || end->input_pos > r->len || start->input_pos > end->input_pos)
        return fail_memory(r);
    const char *from = r->text + start->input_pos, *to = r->text + end->input_pos;
    if (!memmem(from, (size_t)(to - from), "''''", 4))
        return true;
    if (memchr(from, '\n', (size_t)(to - from)) || memchr(from, '\r', (size_t)(to - from)))
        return fail(r, place_of_token(r, token),
                    "write the string in double quotes, or on one "
                    "line",
                    "four single quotes in a row, in a string of several lines");
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    for (; from < to; from += 1 + (*from == '\''))
        tc_buf_addc(&text, *from);
    *ret_len = text.len;
    *ret = tc_buf_steal(&text);
    return *ret ? true : fail_memory(r);
}

static bool is_break(char c)
{
    return c == '\n' || c == '\r';
}

/* The text of the caller does not end in a NUL. */
static char char_at(const struct reader *r, size_t at)
{
    return at < r->len ? r->text[at] : '\0';
}

/* How deep the lines of a block text stand at the least, counted from 1: deeper than what they
 * belong to. */
static uint32_t block_column(const struct reader *r)
{
    const struct frame *top = r->depth ? &r->open[r->depth - 1] : NULL;
    if (!top)
        return 1;
    return 1 + (top->keyed ? top->node->items[top->node->count - 1].key_at.column
                           : top->node->at.column);
}

/* The library (0.7.12) takes the lines after an empty block text for its own where they stand as
 * deep as its key. */
static bool check_block(struct reader *r, struct fy_token *token)
{
    const struct fy_mark *start = r->fyaml.fy_token_start_mark(token),
                         *end = r->fyaml.fy_token_end_mark(token);
    const uint32_t least = block_column(r);
    if (!start || !end || end->input_pos > r->len)
        return fail_memory(r);
    for (size_t at = start->input_pos; at < end->input_pos; at++) {
        const size_t line = at;
        size_t first = at;
        while (first < end->input_pos && r->text[first] == ' ')
            first++;
        for (at = first; at < end->input_pos && !is_break(r->text[at]); at++)
            ;
        if (first < at && first - line + 1 < least)
            return fail(r, place_of(r, first),
                        "write \"\" for an empty string, or indent its "
                        "lines",
                        "this line is not indented more than the key of the string before it");
    }
    return true;
}

/* |2 and the like: what is read depends on the library. */
static bool check_header(struct reader *r, struct fy_token *token)
{
    const struct fy_mark *start = r->fyaml.fy_token_start_mark(token);
    size_t end = start && start->input_pos <= r->len ? start->input_pos : 0, at = end ? end - 1 : 0;
    while (at > 0 && !is_break(r->text[at - 1]))
        at--;
    for (; at < end; at++) {
        const char next = char_at(r, at + 1);
        const char digit = next == '-' || next == '+' ? char_at(r, at + 2) : next;
        if ((r->text[at] == '|' || r->text[at] == '>') && digit >= '0' && digit <= '9')
            return fail(r, place_of(r, at), "write it without the number",
                        "a string's indentation is that of its first line");
    }
    return true;
}

/* Before an empty line the library (0.7.12) loses the end of such a text. */
static bool check_escapes(struct reader *r, struct fy_token *token)
{
    const struct fy_mark *start = r->fyaml.fy_token_start_mark(token),
                         *end = r->fyaml.fy_token_end_mark(token);
    if (!start || !end || end->input_pos > r->len)
        return fail_memory(r);
    for (size_t i = start->input_pos; i + 1 < end->input_pos; i += 1 + (r->text[i] == '\\'))
        if (r->text[i] == '\\' && is_break(r->text[i + 1]))
            return fail(r, place_of(r, i), "write the string on one line, or below >-",
                        "an escaped line break");
    return true;
}

static bool check_style(struct reader *r, struct fy_token *token, enum fy_scalar_style style)
{
    if (style == FYSS_LITERAL || style == FYSS_FOLDED)
        return check_header(r, token) && check_block(r, token);
    return style != FYSS_DOUBLE_QUOTED || check_escapes(r, token);
}

static bool read_scalar(struct reader *r, struct fy_event *event)
{
    struct fy_token *token = event->scalar.value;
    const enum fy_scalar_style style = token ? r->fyaml.fy_token_scalar_style(token) : FYSS_PLAIN;
    const bool plain = style == FYSS_PLAIN;
    const unsigned quote = style == FYSS_SINGLE_QUOTED || style == FYSS_DOUBLE_QUOTED;
    const struct tc_place at = widen(place_of_event(r, event), quote, quote);
    if (!refuse_extras(r, event->scalar.anchor, event->scalar.tag))
        return false;
    _autofree_ char *quotes = NULL;
    size_t len = 0;
    if (style == FYSS_SINGLE_QUOTED && !read_quotes(r, token, &quotes, &len))
        return false;
    if (token && !check_style(r, token, style))
        return false;
    const char *text = quotes ? quotes : token ? r->fyaml.fy_token_get_text(token, &len) : "";
    if (!text)
        return fail_memory(r);
    if (!r->depth && plain && !len)
        return true; /* no more than comments */
    const struct frame *top = r->depth ? &r->open[r->depth - 1] : NULL;
    return top && top->node->kind == TC_NODE_TABLE && !top->keyed
               ? add_key(r, at, text, len, plain)
               : fill_scalar(r, at, text, len, plain);
}

/* ---- the stream ---- */

static bool begin(struct reader *r, struct fy_event *event)
{
    if (r->begun)
        return fail(r, place_of_event(r, event), "one policy is one document", "a second document");
    r->begun = true;
    return true;
}

static bool read_event(struct reader *r, struct fy_event *event)
{
    switch ((int)event->type) {
    case FYET_DOCUMENT_START:
        return begin(r, event);
    case FYET_ALIAS:
        return refuse_extras(r, event->alias.anchor, NULL);
    case FYET_SCALAR:
        return read_scalar(r, event);
    case FYET_SEQUENCE_START:
        return refuse_extras(r, event->sequence_start.anchor, event->sequence_start.tag) &&
               open_node(r, event, TC_NODE_ARRAY);
    case FYET_MAPPING_START:
        return refuse_extras(r, event->mapping_start.anchor, event->mapping_start.tag) &&
               open_node(r, event, TC_NODE_TABLE);
    case FYET_SEQUENCE_END:
    case FYET_MAPPING_END:
        return close_node(r);
    default:
        return true;
    }
}

static bool read_stream(struct reader *r)
{
    bool good = true, ended = false;
    while (good && !ended) {
        struct fy_event *event = r->fyaml.fy_parser_parse(r->parser);
        if (!event)
            return fail_syntax(r);
        ended = event->type == FYET_STREAM_END;
        good = read_event(r, event);
        r->fyaml.fy_parser_event_free(r->parser, event);
    }
    return good;
}

static bool start(struct reader *r)
{
    struct fy_diag_cfg quiet;
    if (!tc_fyaml_open(&r->fyaml))
        return fail(r, place_of(r, 0),
                    "install libfyaml (the Debian package libfyaml0), or write the policy as TOML",
                    "reading YAML needs libfyaml.so.0, which is not here");
    r->fyaml.fy_diag_cfg_default(&quiet);
    quiet.fp = NULL;
    quiet.colorize = false;
    r->diag = r->fyaml.fy_diag_create(&quiet);
    if (!r->diag)
        return fail_memory(r);
    r->fyaml.fy_diag_set_collect_errors(r->diag, true);
    /* sloppy: a closing bracket may stand below its key, as everybody writes it */
    const struct fy_parse_cfg config = {.search_path = "",
                                        .flags = FYPCF_QUIET | FYPCF_DEFAULT_VERSION_1_2 |
                                                 FYPCF_JSON_NONE | FYPCF_SLOPPY_FLOW_INDENTATION,
                                        .diag = r->diag};
    r->parser = r->fyaml.fy_parser_create(&config);
    return r->parser && r->fyaml.fy_parser_set_string(r->parser, r->text, r->len) == 0
               ? true
               : fail_memory(r);
}

static bool check_walls(struct reader *r)
{
    const struct tc_yaml_wall wall = tc_yaml_walls(r->text, r->len);
    return !wall.message || fail(r, place_of(r, wall.offset), wall.hint, wall.message);
}

bool tc_yaml_read(struct tc_document *document, const char *text, size_t len)
{
    _auto_(reader_done) struct reader r = {
        .document = document, .text = text, .len = len, .line = 1};
    document->hint = "the file is YAML: key: value, with what belongs to a key indented below it";
    document->root.kind = TC_NODE_TABLE;
    document->root.at = (struct tc_place){1, 1, 1};
    if (!check_walls(&r) || !start(&r) || !read_stream(&r))
        return false;
    if (document->root.kind != TC_NODE_TABLE)
        return fail(&r, document->root.at, "as in: tool: {NAME: {command: [\"true\"]}}",
                    "a policy is a table of keys");
    return true;
}
