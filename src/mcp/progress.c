/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Progress of running calls, for clients that sent a token. Some clients end a call that has sent
 * no message for a minute. */
#include <inttypes.h>
#include <stdio.h>

#include "mcp/live.h"
#include "mcp/server.h"

enum { FIRST_MS = 1000, EACH_MS = 5000 };

void tc_mcp_progress_begin(struct tc_mcp_call *c, const json_t *params)
{
    json_t *token = json_object_get(json_object_get(params, "_meta"), "progressToken");
    if (!json_is_string(token) && !json_is_integer(token))
        return;
    c->token = json_incref(token);
    c->since_ms = tc_mcp_now_ms();
    c->progress_ms = c->since_ms + FIRST_MS;
}

static int64_t due_ms(const struct tc_mcp_call *c)
{
    int64_t live = tc_mcp_live_due(c);
    return c->token && c->progress_ms < live ? c->progress_ms : live;
}

int tc_mcp_progress_ms(const struct tc_mcp *server)
{
    int64_t next = INT64_MAX, now = tc_mcp_now_ms();
    for (size_t i = 0; i < server->call_count; i++) {
        int64_t due = due_ms(&server->calls[i]);
        next = due < next ? due : next;
    }
    return next == INT64_MAX ? -1 : next <= now ? 0 : (int)(next - now);
}

/* The value must grow with each message, so it is in ms where messages may be frequent. */
static json_t *measure(struct tc_mcp_call *c)
{
    int64_t now = tc_mcp_now_ms() - c->since_ms;
    if (!c->live)
        return json_integer(now / 1000);
    c->told_ms = now > c->told_ms ? now : c->told_ms + 1;
    return json_real((double)c->told_ms / 1000);
}

bool tc_mcp_progress_text(struct tc_mcp_call *c, const char *text)
{
    c->progress_ms = tc_mcp_now_ms() + EACH_MS;
    return tc_mcp_notify(c->request.session, c->request.asker, "notifications/progress",
                         json_pack("{s:O, s:o, s:s}", "progressToken", c->token, "progress",
                                   measure(c), "message", text));
}

static void tell_time(struct tc_mcp_call *c)
{
    char text[64];
    (void)snprintf(text, sizeof(text), "%s for %" PRId64 " s",
                   c->digest ? "waiting for a person's approval" : "running",
                   (tc_mcp_now_ms() - c->since_ms) / 1000);
    (void)tc_mcp_progress_text(c, text);
}

void tc_mcp_progress(struct tc_mcp *server)
{
    int64_t now = tc_mcp_now_ms();
    for (size_t i = 0; i < server->call_count; i++) {
        struct tc_mcp_call *c = &server->calls[i];
        bool heard = !c->cancelled && !c->forgotten && c->request.session;
        if (now >= tc_mcp_live_due(c))
            tc_mcp_live_send(c, now, false);
        if (!c->token || now < c->progress_ms)
            continue;
        c->progress_ms = now + EACH_MS;
        if (heard)
            tell_time(c);
    }
}
