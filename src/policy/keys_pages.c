/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Prints docs/policy: a page for each key, from the master table, with each example as a whole
 * policy in TOML and in YAML. A line "%% NAME" begins the file of that name.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/jsontext.h"
#include "base/strv.h"
#include "policy/keys.h"

/* Where keys of their own pages stand, and the tables whose keys stand on the page of another. */
static const enum tc_scope outer[] = {TC_SCOPE_FILE, TC_SCOPE_TOOL, TC_SCOPE_SERVER};
static const struct {
    const char *page;
    enum tc_scope scope;
} inner[] = {
    {"arguments", TC_SCOPE_ARGUMENT},
    {"backend", TC_SCOPE_OCI},
    {"backend", TC_SCOPE_GVISOR},
    {"env", TC_SCOPE_ENV},
    {"filesystem", TC_SCOPE_FILESYSTEM},
    {"filesystem", TC_SCOPE_FS_ENTRY},
    {"filesystem", TC_SCOPE_STEERING},
    {"memory", TC_SCOPE_MEMORY},
    {"network", TC_SCOPE_NET_ENTRY},
    {"output", TC_SCOPE_OUTPUT},
    {"risk", TC_SCOPE_CLASS},
    {"secrets", TC_SCOPE_SECRET},
    {"setup", TC_SCOPE_SETUP},
    {"syscalls", TC_SCOPE_SYSCALLS},
    {"test", TC_SCOPE_TEST},
    {"tier", TC_SCOPE_CLASS},
    {"workspace", TC_SCOPE_WORKSPACE},
};

static struct tc_buf all = TC_BUF_INIT;

/* ---- examples as whole policies -----------------------------------------------------------------
 */

/* What an example of this scope lacks before it and behind it; a tool's needs nothing more. */
static const struct {
    enum tc_scope scope;
    const char *before, *after;
} wraps[] = {
    {TC_SCOPE_FILE, "", ""},
    {TC_SCOPE_TOOL, "[tool.example]\n", ""},
    {TC_SCOPE_SERVER, "[server.example]\ncommand = [\"my-server\"]\n", ""},
    {TC_SCOPE_FILESYSTEM, "[tool.example]\n", ""},
    {TC_SCOPE_FS_ENTRY, "[tool.example]\nfilesystem.readable = [{ ", " }]"},
    {TC_SCOPE_NET_ENTRY, "[tool.example]\nnetwork = [{ ", " }]"},
    {TC_SCOPE_SECRET,
     "[tool.example]\nnetwork = [\"api.example.com\"]\n\n[tool.example.secrets.EXAMPLE]\n", ""},
    {TC_SCOPE_ARGUMENT,
     "[tool.example]\ncommand = [\"echo\", \"{*}\"]\n\n[tool.example.arguments.value]\n", ""},
    {TC_SCOPE_CLASS, "[tier.Assisted]\n", ""},
    {TC_SCOPE_SETUP, "[tool.example]\nsetup.command = [\"./install\"]\n", ""},
    {TC_SCOPE_OCI, "[backend.oci]\n", ""},
    {TC_SCOPE_GVISOR, "[backend.gvisor]\n", ""},
    {TC_SCOPE_TEST, "[tool.python]\n\n[[test]]\n", ""},
};

/* What a key does not go without. */
static const struct {
    enum tc_scope scope;
    const char *key, *with;
} company[] = {
    {TC_SCOPE_FILE, "test", "[tool.python]\n\n"},
    {TC_SCOPE_TOOL, "command", "arguments.path = { read = [\"/data\"] }\n"},
    {TC_SCOPE_TOOL, "stdin",
     "command = [\"python3\", \"-\"]\narguments.code = { type = \"string\" }\n"},
    {TC_SCOPE_WORKSPACE, "commit", "workspace.mode = \"overlay\"\n"},
    {TC_SCOPE_FILESYSTEM, "denied", "filesystem.readable = [\"/workspace\"]\n"},
    {TC_SCOPE_FS_ENTRY, "from", "path = \"/data\", "},
    {TC_SCOPE_FS_ENTRY, "optional", "path = \"/data\", "},
    {TC_SCOPE_NET_ENTRY, "port", "host = \"api.example.com\", "},
    {TC_SCOPE_NET_ENTRY, "methods", "host = \"api.example.com\", "},
    {TC_SCOPE_NET_ENTRY, "paths", "host = \"api.example.com\", "},
    {TC_SCOPE_SECRET, "from",
     "hosts = [\"api.example.com\"]\nheader = \"Authorization: Bearer {secret}\"\n"},
    {TC_SCOPE_SECRET, "hosts",
     "from = \"env:EXAMPLE_TOKEN\"\nheader = \"Authorization: Bearer {secret}\"\n"},
    {TC_SCOPE_SECRET, "header", "from = \"env:EXAMPLE_TOKEN\"\nhosts = [\"api.example.com\"]\n"},
    {TC_SCOPE_ARGUMENT, "minimum", "type = \"integer\"\n"},
    {TC_SCOPE_ARGUMENT, "maximum", "type = \"integer\"\n"},
    {TC_SCOPE_ARGUMENT, "exclusiveMinimum", "type = \"number\"\n"},
    {TC_SCOPE_ARGUMENT, "exclusiveMaximum", "type = \"number\"\n"},
    {TC_SCOPE_ARGUMENT, "multipleOf", "type = \"integer\"\n"},
    {TC_SCOPE_ARGUMENT, "default", "type = \"integer\"\n"},
    {TC_SCOPE_ARGUMENT, "items", "type = \"array\"\n"},
    {TC_SCOPE_ARGUMENT, "prefixItems", "type = \"array\"\n"},
    {TC_SCOPE_ARGUMENT, "minItems", "type = \"array\"\nitems = { type = \"string\" }\n"},
    {TC_SCOPE_ARGUMENT, "maxItems", "type = \"array\"\nitems = { type = \"string\" }\n"},
    {TC_SCOPE_ARGUMENT, "uniqueItems", "type = \"array\"\nitems = { type = \"string\" }\n"},
    {TC_SCOPE_ARGUMENT, "properties", "type = \"object\"\n"},
    {TC_SCOPE_ARGUMENT, "required", "type = \"object\"\nproperties.x = { type = \"integer\" }\n"},
    {TC_SCOPE_ARGUMENT, "additionalProperties", "type = \"object\"\n"},
    {TC_SCOPE_ARGUMENT, "patternProperties", "type = \"object\"\n"},
    {TC_SCOPE_ARGUMENT, "propertyNames", "type = \"object\"\nadditionalProperties = {}\n"},
    {TC_SCOPE_ARGUMENT, "minProperties", "type = \"object\"\nadditionalProperties = {}\n"},
    {TC_SCOPE_ARGUMENT, "maxProperties", "type = \"object\"\nadditionalProperties = {}\n"},
    {TC_SCOPE_ARGUMENT, "dependentRequired", "type = \"object\"\nadditionalProperties = {}\n"},
    {TC_SCOPE_ARGUMENT, "dependentSchemas", "type = \"object\"\nadditionalProperties = {}\n"},
    {TC_SCOPE_ARGUMENT, "contains", "type = \"array\"\n"},
    {TC_SCOPE_ARGUMENT, "minContains", "type = \"array\"\ncontains = { const = \"a\" }\n"},
    {TC_SCOPE_ARGUMENT, "maxContains", "type = \"array\"\ncontains = { const = \"a\" }\n"},
    {TC_SCOPE_ARGUMENT, "then", "if = { const = \"a\" }\n"},
    {TC_SCOPE_ARGUMENT, "else", "if = { const = \"a\" }\n"},
    {TC_SCOPE_SETUP, "inputs", "setup.into = \"/opt/deps\"\n"},
    {TC_SCOPE_TEST, "allowed", "tool = \"python\"\n"},
    {TC_SCOPE_TEST, "denied", "tool = \"python\"\n"},
    {TC_SCOPE_TEST, "arguments", "tool = \"python\"\n"},
    {TC_SCOPE_TEST, "call", "tool = \"python\"\n"},
};

/* Owned. */
static char *whole(const struct tc_key *key, enum tc_scope scope)
{
    const char *before = "[tool.example]\n", *after = "", *with = "";
    for (size_t i = 0; i < TC_COUNT(wraps); i++) {
        if (wraps[i].scope == scope) {
            before = wraps[i].before;
            after = wraps[i].after;
        }
    }
    for (size_t i = 0; i < TC_COUNT(company); i++)
        if (company[i].scope == scope && tc_streq(company[i].key, key->name))
            with = company[i].with;
    return tc_format("%s%s%s%s\n", before, with, key->example, after);
}

/* ---- YAML ---------------------------------------------------------------------------------------
 */

static bool is_plain(const char *text)
{
    static const char *const words[] = {"true", "false", "null", "yes", "no",
                                        "on",   "off",   "y",    "n"};
    size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-");
    for (size_t i = 0; i < TC_COUNT(words); i++)
        if (tc_streq(words[i], text))
            return false;
    return *text && !text[n] && !strchr("0123456789.-", *text);
}

static bool is_flat(const struct tc_node *node)
{
    bool flat = node->kind != TC_NODE_TABLE || !node->count;
    for (size_t i = 0; flat && node->kind == TC_NODE_ARRAY && i < node->count; i++)
        flat = is_flat(&node->items[i]);
    return flat;
}

static void put_text(struct tc_buf *out, const char *text)
{
    if (is_plain(text))
        tc_buf_adds(out, text);
    else
        tc_json_string(out, text, strlen(text));
}

static void put_flat(struct tc_buf *out, const struct tc_node *node)
{
    if (node->kind == TC_NODE_ARRAY) {
        tc_buf_addc(out, '[');
        for (size_t i = 0; i < node->count; i++) {
            tc_buf_adds(out, i ? ", " : "");
            put_flat(out, &node->items[i]);
        }
        tc_buf_addc(out, ']');
    } else if (node->kind == TC_NODE_TABLE) {
        tc_buf_adds(out, "{}");
    } else if (node->kind == TC_NODE_BOOL) {
        tc_buf_adds(out, node->integer ? "true" : "false");
    } else if (node->kind == TC_NODE_INTEGER) {
        tc_buf_addf(out, "%lld", (long long)node->integer);
    } else if (node->kind == TC_NODE_FLOAT) {
        tc_buf_addf(out, "%g", node->number);
    } else {
        put_text(out, node->text);
    }
}

static void put_table(struct tc_buf *out, const struct tc_node *table, int depth, bool item);

static void put_member(struct tc_buf *out, const struct tc_node *node, int depth)
{
    put_text(out, node->key);
    tc_buf_addc(out, ':');
    if (is_flat(node)) {
        tc_buf_addc(out, ' ');
        put_flat(out, node);
        tc_buf_addc(out, '\n');
    } else if (node->kind == TC_NODE_TABLE) {
        tc_buf_addc(out, '\n');
        put_table(out, node, depth + 1, false);
    } else {
        tc_buf_addc(out, '\n');
        for (size_t i = 0; i < node->count; i++) {
            tc_buf_addf(out, "%*s- ", 2 * (depth + 1), "");
            put_table(out, &node->items[i], depth + 2, true);
        }
    }
}

/* `item`: its first line has begun. */
static void put_table(struct tc_buf *out, const struct tc_node *table, int depth, bool item)
{
    for (size_t i = 0; i < table->count; i++) {
        if (i || !item)
            tc_buf_addf(out, "%*s", 2 * depth, "");
        put_member(out, &table->items[i], depth);
    }
}

static bool print_yaml(const char *text)
{
    _auto_(tc_document_done) struct tc_document document = {0};
    _autobuf_ struct tc_buf out = TC_BUF_INIT;
    if (!tc_document_read_toml(&document, text, strlen(text)))
        return false;
    put_table(&out, &document.root, 0, false);
    if (out.failed)
        return false;
    tc_buf_addf(&all, "```yaml\n%s```\n", out.data ? out.data : "");
    return true;
}

/* ---- pages --------------------------------------------------------------------------------------
 */

static void print_where(const struct tc_key *key)
{
    const char *before = "";
    tc_buf_addf(&all, "| Stands in | ");
    for (unsigned scope = 0; scope < TC_SCOPE_COUNT; scope++) {
        if (!(key->scopes & 1u << scope))
            continue;
        tc_buf_addf(&all, "%s%s", before, tc_scope_title((enum tc_scope)scope));
        before = ", ";
    }
    tc_buf_addf(&all, " |\n| --- | --- |\n");
}

static void print_fact(const char *name, const char *text)
{
    if (text && *text)
        tc_buf_addf(&all, "| %s | %s |\n", name, text);
}

static bool print_key(const struct tc_key *key, enum tc_scope scope)
{
    char range[256];
    tc_key_range(key, range, sizeof(range));
    tc_buf_addf(&all, "%s\n\n", key->text);
    print_where(key);
    print_fact("Type", key->type);
    print_fact("Range", range);
    print_fact("Absent", key->fallback);
    if (!key->set) {
        tc_buf_addf(&all,
                    "\nNot provided yet by this version: a policy that says it is refused.\n");
        return true;
    }
    if (!key->example)
        return false;
    _autofree_ char *text = whole(key, scope);
    if (!text)
        return false;
    tc_buf_addf(&all, "\n```toml\n%s```\n\n", text);
    return print_yaml(text);
}

static bool print_scope(enum tc_scope scope)
{
    tc_buf_addf(&all, "\n## Keys of %s\n", tc_scope_title(scope));
    for (const struct tc_key *key = tc_keys; key->name; key++) {
        if (!(key->scopes & 1u << scope) || (key->scopes & TC_IN(TOOL)))
            continue; /* those of a tool mean there what they do here */
        tc_buf_addf(&all, "\n### %s\n\n", key->name);
        if (!print_key(key, scope))
            return false;
    }
    return true;
}

static bool print_page(const char *name)
{
    const struct tc_key *shown = NULL;
    tc_buf_addf(&all, "%%%% %s.md\n# %s\n", name, name);
    for (size_t i = 0; i < TC_COUNT(outer); i++) {
        const struct tc_key *key = tc_key_find(outer[i], name);
        if (!key || key == shown)
            continue;
        if (shown)
            tc_buf_addf(&all, "\n## In %s\n", tc_scope_title(outer[i]));
        tc_buf_addf(&all, "\n");
        if (!print_key(key, outer[i]))
            return false;
        shown = key;
    }
    for (size_t i = 0; i < TC_COUNT(inner); i++)
        if (tc_streq(inner[i].page, name) && !print_scope(inner[i].scope))
            return false;
    tc_buf_addf(&all, "\n[All keys](README.md) · [Writing a policy](../policy.md)\n");
    return true;
}

/* The first place of this name among those that have pages. */
static bool is_first(const struct tc_key *key)
{
    const struct tc_key *at = tc_keys;
    const unsigned places = TC_IN(FILE) | TC_IN(TOOL) | TC_IN(SERVER);
    while (at != key && !((at->scopes & places) && tc_streq(at->name, key->name)))
        at++;
    return at == key && (key->scopes & places);
}

static void print_index(void)
{
    tc_buf_addf(&all, "%%%% README.md\n# Policy keys\n\nOne page each, from the table that the "
                      "parser itself uses. "
                      "[Writing a policy](../policy.md) tells how they go together.\n\n"
                      "| Key | What it says |\n| --- | --- |\n");
    for (const struct tc_key *key = tc_keys; key->name; key++)
        if (is_first(key))
            tc_buf_addf(&all, "| [%s](%s.md) | %s |\n", key->name, key->name, key->text);
}

int main(void)
{
    print_index();
    for (const struct tc_key *key = tc_keys; key->name; key++) {
        if (is_first(key) && !print_page(key->name)) {
            (void)fprintf(stderr, "keys_pages: %s has no example, or one that cannot be read\n",
                          key->name);
            return 1;
        }
    }
    bool fine =
        !all.failed && fwrite(all.data, 1, all.len, stdout) == all.len && fflush(stdout) == 0;
    tc_buf_done(&all);
    return fine ? 0 : 1;
}
