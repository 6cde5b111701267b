/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Approvals for the rest of this server (toolcage approvals approve ID --session): an equal call is
 * approved again without a person, for an hour. Equal is the digest of everything that an approval
 * covers, so another argument, file or policy is a new question. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "mcp/server.h"

enum { SECONDS = 3600 };

/* Suspended time counts. */
static int64_t now_s(void)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_BOOTTIME, &now);
    return now.tv_sec;
}

void tc_mcp_again_keep(struct tc_mcp *server, const char *digest)
{
    struct tc_mcp_again *slot = &server->again[server->again_next++ % TC_MCP_AGAIN_MAX];
    free(slot->digest);
    *slot = (struct tc_mcp_again){.digest = strdup(digest), .until_s = now_s() + SECONDS};
}

int64_t tc_mcp_again_count(struct tc_mcp *server, const char *digest)
{
    for (size_t i = 0; i < TC_MCP_AGAIN_MAX; i++) {
        struct tc_mcp_again *slot = &server->again[i];
        if (slot->digest && strcmp(slot->digest, digest) == 0 && now_s() < slot->until_s)
            return ++slot->count;
    }
    return 0;
}

void tc_mcp_again_done(struct tc_mcp *server)
{
    for (size_t i = 0; i < TC_MCP_AGAIN_MAX; i++) {
        free(server->again[i].digest);
        server->again[i].digest = NULL;
    }
}
