/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cli/adopt/places.h"

#include <stdlib.h>
#include <string.h>

/* clang-format off */
static const struct tc_adopt_place places[] = {
    {"Claude Code", ".claude.json", "CLAUDE_CONFIG_DIR", TC_BASE_HOME, ""},
    {"Claude Code", ".mcp.json", NULL, TC_BASE_PROJECT, ""},
    {"Claude Desktop", "claude_desktop_config.json", NULL, TC_BASE_CONFIG, "Claude/"},
    {"Codex", "config.toml", "CODEX_HOME", TC_BASE_HOME, ".codex/"},
    {"Codex", "config.toml", NULL, TC_BASE_PROJECT, ".codex/"},
    {"Copilot CLI", "mcp-config.json", NULL, TC_BASE_HOME, ".copilot/"},
    {"Cursor", "mcp.json", NULL, TC_BASE_HOME, ".cursor/"},
    {"Cursor", "mcp.json", NULL, TC_BASE_PROJECT, ".cursor/"},
    {"Gemini CLI", "settings.json", NULL, TC_BASE_HOME, ".gemini/"},
    {"Gemini CLI", "settings.json", NULL, TC_BASE_PROJECT, ".gemini/"},
    {"OpenClaw", "openclaw.json", NULL, TC_BASE_HOME, ".openclaw/"},
    {"OpenCode", "opencode.json", NULL, TC_BASE_CONFIG, "opencode/"},
    {"OpenCode", "opencode.jsonc", NULL, TC_BASE_CONFIG, "opencode/"},
    {"OpenCode", "config.json", NULL, TC_BASE_CONFIG, "opencode/"},
    {"OpenCode", "opencode.json", "OPENCODE_CONFIG_DIR", TC_BASE_VARIABLE, ""},
    {"OpenCode", "opencode.jsonc", "OPENCODE_CONFIG_DIR", TC_BASE_VARIABLE, ""},
    {"OpenCode", "opencode.json", NULL, TC_BASE_PROJECT, ""},
    {"OpenCode", "opencode.jsonc", NULL, TC_BASE_PROJECT, ""},
    {"OpenCode", "opencode.json", NULL, TC_BASE_PROJECT, ".opencode/"},
    {"OpenCode", "opencode.jsonc", NULL, TC_BASE_PROJECT, ".opencode/"},
    {"VS Code", "mcp.json", NULL, TC_BASE_CONFIG, "Code/User/"},
    {"VS Code", "settings.json", NULL, TC_BASE_CONFIG, "Code/User/"},
    {"VS Code", "mcp.json", NULL, TC_BASE_PROJECT, ".vscode/"},
    {"VS Code Insiders", "mcp.json", NULL, TC_BASE_CONFIG, "Code - Insiders/User/"},
    {"VSCodium", "mcp.json", NULL, TC_BASE_CONFIG, "VSCodium/User/"},
    {"Windsurf", "mcp_config.json", NULL, TC_BASE_HOME, ".codeium/windsurf/"},
    {"Zed", "settings.json", NULL, TC_BASE_CONFIG, "zed/"},
    {"Zed", "settings.json", NULL, TC_BASE_PROJECT, ".zed/"},
    {"Goose", "config.yaml", NULL, TC_BASE_CONFIG, "goose/"},
};
/* clang-format on */

const struct tc_adopt_place *tc_adopt_place_at(size_t index)
{
    return index < TC_COUNT(places) ? &places[index] : NULL;
}

/* $VARIABLE/REST without links in the directory; owned. NULL: no such directory. */
static char *join(const char *variable, const char *middle, const char *below, const char *path)
{
    const char *value = secure_getenv(variable);
    _autofree_ char *real = value && value[0] == '/' ? realpath(value, NULL) : NULL;
    return real ? tc_cli_format("%s/%s%s%s", real, middle, below, path) : NULL;
}

static bool is_set(const char *variable)
{
    const char *value = variable ? secure_getenv(variable) : NULL;
    return value && value[0] == '/';
}

char *tc_adopt_place_path(const struct tc_adopt_place *place, const char *project)
{
    if (is_set(place->variable))
        return join(place->variable, "", "", place->path);
    if (place->base == TC_BASE_VARIABLE)
        return NULL;
    if (place->base == TC_BASE_PROJECT)
        return project ? tc_cli_format("%s/%s%s", project, place->below, place->path) : NULL;
    if (place->base == TC_BASE_CONFIG && is_set("XDG_CONFIG_HOME"))
        return join("XDG_CONFIG_HOME", "", place->below, place->path);
    return join("HOME", place->base == TC_BASE_CONFIG ? ".config/" : "", place->below, place->path);
}

bool tc_adopt_place_is_own(const char *home, const char *path)
{
    for (size_t i = 0; i < TC_COUNT(places); i++) {
        const struct tc_adopt_place *place = &places[i];
        if (place->base != TC_BASE_HOME && place->base != TC_BASE_CONFIG)
            continue;
        _autofree_ char *own =
            tc_cli_format("%s/%s%s%s", home, place->base == TC_BASE_CONFIG ? ".config/" : "",
                          place->below, place->path);
        _autofree_ char *real = own ? realpath(own, NULL) : NULL;
        if (own && (!strcmp(own, path) || (real && !strcmp(real, path))))
            return true;
    }
    return false;
}

char *tc_adopt_place_project(const char *path)
{
    char *project = strdup(path), *slash = project ? strrchr(project, '/') : NULL;
    if (slash)
        *slash = '\0';
    for (size_t i = 0; slash && i < TC_COUNT(places); i++) {
        const char *below = places[i].base == TC_BASE_PROJECT ? places[i].below : "";
        size_t have = strlen(project), length = strlen(below);
        if (length && have >= length && project[have - length] == '/' &&
            !strncmp(project + have - length + 1, below, length - 1)) {
            project[have - length] = '\0';
            break;
        }
    }
    if (!project || *project)
        return project;
    free(project);
    return strdup("/");
}
