/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The keys that name more than one backend: `fallback`, tried in order, and `layers`, each within
 * the one before it. */
#include <string.h>

#include "policy/parse.h"

enum { BACKENDS_MAX = 4 };

/* What a backend is to its neighbours. */
enum kind { PROCESSES, CONTAINER, SENTRY, MACHINE, MODULE, CLUSTER };

static const struct {
    const char *name;
    enum kind kind;
} kinds[] = {{"process", PROCESSES},   {"oci", CONTAINER},   {"gvisor", SENTRY},
             {"firecracker", MACHINE}, {"qemu", MACHINE},    {"kata", MACHINE},
             {"wasm", MODULE},         {"wasmtime", MODULE}, {"wasmedge", MODULE},
             {"kubernetes", CLUSTER}};

static int kind_of(const char *name)
{
    for (size_t i = 0; i < TC_COUNT(kinds); i++)
        if (tc_streq(kinds[i].name, name))
            return (int)kinds[i].kind;
    return -1;
}

/* Names of backends with walls, each once. */
static bool read_names(struct tc_parse *p, struct tc_node *node, struct tc_strv *into)
{
    if (!tc_parse_is(p, node, TC_NODE_ARRAY))
        return false;
    bool fine = true;
    for (size_t i = 0; i < node->count; i++) {
        const struct tc_node *item = &node->items[i];
        const char *name = item->kind == TC_NODE_STRING ? item->text : "?";
        bool known = kind_of(name) >= 0, twice = tc_strv_has(into, name);
        if (!known)
            tc_parse_bad_in(p, node, item,
                            "the names are process, oci, gvisor, firecracker, qemu, kata, wasm, "
                            "wasmtime, wasmedge and kubernetes",
                            "\"%.60s\" is no backend with walls", name);
        else if (twice)
            tc_parse_bad_in(p, node, item, "name each backend once", "\"%s\" stands here twice",
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

/* Why `inner` cannot run within `outer`; NULL: it can. */
static const char *cannot_hold(enum kind outer, enum kind inner)
{
    if (inner == CLUSTER)
        return "a cluster can only be the outermost layer";
    if (outer == MODULE)
        return "a WebAssembly module holds nothing but itself";
    if (inner == MACHINE && (outer == MACHINE || outer == SENTRY))
        return "a virtual machine needs the host's /dev/kvm, which is not there";
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
        const char *why = cannot_hold((enum kind)kind_of(layers->items[i - 1]),
                                      (enum kind)kind_of(layers->items[i]));
        if (why)
            tc_parse_bad_in(p, node, &node->items[i], "the outermost layer stands first",
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
    if (kind_of(spec->backend) < 0)
        tc_parse_bad_key(p, fallback, "take one of the two keys out",
                         "backend %s refuses no call, so nothing would fall back", spec->backend);
}
