/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Progress of running calls, for clients that sent a token. Some clients end a call that has sent
 * no message for a minute. */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "mcp/server.h"

enum { FIRST_MS = 1000, EACH_MS = 5000 };

static int64_t now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void tc_mcp_progress_begin(struct tc_mcp_call *c, const json_t *params)
{
    json_t *token = json_object_get(json_object_get(params, "_meta"), "progressToken");
    if (!json_is_string(token) && !json_is_integer(token))
        return;
    c->token = json_incref(token);
    c->since_ms = now_ms();
    c->progress_ms = c->since_ms + FIRST_MS;
}

int tc_mcp_progress_ms(const struct tc_mcp *server)
{
    int64_t next = INT64_MAX, now = now_ms();
    for (size_t i = 0; i < server->call_count; i++)
        if (server->calls[i].token && server->calls[i].progress_ms < next)
            next = server->calls[i].progress_ms;
    return next == INT64_MAX ? -1 : next <= now ? 0 : (int)(next - now);
}

static void tell(struct tc_mcp_call *c, int64_t seconds)
{
    char words[64];
    (void)snprintf(words, sizeof(words), "%s for %" PRId64 " s",
                   c->digest ? "waiting for a person's approval" : "running", seconds);
    (void)tc_mcp_notify(c->request.session, c->request.asker, "notifications/progress",
                        json_pack("{s:O, s:I, s:s}", "progressToken", c->token, "progress",
                                  (json_int_t)seconds, "message", words));
}

void tc_mcp_progress(struct tc_mcp *server)
{
    int64_t now = now_ms();
    for (size_t i = 0; i < server->call_count; i++) {
        struct tc_mcp_call *c = &server->calls[i];
        if (!c->token || now < c->progress_ms)
            continue;
        c->progress_ms = now + EACH_MS;
        if (!c->cancelled && c->request.session)
            tell(c, (now - c->since_ms) / 1000);
    }
}
