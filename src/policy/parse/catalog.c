/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "policy/parse/catalog.h"

#include <string.h>

#include "base/strv.h"

const struct tc_profile *tc_catalog_find(const char *module)
{
    if (!module || !tc_startswith(module, TC_CATALOG))
        return NULL;
    const char *name = module + strlen(TC_CATALOG), *pin = tc_module_pin(module);
    size_t n = pin ? (size_t)(pin - name) : strlen(name);
    for (const struct tc_profile *row = tc_catalog; row->name; row++)
        if (strlen(row->name) == n && memcmp(row->name, name, n) == 0)
            return row;
    return NULL;
}

static bool read_manifest(const struct tc_profile *row, struct tc_document *ret)
{
    return tc_document_read_toml(ret, row->text, strlen(row->text));
}

char *tc_catalog_description(const struct tc_profile *row)
{
    struct tc_document document = {0};
    const struct tc_node *words =
        read_manifest(row, &document) ? tc_node_get(&document.root, "description") : NULL;
    char *text = words ? strdup(words->text) : NULL;
    tc_document_done(&document);
    return text;
}

/* Gives nodes of a manifest the location of the `module` key, so that findings point there. */
static void settle_node(struct tc_node *node, struct tc_location at)
{
    node->at = node->key_at = at;
    for (size_t i = 0; i < node->count; i++)
        settle_node(&node->items[i], at);
}

/* These keys depend on each other: a tool that sets one of them gets none from the manifest. */
static bool is_interface(const char *key)
{
    return tc_streq(key, "command") || tc_streq(key, "stdin") || tc_streq(key, "arguments") ||
           tc_streq(key, "input_schema");
}

static bool says(const struct tc_node *tool, const char *key)
{
    bool interface = is_interface(key);
    for (size_t i = 0; i < tool->count; i++)
        if (tc_streq(tool->items[i].key, key) || (interface && is_interface(tool->items[i].key)))
            return true;
    return false;
}

static bool take_table(struct tc_node *tool, struct tc_node *from, struct tc_location at)
{
    struct tc_node *to = TC_PUSH(tool->items, tool->count);
    if (!to)
        return false;
    *to = *from;
    *from = (struct tc_node){0};
    settle_node(to, at);
    return true;
}

void tc_catalog_fill(struct tc_parse *p, struct tc_node *tool)
{
    const struct tc_node *module = tc_node_get(tool, "module");
    const struct tc_profile *row =
        module && module->kind == TC_NODE_STRING ? tc_catalog_find(module->text) : NULL;
    struct tc_document document = {0};
    if (!row)
        return;
    struct tc_location at = module->key_at;
    bool fine = read_manifest(row, &document);
    size_t own = tool->count;
    for (size_t i = 0; fine && i < document.root.count; i++) {
        struct tc_node *item = &document.root.items[i];
        struct tc_node before = {.items = tool->items, .count = own};
        fine = says(&before, item->key) || take_table(tool, item, at);
    }
    p->diag.memory |= !fine;
    tc_document_done(&document);
}
