/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Tools, servers, defaults and tiers, and the keys whose values are small tables. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/digest.h"
#include "policy/backends.h"
#include "policy/image_ref.h"
#include "policy/parse/catalog.h"
#include "policy/parse/parse.h"
#include "policy/parse/template.h"

enum { TOOLS_MAX = 4096, NAME_MAX_BYTES = 64, ARGV_BYTES_MAX = 128 << 10 };

bool tc_policy_tool_name(const char *name)
{
    size_t n = strlen(name);
    return n && n <= NAME_MAX_BYTES &&
           strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") == n;
}

static bool check_name(struct tc_parse *p, const struct tc_key *key, const struct tc_node *node,
                       const char *what)
{
    bool each = key->inner == TC_SCOPE_SERVER_TOOL && tc_streq(node->key, TC_EACH_TOOL);
    if (each || tc_policy_tool_name(node->key))
        return true;
    tc_parse_bad_key(p, node, "models accept letters, digits, _ and -, at most 64",
                     "\"%.80s\" is not a %s name", node->key, what);
    return false;
}

void tc_parse_spec(struct tc_parse *p, const struct tc_key *key, struct tc_node *node,
                   const char *name, void *into)
{
    struct tc_spec *outer = p->spec, *spec = into;
    size_t mark = tc_parse_enter(p, node->key);
    free(spec->prefix);
    spec->prefix = tc_parse_copy(p, p->path);
    spec->name = name ? tc_parse_copy(p, name) : NULL;
    spec->limits = tc_limits_default;
    p->spec = spec;
    tc_parse_table(p, key->inner, node, into);
    if (key->inner != TC_SCOPE_SERVER_TOOL)
        tc_parse_tool_finish(p, spec, node);
    p->spec = outer;
    tc_parse_leave(p, mark);
}

/* Parses a table of named tables, as [tool.NAME]; `read` parses each. */
static void read_named(struct tc_parse *p, const struct tc_key *key, struct tc_node *node,
                       const char *what, tc_key_set *read, void *into)
{
    if (!tc_parse_is(p, node, TC_NODE_TABLE))
        return;
    size_t mark = tc_parse_enter(p, node->key);
    for (size_t i = 0; i < node->count; i++)
        if (check_name(p, key, &node->items[i], what) &&
            tc_parse_is(p, &node->items[i], TC_NODE_TABLE))
            read(p, key, &node->items[i], into);
    tc_parse_leave(p, mark);
}

static void read_tool(struct tc_parse *p, const struct tc_key *key, struct tc_node *node,
                      void *into)
{
    struct tc_spec *spec = TC_PARSE_PUSH(p, p->policy->tools, p->policy->tool_count);
    if (!spec)
        return;
    spec->line = node->key_at.line;
    tc_catalog_fill(p, node);
    tc_parse_spec(p, key, node, node->key, spec);
}

void tc_set_tools(struct tc_parse *p, const struct tc_key *key, struct tc_node *node, void *into)
{
    if (node->kind == TC_NODE_TABLE && node->count > TOOLS_MAX)
        tc_parse_bad_key(p, node, "split the policy", "%zu tools are too many (at most %d)",
                         node->count, TOOLS_MAX);
    else
        read_named(p, key, node, "tool", read_tool, into);
}

void tc_set_defaults(struct tc_parse *p, const struct tc_key *key, struct tc_node *node, void *into)
{
    if (tc_parse_is(p, node, TC_NODE_TABLE))
        tc_parse_spec(p, key, node, NULL, &p->policy->defaults);
}

static void read_server_tool(struct tc_parse *p, const struct tc_key *key, struct tc_node *node,
                             void *into)
{
    struct tc_server *server = into;
    struct tc_spec *spec = TC_PARSE_PUSH(p, server->tools, server->tool_count);
    if (spec)
        tc_parse_spec(p, key, node, node->key, spec);
}

/* `into` is the server's spec, which is its first member. */
void tc_set_server_tools(struct tc_parse *p, const struct tc_key *key, struct tc_node *node,
                         void *into)
{
    read_named(p, key, node, "tool", read_server_tool, into);
}

static void read_server(struct tc_parse *p, const struct tc_key *key, struct tc_node *node,
                        void *into)
{
    struct tc_server *server = TC_PARSE_PUSH(p, p->policy->servers, p->policy->server_count);
    if (server)
        tc_parse_spec(p, key, node, node->key, server);
}

void tc_set_servers(struct tc_parse *p, const struct tc_key *key, struct tc_node *node, void *into)
{
    read_named(p, key, node, "server", read_server, into);
}

static void read_classes(struct tc_parse *p, struct tc_node *node, const char *const *words,
                         struct tc_class **classes, size_t *count)
{
    if (!tc_parse_is(p, node, TC_NODE_TABLE))
        return;
    size_t mark = tc_parse_enter(p, node->key);
    for (size_t i = 0; i < node->count; i++) {
        struct tc_node *one = &node->items[i];
        size_t w = 0;
        while (words[w] && !tc_streq(words[w], one->key))
            w++;
        if (!words[w]) {
            char hint[200];
            (void)snprintf(hint, sizeof(hint), "the names are %s, %s, %s and %s", words[0],
                           words[1], words[2], words[3]);
            tc_parse_bad_key(p, one, hint, "there is no %s \"%.60s\"", node->key, one->key);
            continue;
        }
        if (!tc_parse_is(p, one, TC_NODE_TABLE))
            continue;
        struct tc_class *row = TC_PARSE_PUSH(p, *classes, *count);
        if (!row)
            break;
        row->name = tc_parse_copy(p, one->key);
        row->line = one->key_at.line;
        (void)tc_parse_inner(p, TC_SCOPE_CLASS, one, row);
    }
    tc_parse_leave(p, mark);
}

void tc_set_tiers(struct tc_parse *p, const struct tc_key *key, struct tc_node *node, void *into)
{
    read_classes(p, node, tc_values_tier, &p->policy->tiers, &p->policy->tier_count);
}

void tc_set_risks(struct tc_parse *p, const struct tc_key *key, struct tc_node *node, void *into)
{
    read_classes(p, node, tc_values_risk, &p->policy->risks, &p->policy->risk_count);
}

/* The settings of one backend, stored as "BACKEND.KEY=VALUE" in canonical form. */
void tc_set_settings(struct tc_parse *p, const struct tc_key *key, struct tc_node *node, void *into)
{
    int64_t unused; /* the rows' setters store their values here */
    if (!tc_parse_inner(p, key->inner, node, &unused))
        return;
    for (size_t i = 0; i < node->count; i++) {
        const struct tc_node *one = &node->items[i];
        char *text = one->text ? tc_format("%s.%s=%s", key->name, one->key, one->text)
                               : tc_format("%s.%s=%" PRId64, key->name, one->key, one->integer);
        p->diag.memory |= !tc_strv_take(&p->policy->settings, text);
    }
}

void tc_set_command(struct tc_parse *p, const struct tc_key *key, struct tc_node *node, void *into)
{
    if (node->kind == TC_NODE_STRING) {
        _autofree_ char *hint =
            tc_format("write %s = [\"program\", \"argument\"]; no shell reads it", node->key);
        tc_parse_bad(p, node, hint, "%s must be an array of strings", node->key);
        return;
    }
    tc_set_ordered(p, key, node, into);
    if (node->kind == TC_NODE_ARRAY && !node->count)
        tc_parse_bad(p, node, "name a program, or leave the key out", "%s is empty", node->key);
    for (size_t i = 0; node->kind == TC_NODE_ARRAY && i < node->count; i++)
        if (node->items[i].len >= ARGV_BYTES_MAX)
            tc_parse_bad_in(p, node, &node->items[i], "pass it by stdin",
                            "the element is longer than 128 KiB");
    struct tc_hole hole;
    if (node->kind == TC_NODE_ARRAY && node->count && node->items[0].kind == TC_NODE_STRING &&
        (!node->items[0].len || tc_hole_find(node->items[0].text, &hole)))
        tc_parse_bad_in(p, node, &node->items[0], "write the program itself",
                        "no argument may choose the program");
}

void tc_set_stdin(struct tc_parse *p, const struct tc_key *key, struct tc_node *node, void *into)
{
    struct tc_spec *spec = into;
    if (!tc_parse_is(p, node, TC_NODE_STRING))
        return;
    free(spec->stdin_text);
    spec->stdin_text = tc_parse_copy(p, node->text);
}

/* Adds a member to a table that replaces a short form. */
static struct tc_node *add_member(struct tc_parse *p, struct tc_node *table, const char *key)
{
    struct tc_node *node = TC_PARSE_PUSH(p, table->items, table->count);
    if (node)
        node->key = tc_parse_copy(p, key);
    return node;
}

/* A table, or its short form, the value of `key`: "512MiB" means { max = "512MiB" }. False: the
 * short form. */
static bool read_limit(struct tc_parse *p, enum tc_scope scope, const char *key,
                       struct tc_node *node, void *into)
{
    bool text = node->kind == TC_NODE_STRING;
    if (node->kind == TC_NODE_TABLE)
        return tc_parse_inner(p, scope, node, into);
    tc_set_value(p, tc_key_find(p->keys, scope, key), node, into);
    if (!text || node->kind != TC_NODE_INTEGER)
        return false;
    int64_t value = node->integer;
    tc_node_become_empty(node, TC_NODE_TABLE);
    struct tc_node *member = add_member(p, node, key);
    if (member)
        tc_node_become_integer(member, value);
    return false;
}

static bool has_word(const struct tc_node *table, const char *key, const char *word)
{
    const struct tc_node *node = tc_node_get(table, key);
    return node && node->kind == TC_NODE_STRING && tc_streq(node->text, word);
}

void tc_set_memory(struct tc_parse *p, const struct tc_key *key, struct tc_node *node, void *into)
{
    struct tc_spec *spec = into;
    bool table = read_limit(p, TC_SCOPE_MEMORY, "max", node, spec);
    if (table && !tc_node_get(node, "max"))
        tc_parse_bad(p, node, "add max = \"512MiB\"", "memory has no max");
    spec->limits.memory_any = table && has_word(node, "by", "any");
}

void tc_set_output(struct tc_parse *p, const struct tc_key *key, struct tc_node *node, void *into)
{
    struct tc_spec *spec = into;
    if (read_limit(p, TC_SCOPE_OUTPUT, "limit", node, spec))
        spec->limits.output_kill = has_word(node, "over", "kill");
}

void tc_set_disk(struct tc_parse *p, const struct tc_key *key, struct tc_node *node, void *into)
{
    struct tc_spec *spec = into;
    tc_set_value(p, key, node, into);
    spec->limits.disk_set = true;
    spec->limits.inodes = TC_INODES_PER_DISK(spec->limits.disk);
}

static bool env_name_fine(const char *name)
{
    return name[0] && !strchr("0123456789", name[0]) &&
           strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") ==
               strlen(name);
}

void tc_set_env_pass(struct tc_parse *p, const struct tc_key *key, struct tc_node *node, void *into)
{
    tc_set_strings(p, key, node, into);
    for (size_t i = 0; node->kind == TC_NODE_ARRAY && i < node->count; i++) {
        const struct tc_node *item = &node->items[i];
        if (item->kind != TC_NODE_STRING || !item->len)
            continue;
        if (!env_name_fine(item->text))
            tc_parse_bad_in(p, node, item, "names are letters, digits and _; name each one",
                            "\"%.60s\" is not the name of a variable", item->text);
        else if (tc_startswith(item->text, "LD_") || tc_streq(item->text, "GCONV_PATH") ||
                 tc_streq(item->text, "GLIBC_TUNABLES"))
            tc_parse_bad_in(p, node, item, "if it is necessary, write its value with env.set",
                            "%.60s controls the program loader and is not passed on", item->text);
    }
}

void tc_set_env_set(struct tc_parse *p, const struct tc_key *key, struct tc_node *node, void *into)
{
    struct tc_spec *spec = into;
    if (!tc_parse_is(p, node, TC_NODE_TABLE))
        return;
    size_t mark = tc_parse_enter(p, "set");
    for (size_t i = 0; i < node->count; i++) {
        const struct tc_node *item = &node->items[i];
        if (!env_name_fine(item->key))
            tc_parse_bad_key(p, item, "names are letters, digits and _",
                             "\"%.60s\" is not the name of a variable", item->key);
        else if (tc_parse_is(p, item, TC_NODE_STRING) &&
                 !tc_strv_take(&spec->env_set, tc_format("%s=%s", item->key, item->text)))
            p->diag.memory = true;
    }
    tc_parse_leave(p, mark);
}

void tc_set_workspace(struct tc_parse *p, const struct tc_key *key, struct tc_node *node,
                      void *into)
{
    struct tc_spec *spec = into;
    if (!tc_parse_is(p, node, TC_NODE_TABLE))
        return;
    size_t mark = tc_parse_enter(p, node->key);
    spec->workspace = TC_WORKSPACE_AUTO;
    tc_parse_table(p, key->inner, node, spec);
    const struct tc_node *commit = tc_node_get(node, "commit");
    if (!commit && spec->workspace == TC_WORKSPACE_AUTO)
        spec->commit = TC_COMMIT_ALWAYS;
    bool holds = spec->commit == TC_COMMIT_ASK || spec->commit == TC_COMMIT_NEVER;
    if (commit && holds && spec->workspace == TC_WORKSPACE_BIND)
        tc_parse_bad(p, commit, "add mode = \"overlay\"",
                     "commit = \"%s\" needs changes that can be staged",
                     tc_values_commit[spec->commit]);
    tc_parse_leave(p, mark);
}

void tc_set_cwd(struct tc_parse *p, const struct tc_key *key, struct tc_node *node, void *into)
{
    struct tc_spec *spec = into;
    if (!tc_parse_is(p, node, TC_NODE_STRING))
        return;
    if (node->text[0] != '/') {
        tc_parse_bad(p, node, "write it as the tool sees it, as in \"/workspace\"",
                     "cwd must be an absolute path");
        return;
    }
    free(spec->cwd);
    spec->cwd = tc_parse_path(p, node);
    if (spec->cwd && !tc_node_become_string(node, spec->cwd))
        p->diag.memory = true;
}

static bool is_path(const char *text)
{
    static const char *const starts[] = {"/", "./", "../", "~/"};
    for (size_t i = 0; i < TC_COUNT(starts); i++)
        if (tc_startswith(text, starts[i]))
            return true;
    return false;
}

void tc_set_image(struct tc_parse *p, const struct tc_key *key, struct tc_node *node, void *into)
{
    struct tc_spec *spec = into;
    struct tc_image_ref ref;
    if (node->kind != TC_NODE_STRING || !is_path(node->text)) {
        const char *complaint =
            node->kind == TC_NODE_STRING && !tc_streq(node->text, TC_IMAGE_SYSTEM)
                ? tc_image_ref_parse(node->text, &ref)
                : NULL;
        if (complaint)
            tc_parse_bad(p, node, complaint, "\"%.80s\" is not the name of an image", node->text);
        tc_set_string(p, key, node, into);
        return;
    }
    free(spec->image);
    spec->image = tc_parse_path(p, node);
    if (!spec->image)
        return;
    tc_parse_path_settle(p, node, "");
    _autofree_ char *text = is_path(node->text) ? NULL : tc_format("./%s", node->text);
    if (!is_path(node->text) && (!text || !tc_node_become_string(node, text)))
        p->diag.memory = true;
}

static void take_catalog(struct tc_parse *p, const struct tc_node *node, struct tc_spec *spec)
{
    if (!tc_catalog_find(node->text)) {
        tc_parse_bad(p, node, "toolcage wasm list names them", "\"%.80s\" is not in the catalog",
                     node->text + strlen(TC_CATALOG));
        return;
    }
    free(spec->module);
    spec->module = tc_parse_copy(p, node->text);
}

/* A path, with an optional "@sha256:DIGEST" that stays part of it. */
void tc_set_module(struct tc_parse *p, const struct tc_key *key, struct tc_node *node, void *into)
{
    struct tc_spec *spec = into;
    const char *pin = node->kind == TC_NODE_STRING ? tc_module_pin(node->text) : NULL;
    if (pin && !tc_digest_valid(pin + 1)) {
        tc_parse_bad(p, node, "write @sha256: and the 64 lower-case digits that sha256sum prints",
                     "\"%.80s\" is not the digest of a module", pin + 1);
        return;
    }
    if (node->kind == TC_NODE_STRING && tc_startswith(node->text, TC_CATALOG)) {
        take_catalog(p, node, spec);
        return;
    }
    free(spec->module);
    spec->module = tc_parse_path(p, node);
    if (spec->module)
        tc_parse_path_settle(p, node, "");
}

void tc_set_programs(struct tc_parse *p, const struct tc_key *key, struct tc_node *node, void *into)
{
    tc_set_strings(p, key, node, into);
    for (size_t i = 0; node->kind == TC_NODE_ARRAY && i < node->count; i++)
        if (node->items[i].kind == TC_NODE_STRING && strpbrk(node->items[i].text, "/*?[ "))
            tc_parse_bad_in(p, node, &node->items[i],
                            "write the name alone, as in \"python3\"; grant directories with "
                            "filesystem.readable",
                            "\"%.60s\" is not the name of a program", node->items[i].text);
}

/* Names of clauses from tc_clauses_yielding(). */
void tc_set_without(struct tc_parse *p, const struct tc_key *key, struct tc_node *node, void *into)
{
    struct tc_spec *spec = into;
    char range[200], hint[240];
    if (!tc_parse_is(p, node, TC_NODE_ARRAY))
        return;
    node->unordered = true;
    spec->without = 0;
    tc_key_range(key, range, sizeof(range));
    (void)snprintf(hint, sizeof(hint), "these can be given up: %s", range);
    for (size_t i = 0; i < node->count; i++) {
        const struct tc_node *item = &node->items[i];
        tc_clauses named = 0;
        for (int c = 0; item->kind == TC_NODE_STRING && c < TC_CLAUSE_COUNT; c++)
            if (tc_streq(tc_clause_name((enum tc_clause)c), item->text))
                named = TC_CLAUSE_BIT(c) & tc_clauses_yielding();
        if (!named)
            tc_parse_bad_in(p, node, item, hint, "\"%.60s\" is not a clause that can be given up",
                            item->kind == TC_NODE_STRING ? item->text : "?");
        spec->without |= named;
    }
}
