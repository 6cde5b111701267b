/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The keys that name several backends: `fallback`, tried in order, and `layers`, each nested in the
 * one before it. */
#include <stdio.h>
#include <string.h>

#include "policy/backends.h"
#include "policy/parse/parse.h"

enum { BACKENDS_MAX = 4 };

/* The backend of this name. NULL: unknown, or without isolation. */
static const struct tc_backend *walls_of(const char *name)
{
    const struct tc_backend *b = tc_backend_find(name);
    return b && b->kind != TC_BACKEND_NOTHING ? b : NULL;
}

static void refuse_name(struct tc_parse *p, const struct tc_node *node, const struct tc_node *item,
                        const char *name)
{
    char names[256] = "the names are";
    const char *gap = " ";
    for (const struct tc_backend *b = tc_backends; b->name; b++) {
        size_t used = strlen(names);
        if (b->kind == TC_BACKEND_NOTHING)
            continue;
        (void)snprintf(names + used, sizeof(names) - used, "%s%s", gap, b->name);
        gap = ", ";
    }
    tc_parse_bad_in(p, node, item, names, "\"%.60s\" is not a backend with isolation", name);
}

/* Parses names of backends with isolation, without duplicates. */
static bool read_names(struct tc_parse *p, struct tc_node *node, struct tc_strv *into)
{
    if (!tc_parse_is(p, node, TC_NODE_ARRAY))
        return false;
    bool fine = true;
    for (size_t i = 0; i < node->count; i++) {
        const struct tc_node *item = &node->items[i];
        const char *name = item->kind == TC_NODE_STRING ? item->text : "?";
        bool known = walls_of(name), twice = tc_strv_has(into, name);
        if (!known)
            refuse_name(p, node, item, name);
        else if (twice)
            tc_parse_bad_in(p, node, item, "name each backend once", "\"%s\" is listed twice",
                            name);
        else if (!tc_strv_add(into, name))
            p->diag.memory = true;
        fine = fine && known && !twice;
    }
    if (fine && node->count <= BACKENDS_MAX)
        return true;
    if (fine)
        tc_parse_bad(p, node, "name at most 4", "%s has too many backends", node->key);
    return false;
}

void tc_set_fallback(struct tc_parse *p, const struct tc_key *key, struct tc_node *node, void *into)
{
    (void)read_names(p, node, &((struct tc_spec *)into)->fallback);
}

/* The reason why `inner` cannot run within `outer`. NULL: it can. */
static const char *cannot_hold(enum tc_backend_kind outer, enum tc_backend_kind inner)
{
    if (inner == TC_BACKEND_CLUSTER)
        return "a cluster can only be the outermost layer";
    if (outer == TC_BACKEND_MODULE)
        return "a WebAssembly module cannot contain another cage";
    if (inner == TC_BACKEND_MACHINE && (outer == TC_BACKEND_MACHINE || outer == TC_BACKEND_SENTRY))
        return "a virtual machine needs the host's /dev/kvm, which is not visible there";
    return NULL;
}

void tc_set_layers(struct tc_parse *p, const struct tc_key *key, struct tc_node *node, void *into)
{
    struct tc_strv *layers = &((struct tc_spec *)into)->layers;
    if (!read_names(p, node, layers))
        return;
    if (node->count < 2)
        tc_parse_bad(p, node, "for one cage write backend = \"…\"",
                     "layers names fewer than two backends");
    for (size_t i = 1; i < layers->count; i++) {
        const char *why =
            cannot_hold(walls_of(layers->items[i - 1])->kind, walls_of(layers->items[i])->kind);
        if (why)
            tc_parse_bad_in(p, node, &node->items[i], "the outermost layer comes first",
                            "%s cannot run inside %s: %s", layers->items[i], layers->items[i - 1],
                            why);
    }
}

void tc_parse_route_finish(struct tc_parse *p, const struct tc_spec *spec,
                           const struct tc_node *table)
{
    const struct tc_node *layers = tc_node_get(table, "layers"),
                         *fallback = tc_node_get(table, "fallback");
    if (layers && tc_node_get(table, "backend"))
        tc_parse_bad_key(p, layers, "keep one of the two", "backend and layers contradict");
    if (layers && fallback)
        tc_parse_bad_key(p, fallback, "keep one of the two", "fallback and layers contradict");
    if (!fallback || !spec->backend)
        return;
    if (tc_strv_has(&spec->fallback, spec->backend))
        tc_parse_bad_key(p, fallback, "name the others only",
                         "fallback names %s, which is the backend already", spec->backend);
    if (!walls_of(spec->backend))
        tc_parse_bad_key(p, fallback, "remove one of the two keys",
                         "backend %s never refuses a call, so fallback would have no effect",
                         spec->backend);
}
