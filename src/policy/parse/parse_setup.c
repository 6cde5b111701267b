/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The key `setup`: an install phase is a further table of capabilities, with the name "x.setup" and
 * two additional keys. */
#include <stdio.h>
#include <string.h>

#include "base/path.h"
#include "policy/names/system_paths.h"
#include "policy/parse/parse.h"
#include "policy/pathrule.h"

enum { INPUTS_MAX = 64 };

/* Is the path one that a cage or the install itself uses for other files? */
static bool is_taken(const char *path)
{
    static const char *const taken[] = {TC_WORKSPACE, TC_SETUP_PLACE, "/etc"};
    for (size_t i = 0; i < TC_COUNT(taken); i++)
        if (tc_path_within(taken[i], path))
            return true;
    return tc_system_path_private(path);
}

void tc_set_into(struct tc_parse *p, const struct tc_key *key, struct tc_node *node, void *into)
{
    static const char hint[] = "name a separate directory, as in \"/opt/deps\"";
    struct tc_spec *spec = into;
    struct tc_complaint c;
    if (!tc_parse_is(p, node, TC_NODE_STRING))
        return;
    if (node->text[0] != '/') {
        tc_parse_bad(p, node, hint, "into must be an absolute path, as the tool sees it");
        return;
    }
    _autofree_ char *path = tc_parse_path(p, node);
    if (!path)
        return;
    if (is_taken(path)) {
        tc_parse_bad(p, node, hint, "nothing can be installed into \"%.100s\"", path);
    } else if (!tc_path_grantable(path, NULL, TC_ACCESS_WRITE, &c)) {
        tc_parse_bad(p, node, hint, "%s", c.what);
    } else {
        p->diag.memory |= !tc_node_become_string(node, path);
        free(spec->into);
        spec->into = TAKE(path);
    }
}

/* A relative path without ".", ".." and empty components: it is also the path in the cage. */
static bool input_fine(const char *name)
{
    struct tc_complaint c;
    if (name[0] == '/' || name[0] == '~' || !tc_path_text_fine(name, &c))
        return false;
    for (const char *at = name; at; at = strchr(at, '/') ? strchr(at, '/') + 1 : NULL) {
        size_t n = strcspn(at, "/");
        if (n == 0 || (n == 1 && at[0] == '.') || (n == 2 && at[0] == '.' && at[1] == '.'))
            return false;
    }
    return true;
}

void tc_set_inputs(struct tc_parse *p, const struct tc_key *key, struct tc_node *node, void *into)
{
    struct tc_spec *spec = into;
    if (!tc_parse_is(p, node, TC_NODE_ARRAY))
        return;
    if (node->count > INPUTS_MAX)
        tc_parse_bad(p, node, "pack them into one archive", "more than %d inputs", INPUTS_MAX);
    node->unordered = true;
    for (size_t i = 0; i < node->count && i < INPUTS_MAX; i++) {
        const struct tc_node *item = &node->items[i];
        if (!tc_parse_is(p, item, TC_NODE_STRING))
            continue;
        if (!input_fine(item->text))
            tc_parse_bad_in(p, node, item,
                            "name files as seen from the policy file's directory, as in "
                            "\"requirements.txt\"",
                            "\"%.60s\" is not a file below the policy file's directory",
                            item->text);
        else if (tc_strv_has(&spec->inputs, item->text))
            tc_parse_bad_in(p, node, item, "name it once", "\"%.60s\" is there twice", item->text);
        else if (!tc_strv_add(&spec->inputs, item->text))
            p->diag.memory = true;
    }
}

static void check_setup(struct tc_parse *p, struct tc_spec *setup, const struct tc_node *node)
{
    static const char *const needed[] = {"command", "into"};
    for (size_t i = 0; i < TC_COUNT(needed); i++)
        if (!tc_node_get(node, needed[i]))
            tc_parse_bad_key(p, node,
                             i ? "add into = \"/opt/deps\": the directory that the tool sees"
                               : "add command = [\"pip\", \"install\", \"--target\", …]",
                             "the install phase names no %s", needed[i]);
    for (size_t i = 0; i < setup->fs_count; i++)
        if (setup->fs[i].access == TC_ACCESS_WRITE)
            tc_parse_bad_key(p, node, "remove filesystem.writable; write files to store to `into`",
                             "an install phase writes only to `into` and /tmp, not to "
                             "\"%.100s\"",
                             setup->fs[i].path);
}

static bool keep_canonical(struct tc_spec *setup, const struct tc_node *node)
{
    _autobuf_ struct tc_buf out = TC_BUF_INIT;
    tc_node_canonical(node, &out);
    setup->canonical = tc_buf_steal(&out);
    return setup->canonical != NULL;
}

void tc_set_setup(struct tc_parse *p, const struct tc_key *key, struct tc_node *node, void *into)
{
    struct tc_spec *outer = p->spec;
    if (!tc_parse_is(p, node, TC_NODE_TABLE))
        return;
    bool server = tc_spec_is_server(outer);
    _autofree_ char *name = tc_format("%s.setup", server        ? outer->prefix
                                                  : outer->name ? outer->name
                                                                : "");
    outer->setup = name ? calloc(1, sizeof(*outer->setup)) : NULL;
    if (!outer->setup) {
        p->diag.memory = true;
        return;
    }
    tc_parse_spec(p, key, node, name, outer->setup);
    if (!p->diag.memory) {
        check_setup(p, outer->setup, node);
        p->diag.memory |= !keep_canonical(outer->setup, node);
    }
}

/* The cache key covers the table and [defaults], from which it may inherit keys. */
static bool digest(struct tc_spec *setup, const struct tc_node *root)
{
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    const struct tc_node *defaults = tc_node_get(root, "defaults");
    if (!setup || !setup->canonical)
        return true;
    tc_buf_addf(&text, "{\"setup\":%s,\"defaults\":", setup->canonical);
    if (defaults)
        tc_node_canonical(defaults, &text);
    tc_buf_adds(&text, "}");
    if (!text.failed)
        tc_digest(text.data, text.len, setup->setup_digest);
    return !text.failed;
}

bool tc_parse_setup_digests(struct toolcage_policy *policy, const struct tc_node *root)
{
    bool fine = true;
    for (size_t i = 0; fine && i < policy->tool_count; i++)
        fine = digest(policy->tools[i].setup, root);
    for (size_t i = 0; fine && i < policy->server_count; i++)
        fine = digest(policy->servers[i].spec.setup, root);
    return fine;
}
