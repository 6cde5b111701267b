/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cli/adopt/places.h"

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
    {"OpenCode", "opencode.json", NULL, TC_BASE_PROJECT, ""},
    {"OpenCode", "opencode.jsonc", NULL, TC_BASE_PROJECT, ""},
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

static const char *absolute(const char *variable)
{
    const char *value = variable ? secure_getenv(variable) : NULL;
    return value && value[0] == '/' ? value : NULL;
}

char *tc_adopt_place_path(const struct tc_adopt_place *place, const char *project)
{
    const char *own = absolute(place->variable), *home = absolute("HOME"),
               *config = absolute("XDG_CONFIG_HOME");
    if (own)
        return tc_cli_format("%s/%s", own, place->path);
    if (place->base == TC_BASE_PROJECT)
        return project ? tc_cli_format("%s/%s%s", project, place->below, place->path) : NULL;
    if (place->base == TC_BASE_CONFIG && config)
        return tc_cli_format("%s/%s%s", config, place->below, place->path);
    return home ? tc_cli_format("%s/%s%s%s", home, place->base == TC_BASE_CONFIG ? ".config/" : "",
                                place->below, place->path)
                : NULL;
}
