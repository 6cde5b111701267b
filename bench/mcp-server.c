/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The smallest MCP server that bench/mcp can talk to: it answers at once and looks at nothing but a
 * request's id and method, so that what is measured around it is the wrapper. */
#include <stdio.h>
#include <string.h>

static const char *result_of(const char *request)
{
    if (strstr(request, "\"method\":\"tools/call\""))
        return "{\"content\":[{\"type\":\"text\",\"text\":\"done\"}],\"isError\":false}";
    if (strstr(request, "\"method\":\"tools/list\""))
        return "{\"tools\":[{\"name\":\"any\",\"inputSchema\":{\"type\":\"object\"}},"
               "{\"name\":\"checked\",\"inputSchema\":{\"type\":\"object\"}}]}";
    if (strstr(request, "\"method\":\"initialize\""))
        return "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{}},"
               "\"serverInfo\":{\"name\":\"bench\",\"version\":\"0\"}}";
    return NULL;
}

static void answer(const char *request)
{
    const char *id = strstr(request, "\"id\":"), *result = result_of(request);

    if (!id)
        return; /* a notification */
    id += strlen("\"id\":");
    printf("{\"jsonrpc\":\"2.0\",\"id\":%.*s,", (int)strcspn(id, ",}"), id);
    if (result)
        printf("\"result\":%s}\n", result);
    else
        printf("\"error\":{\"code\":-32601,\"message\":\"unknown method\"}}\n");
    fflush(stdout);
}

int main(void)
{
    static char line[65536];

    while (fgets(line, sizeof(line), stdin))
        answer(line);
    return 0;
}
