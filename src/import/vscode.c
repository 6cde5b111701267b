/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Visual Studio Code: the servers of mcp.json with their sandboxes, and the agent terminal's
 * sandbox in settings.json. */
#include <string.h>

#include "import/state.h"

#define TERMINAL "chat.tools.terminal.sandbox."

struct shared {
    const json_t *box; /* the sandbox that servers without their own use; NULL: none */
    bool used;
};

/* Is it a valid name of a tool or server in a policy? */
static bool is_name(const char *name)
{
    size_t n = strlen(name);
    return n && n <= 64 &&
           strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") == n;
}

/* Has the text no braces? They mark variables of VS Code, and placeholders in a policy. */
static bool plain(const char *text)
{
    return text && !strchr(text, '{') && !strchr(text, '}');
}

/* The text for a policy: ${workspaceFolder} becomes /workspace, the workspace's path in a cage.
 * Owned; NULL: another variable, or out of memory. */
static char *word(const char *text)
{
    static const char folder[] = "${workspaceFolder}";
    if (tc_startswith(text, folder) && plain(text + strlen(folder)))
        return tc_format("/workspace%s", text + strlen(folder));
    return plain(text) ? strdup(text) : NULL;
}

static bool put_command(struct tc_settings_import *im, const char *name, const json_t *server)
{
    const json_t *args = json_object_get(server, "args");
    const char *program = json_string_value(json_object_get(server, "command"));
    struct tc_strv words = {0};
    bool fine = plain(program) && *program && (!args || json_is_array(args)) &&
                tc_strv_add(&words, program);
    for (size_t i = 0; fine && i < json_array_size(args); i++) {
        const char *text = json_string_value(json_array_get(args, i));
        char *one = text ? word(text) : NULL;
        fine = one && tc_strv_take(&words, one);
    }
    if (fine) {
        tc_buf_addf(&im->body, "\n[server.%s]\ncommand = [", name);
        for (size_t i = 0; i < words.count; i++) {
            tc_buf_adds(&im->body, i ? ", " : "");
            tc_import_text(im, words.items[i]);
        }
        tc_buf_adds(&im->body,
                    "]\n# toolcage wrap shows only tools with a line here: tool.NAME = {}\n");
    }
    tc_strv_done(&words);
    return fine;
}

static void put_env(struct tc_settings_import *im, const char *name, const json_t *env)
{
    const char *key;
    json_t *value;
    if (env && !json_is_object(env))
        tc_import_leave(im, "servers.%s.env: is not an object", name);
    json_object_foreach((json_t *)(uintptr_t)env, key, value) tc_import_leave(
        im, "servers.%s.env.%.80s: if the server needs it, write env.set or env.pass", name, key);
}

static void leave_keys(struct tc_settings_import *im, const char *name, const json_t *server)
{
    static const char *const known[] = {"type",    "command",        "args", "env",
                                        "sandbox", "sandboxEnabled", NULL};
    const json_t *type = json_object_get(server, "type");
    const char *transport = json_string_value(type);
    _autofree_ char *place = tc_format("servers.%s.", name);
    if (type && (!transport || strcmp(transport, "stdio") != 0))
        tc_import_leave(im, "servers.%s.type: only stdio is supported", name);
    if (place)
        tc_import_leave_others(im, place, "", server, known);
    else
        im->rc = TOOLCAGE_EMEMORY;
}

/* The member "sandbox" of a server or of the whole file; NULL: none. */
static const json_t *box_of(struct tc_settings_import *im, const char *place, const json_t *table)
{
    static const char *const known[] = {"filesystem", "network", NULL};
    const json_t *box = json_object_get(table, "sandbox");
    if (box && !json_is_object(box))
        tc_import_refuse(im, "sandbox", "must be an object");
    tc_import_leave_others(im, place, "", box, known);
    return box;
}

/* Does VS Code run the server in a sandbox? */
static bool boxed(struct tc_settings_import *im, const json_t *server)
{
    const json_t *enabled = json_object_get(server, "sandboxEnabled");
    if (enabled && !json_is_boolean(enabled))
        tc_import_refuse(im, "sandboxEnabled", "must be true or false");
    return json_is_true(enabled);
}

static void put_box(struct tc_settings_import *im, const char *name, const json_t *server,
                    struct shared *shared)
{
    _autofree_ char *place = tc_format("servers.%s.sandbox.", name);
    const json_t *box = place ? box_of(im, place, server) : NULL;
    if (!place)
        im->rc = TOOLCAGE_EMEMORY;
    shared->used |= !box;
    box = box ? box : shared->box;
    if (!im->rc)
        tc_import_box(im, place, json_object_get(box, "filesystem"),
                      json_object_get(box, "network"));
}

static void put_server(struct tc_settings_import *im, const char *name, const json_t *server,
                       struct shared *shared)
{
    if (!is_name(name) || !json_is_object(server) || !json_object_get(server, "command")) {
        tc_import_leave(im, "servers.%.80s: %s", name,
                        is_name(name) ? "does not run a command" : "not a valid server name");
        return;
    }
    if (!put_command(im, name, server)) {
        tc_import_leave(im, "servers.%s: its command has an unsupported variable or argument",
                        name);
        return;
    }
    put_env(im, name, json_object_get(server, "env"));
    leave_keys(im, name, server);
    if (boxed(im, server)) {
        put_box(im, name, server, shared);
        return;
    }
    tc_import_leave(
        im, "servers.%s: it runs without a sandbox in VS Code; the policy grants it nothing", name);
    tc_buf_adds(&im->body, "filesystem = \"none\"\nnetwork = \"none\"\n");
}

static void put_terminal(struct tc_settings_import *im, const json_t *root)
{
    const json_t *files = json_object_get(root, TERMINAL "linuxFileSystem"),
                 *network = json_object_get(root, TERMINAL "network");
    if (!files && !network) {
        if (json_is_true(json_object_get(root, TERMINAL "enabled")))
            tc_import_leave(im, TERMINAL "enabled: VS Code's default permissions are not granted");
        return;
    }
    tc_buf_adds(&im->body, "\n[defaults]\n");
    tc_import_box(im, TERMINAL, files, network);
}

void tc_import_vscode(struct tc_settings_import *im, const json_t *root)
{
    static const char *const known[] = {
        "servers",          "sandbox",          TERMINAL "linuxFileSystem",
        TERMINAL "network", TERMINAL "enabled", NULL};
    const json_t *servers = json_object_get(root, "servers");
    struct shared shared = {.box = box_of(im, "sandbox.", root)};
    const char *key;
    json_t *value;
    tc_import_leave_others(im, "", "", root, known);
    if (servers && !json_is_object(servers))
        tc_import_refuse(im, "servers", "must be an object");
    if (!im->rc)
        put_terminal(im, root);
    json_object_foreach((json_t *)(uintptr_t)servers, key, value) if (!im->rc)
        put_server(im, key, value, &shared);
    if (shared.box && !shared.used)
        tc_import_leave(im, "sandbox: no server here uses it");
}
