/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "adopt/known.h"

#include <string.h>

#include "base/path.h"

#define BEARER "Authorization: Bearer {secret}"

static const struct tc_adopt_known rows[] = {
    {.package = "@modelcontextprotocol/server-filesystem",
     .program = "mcp-server-filesystem",
     .paths = true,
     .writable = true},
    {.package = "mcp-server-git", .option = "--repository"},
    {.package = "mcp-server-git", .option = "-r"},
    {.package = "@modelcontextprotocol/server-github",
     .program = "mcp-server-github",
     .host = "api.github.com",
     .variable = "GITHUB_PERSONAL_ACCESS_TOKEN",
     .header = BEARER},
    {.package = "@modelcontextprotocol/server-gitlab",
     .program = "mcp-server-gitlab",
     .host = "gitlab.com",
     .variable = "GITLAB_PERSONAL_ACCESS_TOKEN",
     .header = BEARER},
    {.package = "@modelcontextprotocol/server-slack",
     .program = "mcp-server-slack",
     .host = "slack.com",
     .variable = "SLACK_BOT_TOKEN",
     .header = BEARER},
    {.package = "@modelcontextprotocol/server-brave-search",
     .program = "mcp-server-brave-search",
     .host = "api.search.brave.com",
     .variable = "BRAVE_API_KEY",
     .header = "X-Subscription-Token: {secret}"},
    {.package = "@notionhq/notion-mcp-server",
     .program = "notion-mcp-server",
     .host = "api.notion.com",
     .variable = "NOTION_TOKEN",
     .header = BEARER},
};

size_t tc_adopt_package(const char *text)
{
    return (*text == '@') + strcspn(text + (*text == '@'), "@");
}

static bool names(const char *word, const struct tc_adopt_known *row)
{
    size_t length = tc_adopt_package(word);
    const char *modules = strstr(word, "/node_modules/");
    if (strlen(row->package) == length && !strncmp(word, row->package, length))
        return true;
    if (modules && tc_path_below(row->package, modules + strlen("/node_modules/")))
        return true;
    return tc_streq(tc_path_base(word), row->program ? row->program : row->package);
}

const struct tc_adopt_known *tc_adopt_known(const struct tc_strv *argv, size_t *ret_at)
{
    for (size_t i = 0; i < TC_COUNT(rows); i++)
        for (size_t at = 0; at < argv->count; at++) {
            bool option = !rows[i].option;
            for (size_t k = at + 1; k < argv->count; k++)
                option |= tc_streq(argv->items[k], rows[i].option);
            if (!names(argv->items[at], &rows[i]) || !option)
                continue;
            *ret_at = at;
            return &rows[i];
        }
    return NULL;
}
