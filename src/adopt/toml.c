/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Finds servers in Codex's settings (TOML): the tables of [mcp_servers]. Locations of the reader
 * become offsets, and a value whose text is not where its location says is left alone. */
#include <string.h>

#include "adopt/settings.h"
#include "document/document.h"

enum { BYTES_MAX = 4 << 20 };

struct toml {
    struct tc_adopt_reading *r;
    const char *text;
    size_t length;
};

/* SIZE_MAX: outside the text. */
static size_t offset_of(const struct toml *t, struct tc_location at)
{
    size_t start = 0;
    for (uint32_t line = 1; line < at.line; line++) {
        const char *end = memchr(t->text + start, '\n', t->length - start);
        if (!end)
            return SIZE_MAX;
        start = (size_t)(end - t->text) + 1;
    }
    return at.line && at.column && start + at.column - 1 < t->length ? start + at.column - 1
                                                                     : SIZE_MAX;
}

/* The literal of a string in one line; false: it is something else, or written over several. */
static bool literal_of(const struct toml *t, const struct tc_node *node, struct tc_adopt_range *ret)
{
    size_t at = node->kind == TC_NODE_STRING ? offset_of(t, node->at) : SIZE_MAX;
    if (at == SIZE_MAX || (t->text[at] != '"' && t->text[at] != '\''))
        return false;
    char quote = t->text[at];
    size_t end = at + 1;
    while (end < t->length && t->text[end] != quote && t->text[end] != '\n')
        end += quote == '"' && t->text[end] == '\\' ? 2 : 1;
    if (end >= t->length || t->text[end] != quote || (end == at + 1 && t->text[end + 1] == quote))
        return false;
    *ret = (struct tc_adopt_range){at, end + 1};
    bool escaped = quote == '"' && memchr(t->text + at, '\\', end - at);
    return escaped ||
           (node->len == end - at - 1 && !memcmp(t->text + at + 1, node->text, node->len));
}

/* Is the container at this location written in brackets? */
static bool opens_with(const struct toml *t, const struct tc_node *node, char bracket, size_t *ret)
{
    *ret = offset_of(t, node->at);
    return *ret != SIZE_MAX && t->text[*ret] == bracket;
}

static char *copy_text(const struct toml *t, const struct tc_node *node)
{
    char *copy = strdup(node->text);
    if (!copy)
        (void)tc_adopt_no_memory(t->r);
    return copy;
}

static bool read_args(const struct toml *t, struct tc_adopt_server *server,
                      const struct tc_node *args)
{
    struct tc_adopt_range range;
    size_t at;
    if (!args)
        return true;
    if (args->kind != TC_NODE_ARRAY || !opens_with(t, args, '[', &at)) {
        tc_adopt_unclear(server, "its args are not an array");
        return true;
    }
    server->args = (struct tc_adopt_range){at, at + 1};
    for (size_t i = 0; i < args->count; i++) {
        if (!literal_of(t, &args->items[i], &range)) {
            tc_adopt_unclear(server, "an argument is not a string in one line");
            return true;
        }
        if (!tc_adopt_add_item(t->r, server, copy_text(t, &args->items[i]), range))
            return false;
    }
    return true;
}

static bool read_env(const struct toml *t, struct tc_adopt_server *server,
                     const struct tc_node *env)
{
    struct tc_adopt_range value;
    size_t at;
    if (!env)
        return true;
    if (env->kind != TC_NODE_TABLE) {
        tc_adopt_unclear(server, "its env is not a table");
        return true;
    }
    server->env_inside = opens_with(t, env, '{', &at);
    server->env = (struct tc_adopt_range){at, at == SIZE_MAX ? 0 : at + 1};
    for (size_t i = 0; i < env->count; i++) {
        size_t key = offset_of(t, env->items[i].key_at);
        if (!literal_of(t, &env->items[i], &value) || key >= value.at) {
            tc_adopt_unclear(server, "a variable in its env is not a string in one line");
            return true;
        }
        char *name = strdup(env->items[i].key);
        if (!tc_adopt_add_variable(t->r, server, name, copy_text(t, &env->items[i]),
                                   (struct tc_adopt_range){key, value.end}))
            return false;
    }
    return true;
}

static bool read_command(const struct toml *t, struct tc_adopt_server *server,
                         const struct tc_node *command)
{
    if (!command)
        return true;
    if (!literal_of(t, command, &server->command)) {
        tc_adopt_unclear(server, "its command is not a string in one line");
        return true;
    }
    return tc_adopt_add_word(t->r, server, copy_text(t, command));
}

static bool read_server(const struct toml *t, const struct tc_node *table)
{
    size_t at = offset_of(t, table->key_at), open;
    const struct tc_node *command = tc_node_get(table, "command");
    struct tc_adopt_server *server =
        tc_adopt_add(t->r, "mcp_servers", table->key, at == SIZE_MAX ? 0 : at);
    if (!server)
        return false;
    if (tc_node_get(table, "cwd"))
        tc_adopt_unclear(server, "it names the directory in which it starts (cwd)");
    if (tc_node_get(table, "env_vars"))
        tc_adopt_unclear(server, "it gets variables of the agent (env_vars)");
    server->inside = opens_with(t, table, '{', &open);
    if (!read_command(t, server, command) || !read_args(t, server, tc_node_get(table, "args")) ||
        !read_env(t, server, tc_node_get(table, "env")))
        return false;
    tc_adopt_classify(server, tc_node_get(table, "url") != NULL);
    return true;
}

bool tc_adopt_read_toml(struct tc_adopt_reading *r)
{
    const struct tc_adopt_settings *s = r->settings;
    struct toml t = {r, s->plain, s->length};
    struct tc_document document = {0};
    bool fine =
        s->length <= BYTES_MAX || tc_adopt_fail(r, 0, "has more than %d MiB", BYTES_MAX >> 20);
    if (fine && !tc_document_read_toml(&document, s->plain, s->length)) {
        size_t at = document.memory ? 0 : offset_of(&t, document.error_at);
        fine = document.memory
                   ? tc_adopt_no_memory(r)
                   : tc_adopt_fail(r, at == SIZE_MAX ? 0 : at, "is not TOML: %.200s",
                                   document.error ? document.error : "it cannot be read");
    }
    const struct tc_node *servers = fine ? tc_node_get(&document.root, "mcp_servers") : NULL;
    for (size_t i = 0; fine && servers && servers->kind == TC_NODE_TABLE && i < servers->count; i++)
        fine = servers->items[i].kind != TC_NODE_TABLE || read_server(&t, &servers->items[i]);
    tc_document_done(&document);
    return fine;
}
