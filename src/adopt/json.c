/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Finds servers in JSON settings. mcp/scan.h returns values as slices of the text, so every value
 * has its position. */
#include <stdlib.h>
#include <string.h>

#include "adopt/settings.h"
#include "base/jsonc.h"
#include "mcp/scan.h"

/* Where agents have their servers; "*" is any key. */
static const char *const roots[][4] = {
    {"mcpServers"}, {"servers"},         {"mcp", "servers"},
    {"mcp"},        {"context_servers"}, {"projects", "*", "mcpServers"},
};

struct json {
    struct tc_adopt_reading *r;
    char *text; /* strict JSON with the positions of the settings */
};

static struct tc_adopt_range range_of(const struct json *j, struct tc_slice slice)
{
    size_t at = slice.at ? (size_t)(slice.at - j->text) : 0;
    return (struct tc_adopt_range){at, slice.at ? at + slice.length : 0};
}

/* Owned; NULL with the failure, also for a text with a NUL. */
static char *decode(const struct json *j, struct tc_slice string)
{
    size_t length = 0;
    char *text = tc_scan_text(string, &length);
    if (text && strlen(text) == length)
        return text;
    if (text)
        (void)tc_adopt_fail(j->r, range_of(j, string).at, "has a NUL in a string");
    else
        (void)tc_adopt_no_memory(j->r);
    free(text);
    return NULL;
}

/* ---- keys that are repeated ---- */

struct key {
    char *text;
    size_t at;
};

static int order_keys(const void *a, const void *b)
{
    const struct key *x = a, *y = b;
    int order = strcmp(x->text, y->text);
    return order ? order : x->at < y->at ? -1 : 1;
}

static bool compare_keys(const struct json *j, struct key *keys, size_t count)
{
    if (count)
        qsort(keys, count, sizeof(*keys), order_keys);
    for (size_t i = 1; i < count; i++)
        if (!strcmp(keys[i - 1].text, keys[i].text))
            return tc_adopt_fail(j->r, keys[i].at, "has the key \"%.60s\" twice", keys[i].text);
    return true;
}

/* Agents and toolcage could read different members of an object with a repeated key. */
static bool check_keys(const struct json *j, struct tc_slice object)
{
    struct key *keys = NULL;
    size_t count = 0;
    bool fine = true;
    for (struct tc_scan_each each = tc_scan_walk(object); fine && tc_scan_next(&each);) {
        struct key *key = TC_PUSH(keys, count);
        if (key) {
            key->at = range_of(j, each.key).at;
            key->text = decode(j, each.key);
        }
        fine = key && key->text;
        if (!key)
            (void)tc_adopt_no_memory(j->r);
    }
    fine = fine && compare_keys(j, keys, count);
    for (size_t i = 0; i < count; i++)
        free(keys[i].text);
    free(keys);
    return fine;
}

/* ---- one server ---- */

static bool read_list(const struct json *j, struct tc_adopt_server *server, struct tc_slice list)
{
    struct tc_scan_each each = tc_scan_walk(list);
    while (tc_scan_next(&each)) {
        if (!tc_scan_is_string(each.value)) {
            tc_adopt_unclear(server, "an argument is not a string");
            return true;
        }
        char *text = decode(j, each.value);
        if (!text || !tc_adopt_add_item(j->r, server, text, range_of(j, each.value)))
            return false;
    }
    return true;
}

static bool read_command(const struct json *j, struct tc_adopt_server *server,
                         struct tc_slice command)
{
    if (tc_scan_is_array(command)) {
        server->joined = true;
        server->command = range_of(j, command);
        return read_list(j, server, command);
    }
    if (!command.at)
        return true;
    if (!tc_scan_is_string(command)) {
        tc_adopt_unclear(server, "its command is not a string");
        return true;
    }
    server->command = range_of(j, command);
    char *text = decode(j, command);
    return text && tc_adopt_add_word(j->r, server, text);
}

static bool read_args(const struct json *j, struct tc_adopt_server *server, struct tc_slice object)
{
    struct tc_slice args;
    if (!tc_scan_member(object, "args", &args) || (args.at && !tc_scan_is_array(args))) {
        tc_adopt_unclear(server, "its args are repeated, or not an array");
        return true;
    }
    if (!args.at || server->joined)
        return true;
    server->args = range_of(j, args);
    for (struct tc_scan_each each = tc_scan_walk(object); tc_scan_next(&each);)
        if (each.value.at == args.at)
            server->args_member =
                (struct tc_adopt_range){range_of(j, each.key).at, server->args.end};
    return read_list(j, server, args);
}

/* The members of an object of strings, as variables. */
static bool read_variables(const struct json *j, struct tc_adopt_server *server,
                           struct tc_slice object)
{
    if (!check_keys(j, object))
        return false;
    for (struct tc_scan_each each = tc_scan_walk(object); tc_scan_next(&each);) {
        struct tc_adopt_range member = {range_of(j, each.key).at, range_of(j, each.value).end};
        if (!tc_scan_is_string(each.value)) {
            tc_adopt_unclear(server, "a variable in its env, or a header, is not a string");
            return true;
        }
        char *name = decode(j, each.key), *value = name ? decode(j, each.value) : NULL;
        if (!value) {
            free(name);
            return false;
        }
        if (!tc_adopt_add_variable(j->r, server, name, value, member))
            return false;
    }
    return true;
}

static bool read_env(const struct json *j, struct tc_adopt_server *server, struct tc_slice object)
{
    struct tc_slice env, other;
    if (!tc_scan_member(object, "env", &env) || !tc_scan_member(object, "environment", &other) ||
        (env.at && other.at)) {
        tc_adopt_unclear(server, "its env is repeated");
        return true;
    }
    env = env.at ? env : other;
    if (!env.at || tc_scan_is_null(env))
        return true;
    if (!tc_scan_is_object(env)) {
        tc_adopt_unclear(server, "its env is not an object");
        return true;
    }
    server->env = range_of(j, env);
    server->env_inside = true;
    return read_variables(j, server, env);
}

/* ---- a server at a URL ---- */

static bool is_among(struct tc_slice text, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (tc_scan_is(text, words[i]))
            return true;
    return false;
}

static bool read_url(const struct json *j, struct tc_adopt_server *server, struct tc_slice value,
                     struct tc_adopt_range member)
{
    if (server->url || !tc_scan_is_string(value)) {
        tc_adopt_unclear(server, "it has two URLs, or one that is not a string");
        return true;
    }
    server->url = decode(j, value);
    server->url_member = member;
    return server->url;
}

/* A login, or headers in another form, would be lost: OAuth, headersHelper, authProviderType,
 * bearerToken. */
static bool check_member(const struct json *j, struct tc_adopt_server *server, struct tc_slice key)
{
    static const char *const parts[] = {"auth", "header",      "token",
                                        "cert", "requestInit", "requestOptions"};
    _autofree_ char *name = decode(j, key);
    for (size_t i = 0; name && i < TC_COUNT(parts); i++)
        if (strcasestr(name, parts[i]) && strcmp(name, "headers") != 0)
            tc_adopt_unclear(server, "the agent logs in to it (OAuth), or sends it other headers");
    return name;
}

/* Every other member stays in the settings. */
static bool read_remote(const struct json *j, struct tc_adopt_server *server,
                        struct tc_slice object)
{
    static const char *const urls[] = {"url", "serverUrl", "httpUrl"};
    static const char *const types[] = {"http", "streamable-http", "streamableHttp", "remote"};
    for (struct tc_scan_each each = tc_scan_walk(object); tc_scan_next(&each);) {
        struct tc_adopt_range member = {range_of(j, each.key).at, range_of(j, each.value).end};
        struct tc_adopt_range *added = TC_PUSH(server->members, server->member_count);
        if (!added)
            return tc_adopt_no_memory(j->r);
        *added = member;
        if (!check_member(j, server, each.key))
            return false;
        if (is_among(each.key, urls, TC_COUNT(urls)) && !read_url(j, server, each.value, member))
            return false;
        if (tc_scan_is(each.key, "type") || tc_scan_is(each.key, "transport")) {
            server->type = range_of(j, each.value);
            if (!is_among(each.value, types, TC_COUNT(types)))
                tc_adopt_unclear(server, "not covered: remote, and not Streamable HTTP");
        }
        if (!tc_scan_is(each.key, "headers"))
            continue;
        server->headers_member = member;
        if (!tc_scan_is_object(each.value))
            tc_adopt_unclear(server, "its headers are not an object");
        else if (!read_variables(j, server, each.value))
            return false;
    }
    return true;
}

static bool is_remote(struct tc_slice object)
{
    static const char *const types[] = {"http",   "sse", "streamable-http", "streamableHttp",
                                        "remote", "ws",  "websocket"};
    static const char *const urls[] = {"url", "serverUrl", "httpUrl", "tcp"};
    struct tc_slice value;
    for (size_t i = 0; i < TC_COUNT(urls); i++)
        if (tc_scan_member(object, urls[i], &value) && value.at)
            return true;
    if (!tc_scan_member(object, "type", &value))
        return false;
    for (size_t i = 0; i < TC_COUNT(types); i++)
        if (tc_scan_is(value, types[i]))
            return true;
    return false;
}

static void check_surroundings(struct tc_adopt_server *server, struct tc_slice object)
{
    struct tc_slice path;
    if (!tc_scan_member(object, "envFile", &path) || path.at) /* toolcage would get them, too */
        tc_adopt_unclear(server, "its variables are in a file (envFile)");
    if (!tc_scan_member(object, "cwd", &path) || (path.at && !tc_scan_is_null(path)))
        tc_adopt_unclear(server, "it names the directory in which it starts (cwd)");
}

/* `quiet`: an object without a command and a URL is not a server. */
static bool read_server(const struct json *j, const char *where, const struct tc_scan_each *each,
                        bool quiet)
{
    struct tc_slice command, path, inner = each->value;
    bool remote = is_remote(inner), clear = tc_scan_member(inner, "command", &command);
    if (clear && !command.at && !remote && quiet)
        return true;
    if (!check_keys(j, inner))
        return false;
    _autofree_ char *name = decode(j, each->key);
    struct tc_adopt_server *server =
        name ? tc_adopt_add(j->r, where, name, range_of(j, each->key).at) : NULL;
    if (!server)
        return false;
    server->body = range_of(j, inner);
    if (!clear)
        tc_adopt_unclear(server, "its command is repeated");
    if (remote && !command.at && !read_remote(j, server, inner))
        return false;
    check_surroundings(server, inner);
    if (tc_scan_is_object(command)) { /* Zed's older form: path, args and env in one object */
        inner = command;
        if (!check_keys(j, inner))
            return false;
        if (!tc_scan_member(inner, "path", &path))
            tc_adopt_unclear(server, "its path is repeated");
        command = path;
    }
    if (!read_command(j, server, command) || !read_args(j, server, inner) ||
        !read_env(j, server, inner))
        return false;
    tc_adopt_classify(server, remote);
    return true;
}

/* ---- where servers are ---- */

static bool read_servers(const struct json *j, struct tc_slice object, const char *where)
{
    bool quiet = !tc_endswith(where, "mcpServers") && !tc_endswith(where, "context_servers");
    if (!tc_scan_is_object(object))
        return true;
    if (!check_keys(j, object))
        return false;
    for (struct tc_scan_each each = tc_scan_walk(object); tc_scan_next(&each);)
        if (tc_scan_is_object(each.value) && !read_server(j, where, &each, quiet))
            return false;
    return true;
}

static bool read_root(const struct json *j, struct tc_slice object, const char *const *keys,
                      const char *where)
{
    if (!*keys)
        return read_servers(j, object, where);
    if (!tc_scan_is_object(object))
        return true;
    if (*where && !check_keys(j, object))
        return false;
    for (struct tc_scan_each each = tc_scan_walk(object); tc_scan_next(&each);) {
        if (strcmp(*keys, "*") != 0 && !tc_scan_is(each.key, *keys))
            continue;
        _autofree_ char *key = decode(j, each.key);
        _autofree_ char *inner = key ? tc_format("%s%s%s", where, *where ? "." : "", key) : NULL;
        if (!inner)
            return tc_adopt_no_memory(j->r);
        if (!read_root(j, each.value, keys + 1, inner))
            return false;
    }
    return true;
}

static bool read_roots(const struct json *j, struct tc_slice whole)
{
    if (!whole.at)
        return tc_adopt_fail(j->r, 0,
                             "is not JSON in UTF-8 (comments and trailing commas are fine)");
    if (!tc_scan_is_object(whole))
        return tc_adopt_fail(j->r, 0, "is not a JSON object");
    if (!check_keys(j, whole))
        return false;
    for (size_t i = 0; i < TC_COUNT(roots); i++)
        if (!read_root(j, whole, roots[i], ""))
            return false;
    return true;
}

static bool is_blank(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (!strchr(" \t\r\n", text[i]) || !text[i])
            return false;
    return true;
}

bool tc_adopt_read_json(struct tc_adopt_reading *r)
{
    const struct tc_adopt_settings *s = r->settings;
    struct json j = {r, malloc(s->length + 1)};
    if (!j.text)
        return tc_adopt_no_memory(r);
    memcpy(j.text, s->plain, s->length);
    j.text[s->length] = '\0';
    (void)tc_jsonc_blank(j.text, s->length, SIZE_MAX, TC_JSONC_STRICT);
    bool fine = is_blank(j.text, s->length) || read_roots(&j, tc_scan_whole(j.text, s->length));
    free(j.text);
    return fine;
}
