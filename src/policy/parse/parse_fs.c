/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The keys `filesystem` and `unix_sockets`: lists of paths. */
#include <stdio.h>
#include <string.h>

#include "base/path.h"
#include "policy/parse/parse.h"
#include "policy/pathrule.h"

enum { ENTRIES_MAX = 1024 };

char *tc_parse_path(struct tc_parse *p, const struct tc_node *node)
{
    struct tc_complaint c;
    char *path = NULL;
    if (!tc_parse_is(p, node, TC_NODE_STRING))
        return NULL;
    const char *dir = p->policy->files[TC_LINE_FILE(node->at.line)].dir;
    if (!dir) /* a profile: its paths start where those of the policy that extends it do */
        dir = p->policy->files[0].dir;
    bool relative = node->text[0] != '/' && node->text[0] != '~';
    if (!dir && relative) {
        tc_parse_bad(p, node, "write an absolute path", "a profile has no relative paths");
        return NULL;
    }
    int rc = tc_path_expand(node->text, dir ? dir : "/", p->policy->home, &path, &c);
    if (rc == TOOLCAGE_EMEMORY)
        p->diag.memory = true;
    else if (rc)
        tc_parse_complaint(p, node, &c);
    return path;
}

static void add_clean(struct tc_buf *out, const char *path)
{
    for (const char *at = path; *at;) {
        size_t n = strcspn(at, "/");
        if (at == path && !n && !out->len)
            tc_buf_addc(out, '/');
        else if (n && !(n == 1 && at[0] == '.'))
            tc_buf_addf(out, "%s%.*s", out->len && out->data[out->len - 1] != '/' ? "/" : "",
                        (int)n, at);
        at += n + (at[n] == '/');
    }
}

/* "data/" and "./data" get one spelling, so the digest depends neither on the spelling nor on where
 * the policy is. Paths of an extended file become relative to the first file's directory. */
void tc_parse_path_settle(struct tc_parse *p, struct tc_node *node, const char *prefix)
{
    _autobuf_ struct tc_buf out = TC_BUF_INIT;
    const char *said = p->policy->files[TC_LINE_FILE(node->at.line)].said;
    const char *path = node->text + strlen(prefix);
    if (said && path[0] != '/' && path[0] != '~')
        add_clean(&out, said);
    add_clean(&out, path);
    _autofree_ char *text = out.failed ? NULL : tc_format("%s%s", prefix, out.len ? out.data : ".");
    if (!text || !tc_node_become_string(node, text))
        p->diag.memory = true;
}

static const struct tc_fs_rule *find_rule(const struct tc_spec *spec, const char *path)
{
    for (size_t i = 0; i < spec->fs_count; i++)
        if (spec->fs[i].access != TC_ACCESS_DENY && tc_streq(spec->fs[i].path, path))
            return &spec->fs[i];
    for (size_t i = 0; i < spec->socket_count; i++)
        if (tc_streq(spec->sockets[i].path, path))
            return &spec->sockets[i];
    return NULL;
}

static struct tc_fs_rule *push_rule(struct tc_spec *spec, enum tc_access access)
{
    return access == TC_ACCESS_CONNECT ? TC_PUSH(spec->sockets, spec->socket_count)
                                       : TC_PUSH(spec->fs, spec->fs_count);
}

/* Takes the rule's strings. */
static void add_rule(struct tc_parse *p, const struct tc_node *node, struct tc_fs_rule *rule)
{
    struct tc_complaint c;
    const struct tc_fs_rule *twin = find_rule(p->spec, rule->path);
    struct tc_fs_rule *to = NULL;
    if (rule->access != TC_ACCESS_DENY &&
        !tc_path_grantable(rule->path, rule->from, rule->access, &c))
        tc_parse_complaint(p, node, &c);
    else if (rule->access != TC_ACCESS_DENY && twin && !tc_streq(twin->from, rule->from))
        tc_parse_bad(p, node, "use two names in the cage",
                     "\"%.100s\" is granted twice from different places (line %u)", rule->path,
                     TC_LINE_NUMBER(twin->line));
    else if (p->spec->fs_count + p->spec->socket_count == ENTRIES_MAX)
        tc_parse_bad(p, node, "grant a common parent directory", "more than %d filesystem entries",
                     ENTRIES_MAX);
    else if (!(to = push_rule(p->spec, rule->access)))
        p->diag.memory = true;
    if (to) {
        *to = *rule;
    } else {
        free(rule->path);
        free(rule->from);
    }
}

/* Sets the paths. The host path is `from`, else the same path, or the call's workspace for paths
 * under /workspace. */
static bool place_rule(struct tc_parse *p, struct tc_node *path, struct tc_node *from,
                       struct tc_fs_rule *rule)
{
    rule->path = tc_parse_path(p, path);
    if (!rule->path)
        return false;
    if (from && !(rule->from = tc_parse_path(p, from)))
        return false;
    if (!from && rule->access != TC_ACCESS_DENY && !tc_path_within(TC_WORKSPACE, rule->path) &&
        !(rule->from = tc_parse_copy(p, rule->path)))
        return false;
    tc_parse_path_settle(p, path, "");
    if (from)
        tc_parse_path_settle(p, from, "");
    return true;
}

static void read_entry_table(struct tc_parse *p, struct tc_node *node, struct tc_fs_rule *rule)
{
    struct tc_fs_rule said = {0};
    size_t before = p->diag.count + p->diag.more;
    tc_parse_table(p, TC_SCOPE_FS_ENTRY, node, &said);
    free(said.path);
    free(said.from);
    rule->optional = said.optional;
    struct tc_node *path = tc_node_get(node, "path"), *from = tc_node_get(node, "from");
    if (!path)
        tc_parse_bad(p, node, "add path = \"/data\"", "the entry has no path");
    if (path && before == p->diag.count + p->diag.more && place_rule(p, path, from, rule)) {
        add_rule(p, path, rule);
        /* { path = "x" } and "x" mean the same */
        if (node->count == 1 && !tc_node_become_string(node, path->text))
            p->diag.memory = true;
        return;
    }
    free(rule->path);
    free(rule->from);
}

static void read_path_entry(struct tc_parse *p, struct tc_node *node, enum tc_access access)
{
    struct tc_fs_rule rule = {.access = access, .line = node->at.line};
    if (node->kind == TC_NODE_TABLE && access != TC_ACCESS_DENY) {
        read_entry_table(p, node, &rule);
    } else if (tc_parse_is(p, node, TC_NODE_STRING)) {
        if (place_rule(p, node, NULL, &rule)) {
            add_rule(p, node, &rule);
        } else {
            free(rule.path);
            free(rule.from);
        }
    }
}

static void read_list(struct tc_parse *p, struct tc_node *node, enum tc_access access)
{
    if (!tc_parse_is(p, node, TC_NODE_ARRAY))
        return;
    size_t mark = tc_parse_enter(p, node->key);
    for (size_t i = 0; i < node->count; i++)
        read_path_entry(p, &node->items[i], access);
    tc_parse_leave(p, mark);
    node->unordered = true;
}

void tc_set_readable(struct tc_parse *p, const struct tc_key *key, struct tc_node *node, void *into)
{
    read_list(p, node, TC_ACCESS_READ);
}

void tc_set_writable(struct tc_parse *p, const struct tc_key *key, struct tc_node *node, void *into)
{
    read_list(p, node, TC_ACCESS_WRITE);
}

void tc_set_denied(struct tc_parse *p, const struct tc_key *key, struct tc_node *node, void *into)
{
    read_list(p, node, TC_ACCESS_DENY);
}

void tc_set_filesystem(struct tc_parse *p, const struct tc_key *key, struct tc_node *node,
                       void *into)
{
    if (node->kind == TC_NODE_STRING && tc_streq(node->text, "none")) {
        tc_node_become_empty(node, TC_NODE_TABLE);
        return;
    }
    if (node->kind != TC_NODE_TABLE)
        tc_parse_bad(p, node,
                     "write filesystem = \"none\" or filesystem = { readable = [\"/data\"] }",
                     "filesystem must be a table or \"none\"");
    else
        (void)tc_parse_inner(p, key->inner, node, into);
}

/* ---- steering files ---- */

void tc_set_steering_remove(struct tc_parse *p, const struct tc_key *key, struct tc_node *node,
                            void *into)
{
    const struct tc_steering *said = &((struct tc_spec *)into)->steering;
    tc_set_patterns(p, key, node, into);
    for (size_t i = 0; i < said->remove.count; i++)
        if (tc_steers(said, "", said->remove.items[i]) != TC_STEERS_NOT)
            tc_parse_bad(p, node,
                         "remove it; if a tool must write this file, grant exactly "
                         "that file",
                         "%s controls later calls", said->remove.items[i]);
}

void tc_set_steering(struct tc_parse *p, const struct tc_key *key, struct tc_node *node, void *into)
{
    const struct tc_steering *said = &((struct tc_spec *)into)->steering;
    if (tc_parse_inner(p, key->inner, node, into))
        tc_parse_apart(p, node, &said->add, &said->remove, "added and removed");
}

/* ---- unix sockets ---- */

static const char forms[] = "write unix_sockets = \"none\", \"own\" or an array of paths, as in "
                            "[\"/run/postgresql/.s.PGSQL.5432\"]";

static void read_socket(struct tc_parse *p, struct tc_node *node)
{
    bool word = node->kind == TC_NODE_STRING &&
                (tc_streq(node->text, "none") || tc_streq(node->text, "own"));
    if (word)
        tc_parse_bad(p, node,
                     tc_streq(node->text, "own") ? "remove it: an array includes them" : forms,
                     "\"%s\" is not the path of a socket", node->text);
    else
        read_path_entry(p, node, TC_ACCESS_CONNECT);
}

void tc_set_unix_sockets(struct tc_parse *p, const struct tc_key *key, struct tc_node *node,
                         void *into)
{
    bool own = node->kind == TC_NODE_STRING && tc_streq(node->text, "own");
    if (node->kind == TC_NODE_STRING && tc_streq(node->text, "none"))
        return;
    if (!own && (node->kind != TC_NODE_ARRAY || !node->count)) {
        tc_parse_bad(p, node, forms, "unix_sockets must be \"none\", \"own\" or an array of paths");
        return;
    }
    p->spec->unix_sockets = true;
    if (own)
        return;
    size_t mark = tc_parse_enter(p, "unix_sockets");
    for (size_t i = 0; i < node->count; i++)
        read_socket(p, &node->items[i]);
    tc_parse_leave(p, mark);
    node->unordered = true;
}
