/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "adopt/settings.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <toolcage/error.h>

#include "base/jsonc.h"
#include "base/path.h"

enum { DEPTH_MAX = 64 };

bool tc_adopt_fail(struct tc_adopt_reading *r, size_t at, const char *fmt, ...)
{
    va_list ap;
    if (r->rc)
        return false;
    r->rc = TOOLCAGE_EPOLICY;
    r->fault->line = 1;
    for (size_t i = 0; i < at && i < r->settings->length; i++)
        r->fault->line += r->settings->text[i] == '\n';
    va_start(ap, fmt);
    (void)vsnprintf(r->fault->text, sizeof(r->fault->text), fmt, ap);
    va_end(ap);
    return false;
}

bool tc_adopt_no_memory(struct tc_adopt_reading *r)
{
    r->rc = r->rc ? r->rc : TOOLCAGE_EMEMORY;
    return false;
}

struct tc_adopt_server *tc_adopt_add(struct tc_adopt_reading *r, const char *where,
                                     const char *name, size_t at)
{
    struct tc_adopt_settings *s = r->settings;
    if (s->server_count == TC_ADOPT_SERVERS_MAX) {
        (void)tc_adopt_fail(r, at, "has more than %d servers", TC_ADOPT_SERVERS_MAX);
        return NULL;
    }
    struct tc_adopt_server *server = TC_PUSH(s->servers, s->server_count);
    if (server) {
        server->where = strdup(where);
        server->name = strdup(name);
        server->line = 1;
        for (size_t i = 0; i < at; i++)
            server->line += s->text[i] == '\n';
    }
    if (!server || !server->where || !server->name) {
        (void)tc_adopt_no_memory(r);
        return NULL;
    }
    return server;
}

bool tc_adopt_add_word(struct tc_adopt_reading *r, struct tc_adopt_server *server, char *text)
{
    struct tc_strv words = {server->argv.items, server->argv.count};
    bool fine = tc_strv_take(&words, text);
    server->argv = (struct tc_adopt_words){words.items, words.count};
    return fine || tc_adopt_no_memory(r);
}

bool tc_adopt_add_item(struct tc_adopt_reading *r, struct tc_adopt_server *server, char *value,
                       struct tc_adopt_range range)
{
    if (!tc_adopt_add_word(r, server, value))
        return false;
    if (server->item_count == TC_ADOPT_ITEMS_MAX)
        return tc_adopt_fail(r, range.at, "has more than %d arguments", TC_ADOPT_ITEMS_MAX);
    struct tc_adopt_range *item = TC_PUSH(server->items, server->item_count);
    if (!item)
        return tc_adopt_no_memory(r);
    *item = range;
    return true;
}

bool tc_adopt_add_variable(struct tc_adopt_reading *r, struct tc_adopt_server *server, char *name,
                           char *value, struct tc_adopt_range member)
{
    bool full = server->variable_count == TC_ADOPT_ITEMS_MAX;
    struct tc_adopt_variable *variable =
        full || !name || !value ? NULL : TC_PUSH(server->variables, server->variable_count);
    if (!variable) {
        free(name);
        free(value);
        return full ? tc_adopt_fail(r, member.at, "has more than %d variables", TC_ADOPT_ITEMS_MAX)
                    : tc_adopt_no_memory(r);
    }
    *variable = (struct tc_adopt_variable){name, value, member};
    return true;
}

void tc_adopt_unclear(struct tc_adopt_server *server, const char *why)
{
    server->kind = TC_ADOPT_UNCLEAR;
    server->why = server->why ? server->why : why;
}

void tc_adopt_classify(struct tc_adopt_server *server, bool remote)
{
    const struct tc_adopt_words *argv = &server->argv;
    if (server->why)
        return;
    if (!server->command.end || !argv->count || !argv->items[0][0]) {
        server->kind = TC_ADOPT_REMOTE;
        if (!remote)
            tc_adopt_unclear(server, "it has neither a command nor a URL");
        return;
    }
    if (remote) { /* agents differ in which they use */
        tc_adopt_unclear(server, "it has both a command and a URL");
        return;
    }
    if (argv->count < 2 || !tc_streq(tc_path_base(argv->items[0]), "toolcage"))
        return;
    if (tc_streq(argv->items[1], "wrap"))
        server->kind = TC_ADOPT_WRAPPED;
    else if (tc_streq(argv->items[1], "mcp"))
        server->kind = TC_ADOPT_CAGED;
}

static void blank_mark(char *text, size_t length)
{
    if (length >= 3 && !memcmp(text, "\xef\xbb\xbf", 3))
        memset(text, ' ', 3);
}

int tc_adopt_read(enum tc_adopt_format format, const char *text, size_t length,
                  struct tc_adopt_settings *ret, struct tc_adopt_fault *fault)
{
    struct tc_adopt_reading r = {.settings = ret, .fault = fault};
    *ret = (struct tc_adopt_settings){.format = format, .text = text, .length = length};
    *fault = (struct tc_adopt_fault){0};
    if (length > TC_ADOPT_BYTES_MAX) {
        (void)tc_adopt_fail(&r, 0, "has more than %d MiB", TC_ADOPT_BYTES_MAX >> 20);
        fault->line = 0;
        return r.rc;
    }
    ret->plain = malloc(length + 1);
    if (!ret->plain)
        return TOOLCAGE_EMEMORY;
    memcpy(ret->plain, text, length);
    ret->plain[length] = '\0';
    blank_mark(ret->plain, length);
    if (format == TC_ADOPT_JSON &&
        !tc_jsonc_blank(ret->plain, length, DEPTH_MAX, TC_JSONC_COMMENTS))
        (void)tc_adopt_fail(&r, 0, "is nested more than %d levels deep", DEPTH_MAX);
    else if (format == TC_ADOPT_JSON)
        (void)tc_adopt_read_json(&r);
    else
        (void)tc_adopt_read_toml(&r);
    return r.rc;
}

static void free_server(struct tc_adopt_server *server)
{
    free(server->where);
    free(server->name);
    for (size_t i = 0; i < server->argv.count; i++)
        free(server->argv.items[i]);
    free(server->argv.items);
    free(server->items);
    for (size_t i = 0; i < server->variable_count; i++) {
        free(server->variables[i].name);
        free(server->variables[i].value);
    }
    free(server->variables);
    free(server->url);
    free(server->members);
}

void tc_adopt_settings_done(struct tc_adopt_settings *settings)
{
    for (size_t i = 0; i < settings->server_count; i++)
        free_server(&settings->servers[i]);
    free(settings->servers);
    free(settings->plain);
    *settings = (struct tc_adopt_settings){0};
}

const struct tc_adopt_server *tc_adopt_find(const struct tc_adopt_settings *settings,
                                            const struct tc_adopt_server *like)
{
    for (size_t i = 0; i < settings->server_count; i++)
        if (tc_streq(settings->servers[i].where, like->where) &&
            tc_streq(settings->servers[i].name, like->name))
            return &settings->servers[i];
    return NULL;
}

size_t tc_adopt_policies_of(const struct tc_adopt_server *server, const char **ret)
{
    const struct tc_adopt_words *argv = &server->argv;
    size_t count = 0;
    *ret = NULL;
    for (size_t i = 2; i < argv->count && !tc_streq(argv->items[i], "--"); i++) {
        if (!tc_startswith(argv->items[i], "--policy"))
            continue;
        count++;
        if (argv->items[i][strlen("--policy")] == '=')
            *ret = argv->items[i] + strlen("--policy=");
        else if (i + 1 < argv->count)
            *ret = argv->items[++i];
    }
    return count;
}

bool tc_adopt_is_harmless(const char *name)
{
    static const char *const names[] = {"PATH", "HOME",     "TMPDIR",     "IFS",
                                        "ENV",  "BASH_ENV", "HOSTALIASES"};
    static const char *const starts[] = {"LD_",    "TOOLCAGE_", "XDG_", "GCONV_",   "MALLOC_",
                                         "GLIBC_", "LOC",       "RES_", "OPENSSL_", "SSL_"};
    for (size_t i = 0; i < TC_COUNT(starts); i++)
        if (tc_startswith(name, starts[i]))
            return false;
    return !TC_AMONG(names, name);
}

bool tc_adopt_has_variable(const char *text)
{
    for (const char *at = strchr(text, '$'); at; at = strchr(at + 1, '$'))
        if (at[1] == '{' || at[1] == '(' || at[1] == '_' || isalpha((unsigned char)at[1]))
            return true;
    return strstr(text, "{env:") || strstr(text, "{file:");
}
