/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The form of a question to the client's user, and its way to the client. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "mcp/server.h"
#include "text/utf8.h"

enum { WAITING_MAX = 8 }; /* questions at the same time */

void tc_mcp_put_escaped(FILE *out, const char *text, size_t length, bool lines)
{
    uint32_t point;
    for (size_t left = length, n; left; text += n, left -= n) {
        n = tc_utf8_decode(text, left, &point);
        bool kept = lines && (*text == '\n' || *text == '\t');
        if (n && (kept || !tc_utf8_unshown(point)))
            (void)fwrite(text, 1, n, out);
        else
            (void)fprintf(out, "\\u{%x}", n ? point : (unsigned char)*text);
        n = n ? n : 1;
    }
}

char *tc_mcp_escape(const char *text, size_t length)
{
    char *escaped = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&escaped, &size);
    if (!out)
        return NULL;
    tc_mcp_put_escaped(out, text, length, false);
    if (fclose(out) == 0)
        return escaped;
    free(escaped);
    return NULL;
}

/* "yes" is a choice of its own, so that a client's button that is pressed by habit approves
 * nothing. */
json_t *tc_mcp_question_schema(const char *title)
{
    return json_pack("{s:s, s:{s:{s:s, s:s, s:[s, s]}, s:{s:s, s:s, s:i}}, s:[s]}", "type",
                     "object", "properties", "answer", "type", "string", "title", title, "enum",
                     "no", "yes", "reason", "type", "string", "title",
                     "If not: why? The model reads this", "maxLength", 500, "required", "answer");
}

/* Too many waiting calls would keep the other tools from running. Calls whose client may never come
 * back (resume.c) have a limit of their own. */
bool tc_mcp_is_crowded(const struct tc_mcp *server)
{
    size_t waiting = 0;
    for (size_t i = 0; i < server->call_count; i++)
        waiting += server->calls[i].digest && !server->calls[i].resumes;
    return waiting >= WAITING_MAX;
}

void tc_mcp_asked_id(unsigned long long asked, char id[TC_MCP_ASKED_SIZE])
{
    (void)snprintf(id, TC_MCP_ASKED_SIZE, "toolcage-%llu", asked);
}

bool tc_mcp_make_state(char state[TC_MCP_STATE_SIZE])
{
    unsigned char bytes[(TC_MCP_STATE_SIZE - 1) / 2];
    if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
        return false;
    for (size_t i = 0; i < sizeof(bytes); i++)
        (void)snprintf(state + 2 * i, 3, "%02x", bytes[i]);
    return true;
}

static bool send_message(struct tc_mcp_call *c, json_t *message)
{
    struct tc_mcp_session *session = c->request.session;
    char *text = message ? json_dumps(message, JSON_COMPACT) : NULL;
    enum tc_mcp_told told =
        text ? session->request(session, c->request.asker, text, strlen(text)) : TC_MCP_LOST;
    session->server->failed |= told == TC_MCP_LOST;
    free(text);
    json_decref(message);
    return told == TC_MCP_TOLD;
}

bool tc_mcp_ask_client(struct tc_mcp_call *c, json_t *params)
{
    char id[TC_MCP_ASKED_SIZE];
    c->asked = ++c->request.session->server->asked;
    c->asked_ms = tc_mcp_now_ms();
    tc_mcp_asked_id(c->asked, id);
    return send_message(c, json_pack("{s:s, s:s, s:s, s:o}", "jsonrpc", "2.0", "id", id, "method",
                                     "elicitation/create", "params", params));
}

void tc_mcp_unask(struct tc_mcp_call *c)
{
    char id[TC_MCP_ASKED_SIZE];
    tc_mcp_asked_id(c->asked, id);
    (void)send_message(c, json_pack("{s:s, s:s, s:{s:s, s:s}}", "jsonrpc", "2.0", "method",
                                    "notifications/cancelled", "params", "requestId", id, "reason",
                                    "the call was cancelled"));
}
