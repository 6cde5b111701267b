/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * YAML to the generic tree, from libyaml's events: no intermediate tree, no recursion, and an
 * unsupported construct stops the reader at its location. libyaml parses YAML 1.1: text that YAML
 * 1.2 would split into other lines is rejected here, and plain.c gives plain scalars their 1.2
 * meaning. */
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/strv.h"
#include "document/yaml/yaml.h"
#include "text/utf8.h"

/* libyaml does not count a byte order mark as a character. */
static const char BYTE_ORDER_MARK[] = "\xef\xbb\xbf";

/* An open table or array. */
struct frame {
    struct tc_node *node;
    bool keyed; /* the last member has a key but no value yet */
};

struct reader {
    struct tc_document *document;
    const char *text;
    size_t len;
    yaml_parser_t parser;
    /* The last computed location, from which the next one continues: the first `seen` bytes are
     * `characters` characters. */
    size_t seen, characters, line_start;
    uint32_t line;
    struct frame open[TC_DOCUMENT_DEPTH_MAX + 1];
    size_t depth, fed;
    bool begun;
};

static void reader_done(struct reader *r)
{
    yaml_parser_delete(&r->parser);
}

/* ---- locations ---- */

/* The offset of the next character, at most `end`. */
static size_t after_character(const char *text, size_t at, size_t end)
{
    while (++at < end && tc_utf8_inside(text[at]))
        ;
    return at;
}

static void rewind_places(struct reader *r)
{
    r->characters = r->line_start = 0;
    r->seen = r->len >= 3 && memcmp(r->text, BYTE_ORDER_MARK, 3) == 0 ? 3 : 0;
    r->line = 1;
}

/* The location of byte `offset` or of character number `character`, whichever comes first. */
static struct tc_location place_of(struct reader *r, size_t offset, size_t character)
{
    if (offset < r->seen || character < r->characters)
        rewind_places(r);
    if (offset > r->len)
        offset = r->len;
    for (; r->seen < offset && r->characters < character; r->characters++) {
        const bool newline = r->text[r->seen] == '\n';
        r->seen = after_character(r->text, r->seen, offset);
        if (newline)
            r->line_start = r->seen;
        r->line += newline;
    }
    return (struct tc_location){r->line, (uint32_t)(r->seen - r->line_start) + 1, 1};
}

static struct tc_location place_of_mark(struct reader *r, const yaml_mark_t *mark)
{
    return place_of(r, SIZE_MAX, mark->index);
}

static struct tc_location place_of_event(struct reader *r, const yaml_event_t *event)
{
    const struct frame *top = r->depth ? &r->open[r->depth - 1] : NULL;
    const size_t width = event->end_mark.index - event->start_mark.index;
    if (event->type == YAML_SCALAR_EVENT && !width && top && top->keyed)
        return top->node->items[top->node->count - 1].key_at; /* the value is empty */
    struct tc_location at = place_of_mark(r, &event->start_mark);
    size_t end = r->seen;
    for (size_t i = 0; i < width && end < r->len; i++) {
        if (r->text[end] == '\n')
            return at;
        end = after_character(r->text, end, r->len);
    }
    if (end > r->seen)
        at.span = (uint32_t)(end - r->seen);
    return at;
}

/* ---- findings ---- */

static bool fail_yaml(struct reader *r, struct tc_location at, const char *hint,
                      const char *message)
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

/* For an unterminated construct, the location of its beginning. */
static struct tc_location place_of_problem(struct reader *r, bool *ret_tab)
{
    const yaml_parser_t *parser = &r->parser;
    if (parser->error == YAML_READER_ERROR)
        return place_of(r, parser->problem_offset, SIZE_MAX);
    const struct tc_location at = place_of_mark(r, &parser->problem_mark);
    *ret_tab = r->seen < r->len && r->text[r->seen] == '\t';
    return parser->error == YAML_SCANNER_ERROR && parser->context && !*ret_tab
               ? place_of_mark(r, &parser->context_mark)
               : at;
}

/* Reports libyaml's error. */
static bool fail_syntax(struct reader *r)
{
    if (r->parser.error == YAML_MEMORY_ERROR)
        return fail_memory(r);
    bool tab = false;
    const struct tc_location at = place_of_problem(r, &tab);
    const char *during = r->parser.context ? r->parser.context : "";
    _autofree_ char *message =
        tab ? strdup("syntax error: tab character as indent instead of space")
            : tc_format("syntax error: %s%s%s", r->parser.problem, *during ? " " : "", during);
    return message ? fail_yaml(r, at, NULL, message) : fail_memory(r);
}

/* ---- values ---- */

static bool refuse_extras(struct reader *r, const yaml_event_t *event, const void *anchor,
                          const void *tag)
{
    const struct tc_location at = place_of_mark(r, &event->start_mark);
    if (anchor)
        return fail_yaml(r, at, "write the value out where it is needed",
                         "anchors and aliases are not allowed in a policy");
    /* libyaml does not report a lone "!" tag on a plain scalar */
    if (tag || (r->seen < r->len && r->text[r->seen] == '!'))
        return fail_yaml(r, at, "leave it out; quotes make anything a string",
                         "tags are not allowed in a policy");
    return true;
}

/* The node for the next value. NULL after a finding. */
static struct tc_node *slot(struct reader *r, struct tc_location at)
{
    if (!r->depth)
        return &r->document->root;
    struct frame *top = &r->open[r->depth - 1];
    if (top->node->kind == TC_NODE_ARRAY)
        return tc_node_add(r->document, top->node);
    if (!top->keyed) {
        fail_yaml(r, at, NULL, "a key must be a single string");
        return NULL;
    }
    top->keyed = false;
    return &top->node->items[top->node->count - 1];
}

static bool open_node(struct reader *r, const yaml_event_t *event, enum tc_node_kind kind)
{
    const struct tc_location at = place_of_event(r, event);
    struct tc_node *node = slot(r, at);
    if (!node)
        return false;
    node->kind = kind;
    node->at = at;
    if (r->depth == TC_COUNT(r->open))
        return fail_yaml(r, at, NULL, "the tables are nested too deeply (at most 24 levels)");
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
    _autofree_ char *message =
        tc_format("duplicate key \"%.80s\", first in line %u", second->key, first->key_at.line);
    return message ? fail_yaml(r, second->key_at, "keep one of them", message) : fail_memory(r);
}

/* Reports the first duplicate key in the order of the text. */
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

static bool add_key(struct reader *r, struct tc_location at, const char *text, size_t len,
                    bool plain)
{
    struct frame *top = &r->open[r->depth - 1];
    struct tc_node *child, meant = {0};
    const char *wrong = plain ? tc_yaml_plain(text, len, &meant) : NULL;
    if (wrong || (plain && meant.kind != TC_NODE_STRING))
        return fail_yaml(r, at, "write it in quotes", "a key must be a string");
    if (r->seen && r->text[r->seen - 1] == '?')
        return fail_yaml(r, at, "write it in quotes",
                         "a key that YAML 1.1 and 1.2 read differently");
    if (plain && len == 2 && memcmp(text, "<<", 2) == 0)
        return fail_yaml(r, at, "write the members out; [defaults] applies to every tool",
                         "merge keys are not allowed in a policy");
    child = tc_node_add(r->document, top->node);
    if (!child)
        return false;
    top->keyed = true;
    child->key_at = child->at = at;
    return tc_node_set_key(r->document, child, text, len);
}

static bool fill_scalar(struct reader *r, struct tc_location at, const char *text, size_t len,
                        bool plain)
{
    struct tc_node *node = slot(r, at);
    if (!node)
        return false;
    node->at = at;
    const char *wrong = plain ? tc_yaml_plain(text, len, node) : NULL;
    if (wrong)
        return fail_yaml(r, at,
                         "write a string in quotes, a number in plain digits; leave out keys "
                         "without a value",
                         wrong);
    if (!plain)
        node->kind = TC_NODE_STRING;
    return node->kind != TC_NODE_STRING || tc_node_set_text(r->document, node, text, len);
}

static bool read_scalar(struct reader *r, const yaml_event_t *event)
{
    const char *text = (const char *)event->data.scalar.value;
    const size_t len = event->data.scalar.length;
    const bool plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    const struct tc_location at = place_of_event(r, event);
    if (!refuse_extras(r, event, event->data.scalar.anchor, event->data.scalar.tag))
        return false;
    if (!r->depth && plain && !len)
        return true; /* a file with only comments */
    const struct frame *top = r->depth ? &r->open[r->depth - 1] : NULL;
    return top && top->node->kind == TC_NODE_TABLE && !top->keyed
               ? add_key(r, at, text, len, plain)
               : fill_scalar(r, at, text, len, plain);
}

/* ---- the stream ---- */

static bool begin_stream(struct reader *r, const yaml_event_t *event)
{
    if (r->begun)
        return fail_yaml(r, place_of_event(r, event), "a policy is a single document",
                         "a second document");
    r->begun = true;
    return true;
}

static bool read_event(struct reader *r, const yaml_event_t *event)
{
    switch ((int)event->type) {
    case YAML_DOCUMENT_START_EVENT:
        return begin_stream(r, event);
    case YAML_ALIAS_EVENT:
        return refuse_extras(r, event, event->data.alias.anchor, NULL);
    case YAML_SCALAR_EVENT:
        return read_scalar(r, event);
    case YAML_SEQUENCE_START_EVENT:
        return refuse_extras(r, event, event->data.sequence_start.anchor,
                             event->data.sequence_start.tag) &&
               open_node(r, event, TC_NODE_ARRAY);
    case YAML_MAPPING_START_EVENT:
        return refuse_extras(r, event, event->data.mapping_start.anchor,
                             event->data.mapping_start.tag) &&
               open_node(r, event, TC_NODE_TABLE);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        return close_node(r);
    default:
        return true;
    }
}

/* A yaml_read_handler_t: supplies the text, and a final newline if it has none. */
static int feed(void *data, unsigned char *buffer, size_t size, size_t *ret)
{
    struct reader *r = data;
    const size_t left = r->fed < r->len ? r->len - r->fed : 0;
    *ret = size < left ? size : left;
    memcpy(buffer, r->text + r->len - left, *ret);
    if (r->len && r->fed == r->len && !strchr("\r\n", r->text[r->len - 1])) {
        *buffer = '\n';
        *ret = 1;
    }
    r->fed += *ret;
    return 1;
}

static bool read_stream(struct reader *r)
{
    yaml_parser_set_input(&r->parser, feed, r);
    bool good = true, ended = false;
    while (good && !ended) {
        yaml_event_t event;
        if (!yaml_parser_parse(&r->parser, &event))
            return fail_syntax(r);
        ended = event.type == YAML_STREAM_END_EVENT;
        good = read_event(r, &event);
        yaml_event_delete(&event);
    }
    return good;
}

/* libyaml may decode text that is not UTF-8 as UTF-16, and treats some characters as line breaks or
 * skips them, unlike YAML 1.2. */
static bool check_characters(struct reader *r)
{
    uint32_t c;
    for (size_t i = 0, n; i < r->len; i += n) {
        n = tc_utf8_decode(r->text + i, r->len - i, &c);
        if (!n || !c)
            return fail_yaml(r, place_of(r, i, SIZE_MAX), "write the policy as UTF-8",
                             "the file contains a NUL byte or is not UTF-8");
        if (c == 0x85 || c == 0x2028 || c == 0x2029 || (c == 0xfeff && i))
            return fail_yaml(r, place_of(r, i, SIZE_MAX),
                             "write \\N, \\L, \\P or \\uFEFF in double quotes",
                             "a character that YAML 1.1 and 1.2 read differently");
        if (c == '%' && (i == 0 || r->text[i - 1] == '\n' || r->text[i - 1] == '\r'))
            return fail_yaml(r, place_of(r, i, SIZE_MAX),
                             "remove the line: the file is read as YAML 1.2",
                             "directives are not allowed in a policy");
    }
    return true;
}

bool tc_yaml_read(struct tc_document *document, const char *text, size_t len)
{
    _auto_(reader_done) struct reader r = {.document = document, .text = text, .len = len};
    document->hint = "the file is YAML: key: value, with nested keys indented";
    document->root.kind = TC_NODE_TABLE;
    document->root.at = (struct tc_location){1, 1, 1};
    rewind_places(&r);
    if (!yaml_parser_initialize(&r.parser))
        return fail_memory(&r);
    if (!check_characters(&r) || !read_stream(&r))
        return false;
    if (document->root.kind != TC_NODE_TABLE)
        return fail_yaml(&r, document->root.at, "as in: tool: {NAME: {command: [\"true\"]}}",
                         "a policy is a table of keys");
    return true;
}
