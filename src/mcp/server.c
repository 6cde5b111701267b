/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "mcp/server.h"

#include <errno.h>
#include <stdlib.h>

#include "mcp/memory.h"

static int load_tools(struct tc_mcp *server, struct toolcage_error **err)
{
    char *text = NULL;
    int rc = toolcage_policy_tools_json(server->what->policy, "mcp", &text, err);
    if (rc < 0)
        return rc;
    server->tools = json_loads(text, JSON_ALLOW_NUL, NULL);
    toolcage_free(text);
    return server->tools ? 0 : TOOLCAGE_EMEMORY;
}

int tc_mcp_open(struct tc_mcp *server, const struct tc_mcp_tools *what, struct toolcage_error **err)
{
    *server = (struct tc_mcp){.what = what};
    tc_mcp_memory_watch();
    int rc = toolcage_engine_new(&server->engine, err);
    return rc == 0 ? load_tools(server, err) : rc;
}

void tc_mcp_close(struct tc_mcp *server)
{
    int saved = errno;
    for (size_t i = 0; i < server->call_count; i++) {
        tc_mcp_drop(&server->calls[i].request);
        (void)toolcage_call_unref(server->calls[i].call);
    }
    free(server->calls);
    json_decref(server->tools);
    (void)toolcage_engine_unref(server->engine);
    *server = (struct tc_mcp){0};
    errno = saved;
}

bool tc_mcp_is_broken(const struct tc_mcp *server)
{
    return server->failed || tc_mcp_starved();
}
