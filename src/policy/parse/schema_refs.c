/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * References of a JSON Schema: "$ref": "#/$defs/x" stands for the part of the same schema to which
 * the JSON Pointer (RFC 6901) refers. They are expanded here, so the rest of the parser sees none.
 * A reference to a part that contains it is a finding. */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "policy/parse/parse.h"

enum { PARTS_MAX = 1 << 16, DEPTH_MAX = 2 * TC_DOCUMENT_DEPTH_MAX, BYTES_A_PART = 64 };

/* The targets of the references that are being expanded now, the innermost first. */
struct chain {
    const struct tc_node *target;
    const struct chain *next;
};

struct writer {
    struct tc_parse *p;
    const struct tc_node *root;
    struct tc_document *made;
    unsigned depth;
};

/* Is it an annotation? One next to a reference overrides the target's. */
static bool is_note(const char *key)
{
    static const char *const words[] = {"title", "description", "default"};
    return TC_AMONG(words, key);
}

static const struct tc_node *find_reference(const struct tc_node *node)
{
    const struct tc_node *ref = node->kind == TC_NODE_TABLE ? tc_node_get(node, "$ref") : NULL;
    return ref && ref->kind == TC_NODE_STRING ? ref : NULL;
}

/* Decodes one reference token of a pointer: ~1 means "/", ~0 means "~". False: too long, or
 * invalid. */
static bool read_step(const char *at, size_t len, char *out, size_t size)
{
    size_t n = 0;
    for (size_t i = 0; i < len && n < size - 1; i++) {
        out[n] = at[i];
        if (at[i] == '~') {
            i++;
            if (i == len || (at[i] != '0' && at[i] != '1'))
                return false;
            out[n] = at[i] == '1' ? '/' : '~';
        }
        n++;
    }
    out[n] = '\0';
    return n < size - 1 && !memchr(at, '%', len);
}

/* The element whose index the token spells; NULL: not an index, or too large. */
static const struct tc_node *element(const struct tc_node *array, const char *step)
{
    size_t digits = strspn(step, "0123456789"), index = 0;
    if (!digits || step[digits] || digits > 4 || (step[0] == '0' && digits > 1))
        return NULL;
    for (size_t i = 0; i < digits; i++)
        index = index * 10 + (size_t)(step[i] - '0');
    return index < array->count ? &array->items[index] : NULL;
}

static const struct tc_node *find_target(const struct tc_node *root, const char *pointer)
{
    const struct tc_node *node = root;
    char step[256];
    for (const char *at = pointer; node && *at == '/';) {
        size_t len = strcspn(++at, "/");
        if (!read_step(at, len, step, sizeof(step)))
            return NULL;
        if (node->kind == TC_NODE_TABLE)
            node = node->count <= TC_MEMBERS_MAX ? tc_node_get(node, step) : NULL;
        else
            node = node->kind == TC_NODE_ARRAY ? element(node, step) : NULL;
        at += len;
    }
    return node;
}

static const struct tc_node *resolve(struct writer *w, const struct tc_node *ref,
                                     const struct chain *above)
{
    if (ref->text[0] != '#' || (ref->text[1] && ref->text[1] != '/')) {
        tc_parse_bad(w->p, ref, "copy what it names into the schema, below $defs",
                     "\"%.80s\" is not within this schema, as \"#/$defs/NAME\" is", ref->text);
        return NULL;
    }
    const struct tc_node *target = find_target(w->root, ref->text + 1);
    if (!target || target->kind != TC_NODE_TABLE) {
        tc_parse_bad(w->p, ref, "write \"#/$defs/NAME\" for a schema below $defs",
                     "\"%.80s\" names no schema", ref->text);
        return NULL;
    }
    for (const struct chain *c = above; c; c = c->next) {
        if (c->target != target)
            continue;
        tc_parse_bad(w->p, ref, "write out as many levels as a call needs",
                     "\"%.80s\" refers to itself, which has no end", ref->text);
        return NULL;
    }
    return target;
}

/* Copies `from`, with its references expanded, to a new child of `parent`. `notes`: annotations in
 * this node replace those of `from`; NULL: none. `above`: the references being expanded. False
 * after a finding, or out of memory. */
static bool write_node(struct writer *w, struct tc_node *parent, const struct tc_node *from,
                       const struct tc_node *notes, const struct chain *above);

static size_t enter_node(struct writer *w, const struct tc_node *node)
{
    return node->key ? tc_parse_enter(w->p, node->key) : w->p->path_len;
}

static struct tc_node *add_node(struct writer *w, struct tc_node *parent,
                                const struct tc_node *like, const char *key, enum tc_node_kind kind)
{
    struct tc_node *node = tc_node_add(w->made, parent);
    if (!node || (key && !tc_node_set_key(w->made, node, key, strlen(key))))
        return NULL;
    node->kind = kind;
    node->at = like->at;
    node->key_at = like->key_at;
    return node;
}

/* Expands a reference that has sibling keywords: its target becomes an element of allOf. */
static bool write_beside(struct writer *w, struct tc_node *parent, const struct tc_node *from,
                         const struct tc_node *target, const struct chain *above)
{
    const struct tc_node *others = tc_node_get(from, "allOf");
    struct tc_node *to = add_node(w, parent, from, from->key, TC_NODE_TABLE);
    bool fine = to;
    size_t mark = enter_node(w, from);
    for (size_t i = 0; fine && i < from->count; i++)
        if (!tc_streq(from->items[i].key, "$ref") && &from->items[i] != others)
            fine = write_node(w, to, &from->items[i], NULL, above);
    struct tc_node *all = fine ? add_node(w, to, from, "allOf", TC_NODE_ARRAY) : NULL;
    const struct chain chain = {target, above};
    struct tc_node nameless = *target;
    nameless.key = NULL;
    fine = all && write_node(w, all, &nameless, NULL, &chain);
    for (size_t i = 0; fine && others && i < others->count; i++)
        fine = write_node(w, all, &others->items[i], NULL, above);
    tc_parse_leave(w->p, mark);
    return fine;
}

/* Expands a reference. If it stands alone or with annotations only, its target replaces it. */
static bool write_reference(struct writer *w, struct tc_node *parent, const struct tc_node *from,
                            const struct tc_node *ref, const struct tc_node *notes,
                            const struct chain *above)
{
    size_t mark = enter_node(w, from);
    const struct tc_node *target = resolve(w, ref, above);
    tc_parse_leave(w->p, mark);
    bool alone = true, told = false;
    for (size_t i = 0; i < from->count; i++) {
        bool note = is_note(from->items[i].key);
        alone = alone && (note || &from->items[i] == ref);
        told = told || note;
    }
    if (!target)
        return false;
    if (!alone)
        return write_beside(w, parent, from, target, above);
    const struct chain chain = {target, above};
    struct tc_node named = *target;
    named.key = from->key;
    named.key_at = from->key_at;
    return write_node(w, parent, &named, notes || !told ? notes : from, &chain);
}

static bool write_plain(struct writer *w, struct tc_node *parent, const struct tc_node *from,
                        const struct tc_node *notes, const struct chain *above)
{
    struct tc_node *to = add_node(w, parent, from, from->key, from->kind);
    if (!to)
        return false;
    to->unordered = from->unordered;
    to->integer = from->integer;
    to->number = from->number;
    if (from->text && !tc_node_set_text(w->made, to, from->text, from->len))
        return false;
    bool fine = true;
    size_t mark = enter_node(w, from);
    for (size_t i = 0; fine && i < from->count; i++)
        if (!(notes && is_note(from->items[i].key) && tc_node_get(notes, from->items[i].key)))
            fine = write_node(w, to, &from->items[i], NULL, above);
    for (size_t i = 0; fine && notes && i < notes->count; i++)
        if (is_note(notes->items[i].key))
            fine = write_node(w, to, &notes->items[i], NULL, above);
    tc_parse_leave(w->p, mark);
    return fine;
}

static bool write_node(struct writer *w, struct tc_node *parent, const struct tc_node *from,
                       const struct tc_node *notes, const struct chain *above)
{
    const struct tc_node *ref = find_reference(from);
    if (above)
        w->p->referred += 1 + ((from->key ? strlen(from->key) : 0) + from->len) / BYTES_A_PART;
    if (w->p->referred > PARTS_MAX || w->depth > DEPTH_MAX) {
        tc_parse_bad(w->p, from, "write what is needed without references",
                     w->depth > DEPTH_MAX
                         ? "with its references expanded, the schema is nested deeper than 48"
                         : "references make more than 65536 parts of this policy, or 4 MiB");
        return false;
    }
    w->depth++;
    bool fine = ref ? write_reference(w, parent, from, ref, notes, above)
                    : write_plain(w, parent, from, notes, above);
    w->depth--;
    return fine;
}

bool tc_schema_expand(struct tc_parse *p, const struct tc_node *root, struct tc_document *made,
                      const struct tc_node *node)
{
    struct writer w = {.p = p, .root = root, .made = made};
    bool fine = write_node(&w, &made->root, node, NULL, NULL);
    p->diag.memory |= made->memory;
    return fine && !made->memory;
}
