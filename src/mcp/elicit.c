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

/* Bytes of these members together; no call is approved that was not shown. */
enum { SHOWN_MAX = 8192 };

static const char *const shown[] = {"arguments", "command", "input",   "input_base64",
                                    "backend",   "network", "secrets", "environment"};

static void put_json(FILE *out, const char *label, const json_t *value)
{
    char *text = value ? json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
    if (!text)
        return;
    (void)fprintf(out, "\n%s: ", label);
    tc_mcp_put_text(out, text, false);
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
    tc_mcp_put_text(out, json_string_value(json_object_get(subject, "tool")), false);
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

static json_t *make_question(const json_t *subject)
{
    char *text = write_question(subject);
    json_t *params = text ? json_pack("{s:s, s:o}", "message", text, "requestedSchema",
                                      tc_mcp_question_schema("Run this call?"))
                          : NULL;
    free(text);
    return params;
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

static int send_question(struct tc_mcp_call *c, const json_t *subject, const char *digest,
                         struct toolcage_error **err)
{
    c->digest = strdup(digest);
    if (c->digest && tc_mcp_ask_client(c, make_question(subject)))
        return TC_MCP_WAITS;
    if (!c->digest || c->request.session->server->failed)
        return TOOLCAGE_EMEMORY;
    int rc = toolcage_call_deny(c->call, "the client takes no event stream for the question", err);
    return rc < 0 ? rc : TC_MCP_STARTS; /* start refuses the call */
}

void tc_mcp_answered(struct tc_mcp_session *session, const json_t *id, const json_t *result)
{
    struct tc_mcp *server = session->server;
    const char *said = json_string_value(id);
    char asked[TC_MCP_ASKED_SIZE];
    for (size_t i = 0; said && i < server->call_count; i++) {
        struct tc_mcp_call *c = &server->calls[i];
        struct toolcage_error *err = NULL;
        tc_mcp_asked_id(c->asked, asked);
        if (c->request.session != session || !c->digest || c->wait || c->resumes ||
            strcmp(asked, said) != 0)
            continue;
        if (c->ended)
            tc_mcp_review_answered(c, result);
        else if (take_answer(c->call, c->digest, result, &err) < 0)
            toolcage_error_free(err); /* start denies it */
        tc_mcp_start(server, i);
        return;
    }
}

/* ---- a stateless client: the question is the result, and the answer comes with another call ----
 */

/* Of the questions; one that is not in use counts as the oldest. */
static size_t oldest_slot(const struct tc_mcp *server)
{
    size_t found = 0;
    for (size_t i = 0; i < TC_MCP_OPEN_MAX; i++) {
        if (!server->open[i].digest)
            return i;
        if (server->open[i].asked_ms < server->open[found].asked_ms)
            found = i;
    }
    return found;
}

static int answer_with_question(struct tc_mcp_call *c, const json_t *subject, const char *digest)
{
    struct tc_mcp *server = c->request.session->server;
    char *copy = strdup(digest);
    size_t slot = oldest_slot(server);
    free(server->open[slot].digest);
    server->open[slot].digest = copy;
    server->open[slot].asked_ms = tc_mcp_now_ms();
    if (!copy || !tc_mcp_make_state(server->open[slot].state))
        return TOOLCAGE_EMEMORY;
    tc_mcp_answer(&c->request,
                  json_pack("{s:s, s:s, s:{s:{s:s, s:o}}}", "resultType", "input_required",
                            "requestState", server->open[slot].state, "inputRequests", "approval",
                            "method", "elicitation/create", "params", make_question(subject)));
    return TC_MCP_ANSWERED;
}

/* Each question is answered once: a repeated call is another question. */
static int take_late_answer(struct tc_mcp_call *c, const json_t *params,
                            struct toolcage_error **err)
{
    struct tc_mcp *server = c->request.session->server;
    const char *state = json_string_value(json_object_get(params, "requestState"));
    const json_t *result = json_object_get(json_object_get(params, "inputResponses"), "approval");
    for (size_t i = 0; state && i < TC_MCP_OPEN_MAX; i++) {
        if (!server->open[i].digest || strcmp(server->open[i].state, state) != 0)
            continue;
        char *digest = server->open[i].digest;
        server->open[i].digest = NULL;
        int rc = tc_mcp_is_late(server, server->open[i].asked_ms)
                     ? toolcage_call_deny(c->call, "no answer came in time", err)
                     : take_answer(c->call, digest, result, err);
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

bool tc_mcp_can_ask(const struct tc_mcp_request *request, const json_t *params)
{
    const json_t *meta = json_object_get(params, "_meta");
    if (!request->session->server->what->elicits)
        return false;
    return strcmp(request->version, TC_MCP_STATELESS) == 0
               ? tc_mcp_can_elicit(json_object_get(meta, TC_MCP_META "clientCapabilities"))
               : request->session->elicits;
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
    else if (subject && digest && !client)
        rc = tc_mcp_enqueue(c, text, digest, err);
    else if (subject && digest && tc_mcp_is_crowded(c->request.session->server))
        rc = toolcage_call_deny(c->call, TC_MCP_CROWDED, err);
    else if (subject && digest)
        rc = strcmp(c->request.version, TC_MCP_STATELESS) == 0
                 ? answer_with_question(c, subject, digest)
                 : send_question(c, subject, digest, err);
    json_decref(request);
    return rc;
}

int tc_mcp_elicit(struct tc_mcp_call *c, const json_t *params, struct toolcage_error **err)
{
    char *text = NULL;
    bool client = c->asks;
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
