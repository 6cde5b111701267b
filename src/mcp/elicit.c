/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Calls that need a person's approval: the client asks its user (elicitation/create), and the call
 * waits for the answer. What the model chose is escaped in the question. Without such a client the
 * call can wait in the queue instead (queue.c). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mcp/server.h"
#include "text/utf8.h"

enum {
    SHOWN_MAX = 8192, /* bytes of these members together; no call is approved that was not shown */
    WAITING_MAX = 8,  /* questions at the same time */
};

static const char *const shown[] = {"arguments", "command", "input",   "input_base64",
                                    "backend",   "network", "secrets", "environment"};

static void put_escaped(FILE *out, const char *text)
{
    uint32_t point;
    for (size_t left = strlen(text), n; left; text += n, left -= n) {
        n = tc_utf8_decode(text, left, &point);
        if (n && !tc_utf8_unshown(point))
            (void)fwrite(text, 1, n, out);
        else
            (void)fprintf(out, "\\u{%x}", n ? point : (unsigned char)*text);
        n = n ? n : 1;
    }
}

static void put_json(FILE *out, const char *label, const json_t *value)
{
    char *text = value ? json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
    if (!text)
        return;
    (void)fprintf(out, "\n%s: ", label);
    put_escaped(out, text);
    free(text);
}

/* The question; owned. NULL: out of memory. */
static char *write_question(const json_t *subject)
{
    static const char *const paths[] = {"files", "read", "write", "unix_sockets"};
    char *text = NULL;
    size_t size = 0, i;
    const json_t *file;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    (void)fputs("The model wants to run the tool ", out);
    put_escaped(out, json_string_value(json_object_get(subject, "tool")));
    (void)fputs(", which needs your approval.", out);
    for (i = 0; i < sizeof(shown) / sizeof(shown[0]); i++)
        put_json(out, shown[i], json_object_get(subject, shown[i]));
    for (size_t k = 0; k < sizeof(paths) / sizeof(paths[0]); k++)
        json_array_foreach(json_object_get(subject, paths[k]), i, file)
            put_json(out, paths[k], json_object_get(file, "path"));
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

static bool fits(const json_t *subject)
{
    size_t length = 0;
    for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++) {
        const json_t *value = json_object_get(subject, shown[i]);
        char *text = value ? json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
        length += text ? strlen(text) : 0;
        free(text);
    }
    return length <= SHOWN_MAX;
}

/* Too many waiting calls would keep the other tools from running. */
static bool is_crowded(const struct tc_mcp *server)
{
    size_t waiting = 0;
    for (size_t i = 0; i < server->call_count; i++)
        waiting += server->calls[i].digest != NULL;
    return waiting >= WAITING_MAX;
}

/* "yes" is a choice of its own, so that a client's button that is pressed by habit approves
 * nothing. */
static json_t *make_schema(void)
{
    return json_pack("{s:s, s:{s:{s:s, s:s, s:[s, s]}, s:{s:s, s:s, s:i}}, s:[s]}", "type",
                     "object", "properties", "answer", "type", "string", "title", "Run this call?",
                     "enum", "no", "yes", "reason", "type", "string", "title",
                     "If not: why? The model reads this", "maxLength", 500, "required", "answer");
}

static json_t *make_question(const json_t *subject)
{
    char *text = write_question(subject);
    json_t *params =
        text ? json_pack("{s:s, s:o}", "message", text, "requestedSchema", make_schema()) : NULL;
    free(text);
    return params;
}

static void put_id(unsigned long long asked, char id[TC_MCP_ASKED_SIZE])
{
    (void)snprintf(id, TC_MCP_ASKED_SIZE, "toolcage-%llu", asked);
}

static int take_answer(struct toolcage_call *call, const char *digest, const json_t *result,
                       struct toolcage_error **err)
{
    const char *action = json_string_value(json_object_get(result, "action"));
    const json_t *content = json_object_get(result, "content");
    const char *answer = json_string_value(json_object_get(content, "answer"));
    const char *reason = json_string_value(json_object_get(content, "reason"));
    if (!action)
        return toolcage_call_deny(call, "the client could not ask its user", err);
    if (strcmp(action, "accept") == 0 && answer && strcmp(answer, "yes") == 0)
        return toolcage_call_approve(call, digest, err);
    return toolcage_call_deny(call, reason && *reason ? reason : NULL, err);
}

/* ---- a connection: the question is a request to the client ---- */

static bool send_message(struct tc_mcp_call *c, json_t *message)
{
    struct tc_mcp_session *session = c->request.session;
    char *text = message ? json_dumps(message, JSON_COMPACT) : NULL;
    bool sent = text && session->send(session, c->request.asker, 0, text, strlen(text));
    session->server->failed |= !sent;
    free(text);
    json_decref(message);
    return sent;
}

static int send_question(struct tc_mcp_call *c, const json_t *subject, const char *digest)
{
    char id[TC_MCP_ASKED_SIZE];
    c->asked = ++c->request.session->server->asked;
    c->digest = strdup(digest);
    put_id(c->asked, id);
    bool sent = c->digest && send_message(c, json_pack("{s:s, s:s, s:s, s:o}", "jsonrpc", "2.0",
                                                       "id", id, "method", "elicitation/create",
                                                       "params", make_question(subject)));
    return sent ? TC_MCP_WAITS : TOOLCAGE_EMEMORY;
}

void tc_mcp_answered(struct tc_mcp_session *session, const json_t *id, const json_t *result)
{
    struct tc_mcp *server = session->server;
    const char *said = json_string_value(id);
    char asked[TC_MCP_ASKED_SIZE];
    for (size_t i = 0; said && i < server->call_count; i++) {
        struct tc_mcp_call *c = &server->calls[i];
        struct toolcage_error *err = NULL;
        put_id(c->asked, asked);
        if (c->request.session != session || !c->digest || c->wait || strcmp(asked, said) != 0)
            continue;
        if (take_answer(c->call, c->digest, result, &err) < 0)
            toolcage_error_free(err); /* start denies it */
        tc_mcp_start(server, i);
        return;
    }
}

void tc_mcp_unask(struct tc_mcp_call *c)
{
    char id[TC_MCP_ASKED_SIZE];
    put_id(c->asked, id);
    (void)send_message(c, json_pack("{s:s, s:s, s:{s:s, s:s}}", "jsonrpc", "2.0", "method",
                                    "notifications/cancelled", "params", "requestId", id, "reason",
                                    "the call was cancelled"));
}

/* ---- a stateless client: the question is the result, and the answer comes with another call ----
 */

static int answer_with_question(struct tc_mcp_call *c, const json_t *subject, const char *digest)
{
    struct tc_mcp *server = c->request.session->server;
    char id[TC_MCP_ASKED_SIZE], *copy = strdup(digest);
    unsigned long long asked = ++server->asked;
    size_t slot = asked % TC_MCP_OPEN_MAX;
    if (!copy)
        return TOOLCAGE_EMEMORY;
    free(server->open[slot].digest);
    server->open[slot].asked = asked;
    server->open[slot].digest = copy;
    put_id(asked, id);
    tc_mcp_answer(&c->request,
                  json_pack("{s:s, s:s, s:{s:{s:s, s:o}}}", "resultType", "input_required",
                            "requestState", id, "inputRequests", "approval", "method",
                            "elicitation/create", "params", make_question(subject)));
    return TC_MCP_ANSWERED;
}

/* Each question is answered once: a repeated call is another question. */
static int take_late_answer(struct tc_mcp_call *c, const json_t *params,
                            struct toolcage_error **err)
{
    struct tc_mcp *server = c->request.session->server;
    const char *state = json_string_value(json_object_get(params, "requestState"));
    const json_t *result = json_object_get(json_object_get(params, "inputResponses"), "approval");
    char id[TC_MCP_ASKED_SIZE];
    for (size_t i = 0; state && i < TC_MCP_OPEN_MAX; i++) {
        put_id(server->open[i].asked, id);
        if (!server->open[i].digest || strcmp(id, state) != 0)
            continue;
        char *digest = server->open[i].digest;
        server->open[i].digest = NULL;
        int rc = take_answer(c->call, digest, result, err);
        free(digest);
        return rc;
    }
    return toolcage_call_deny(c->call, "the question was answered already, or was not asked", err);
}

/* ---- both ---- */

bool tc_mcp_can_elicit(const json_t *capabilities)
{
    const json_t *ours = json_object_get(capabilities, "elicitation");
    return json_is_object(ours) && (json_object_get(ours, "form") || !json_object_get(ours, "url"));
}

static bool can_ask(const struct tc_mcp_call *c, const json_t *params)
{
    const json_t *meta = json_object_get(params, "_meta");
    if (!c->request.session->server->what->elicits)
        return false;
    return strcmp(c->request.version, TC_MCP_STATELESS) == 0
               ? tc_mcp_can_elicit(json_object_get(meta, TC_MCP_META "clientCapabilities"))
               : c->request.session->elicits;
}

/* The model's call is refused; a person may start it later. */
static int keep(struct tc_mcp_call *c, const json_t *subject, struct toolcage_error **err)
{
    const struct tc_mcp_tools *what = c->request.session->server->what;
    const json_t *arguments = json_object_get(subject, "arguments");
    const char *tool = json_string_value(json_object_get(subject, "tool"));
    char *text = arguments ? json_dumps(arguments, JSON_COMPACT) : strdup("{}");
    char *words = text && tool && what->keep ? what->keep(what->userdata, tool, text) : NULL;
    int rc = toolcage_call_deny(c->call, words, err);
    free(text);
    free(words);
    return rc < 0 ? rc : TC_MCP_STARTS; /* start refuses the call */
}

/* `text` is the request as JSON. */
static int ask(struct tc_mcp_call *c, const char *text, bool client, struct toolcage_error **err)
{
    json_t *request = json_loads(text, JSON_ALLOW_NUL, NULL);
    const json_t *subject = json_object_get(request, "subject");
    const char *digest = json_string_value(json_object_get(request, "digest"));
    const char *tier = json_string_value(json_object_get(subject, "tier"));
    int rc = TC_MCP_STARTS;
    if (tier && strcmp(tier, "ManualOnly") == 0)
        rc = keep(c, subject, err);
    else if (client && subject && !fits(subject))
        rc = toolcage_call_deny(c->call,
                                "it is too long to be shown to the client's user; `toolcage call` "
                                "at a terminal shows all of it",
                                err);
    else if (subject && digest && is_crowded(c->request.session->server))
        rc = toolcage_call_deny(c->call, "8 other calls wait for an approval: wait for one", err);
    else if (subject && digest && !client)
        rc = tc_mcp_enqueue(c, text, digest, err);
    else if (subject && digest)
        rc = strcmp(c->request.version, TC_MCP_STATELESS) == 0
                 ? answer_with_question(c, subject, digest)
                 : send_question(c, subject, digest);
    json_decref(request);
    return rc;
}

int tc_mcp_elicit(struct tc_mcp_call *c, const json_t *params, struct toolcage_error **err)
{
    char *text = NULL;
    bool client = can_ask(c, params);
    if (!client && !c->request.session->server->what->queues)
        return TC_MCP_STARTS; /* start refuses the call */
    if (client && json_is_object(json_object_get(params, "inputResponses")))
        return take_late_answer(c, params, err);
    struct toolcage_error *why = NULL;
    if (toolcage_call_approval_json(c->call, &text, &why) < 0) {
        bool ours = strcmp(toolcage_error_stage(why), "approve") == 0;
        int rc = ours ? toolcage_call_deny(c->call, toolcage_error_message(why), err) : 0;
        toolcage_error_free(why);
        return rc; /* start refuses the call */
    }
    int rc = ask(c, text, client, err);
    toolcage_free(text);
    return rc;
}
