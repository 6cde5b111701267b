/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Questions about staged changes for a stateless client: the response of the call is the question,
 * and the answer comes with an equal second call, which runs nothing and gets the result. Until
 * then the call that has ended is kept without a request. */
#include <string.h>

#include "mcp/server.h"

enum { KEPT_MAX = 4 }; /* a further one ends the oldest; its changes stay staged */

static const char key[] = "changes";

/* ---- the question ---- */

ssize_t tc_mcp_resume_excess(const struct tc_mcp *server)
{
    size_t count = 0, oldest = 0;
    for (size_t i = 0; i < server->call_count; i++) {
        const struct tc_mcp_call *c = &server->calls[i];
        if (!c->resumes)
            continue;
        if (!count++ || c->asked < server->calls[oldest].asked)
            oldest = i;
    }
    return count > KEPT_MAX ? (ssize_t)oldest : -1;
}

void tc_mcp_resume_ask(struct tc_mcp_call *c, json_t *params)
{
    const struct tc_mcp_request request = c->request;
    struct tc_mcp *server = request.session->server;
    c->asked = ++server->asked;
    c->asked_ms = tc_mcp_now_ms();
    server->failed |= !tc_mcp_make_state(c->state);
    tc_mcp_answer(&c->request,
                  json_pack("{s:s, s:s, s:{s:{s:s, s:o}}}", "resultType", "input_required",
                            "requestState", c->state, "inputRequests", key, "method",
                            "elicitation/create", "params", params));
    c->request = (struct tc_mcp_request){.session = &server->kept, .version = request.version};
    c->resumes = true;
    json_decref(c->token);
    c->token = NULL;
}

/* ---- the answer ---- */

static bool is_equal(const struct tc_mcp_call *c, const json_t *params)
{
    const char *name = json_string_value(json_object_get(params, "name"));
    const json_t *arguments = json_object_get(params, "arguments");
    return c->tool && name && strcmp(c->tool, name) == 0 &&
           (arguments ? json_equal(arguments, c->arguments) : !c->arguments);
}

/* An answer to the question whether a call may run comes with the call that it is about. */
static bool is_open(const struct tc_mcp *server, const char *state)
{
    for (size_t i = 0; state && i < TC_MCP_OPEN_MAX; i++)
        if (server->open[i].digest && strcmp(server->open[i].state, state) == 0)
            return true;
    return false;
}

static bool is_answer(const struct tc_mcp_request *request, const json_t *params)
{
    return request->session->server->what->elicits &&
           strcmp(request->version, TC_MCP_STATELESS) == 0 &&
           (json_object_get(params, "requestState") || json_object_get(params, "inputResponses"));
}

bool tc_mcp_resume(struct tc_mcp_request *request, const json_t *params, ssize_t *ret_index,
                   const json_t **ret_result)
{
    struct tc_mcp *server = request->session->server;
    const char *state = json_string_value(json_object_get(params, "requestState"));
    *ret_index = -1;
    *ret_result = json_object_get(json_object_get(params, "inputResponses"), key);
    if (!is_answer(request, params) || is_open(server, state))
        return false;
    for (size_t i = 0; state && *ret_result && i < server->call_count; i++) {
        struct tc_mcp_call *c = &server->calls[i];
        if (!c->resumes || strcmp(c->state, state) != 0 || !is_equal(c, params))
            continue;
        c->request = *request;
        c->resumes = false;
        *ret_index = (ssize_t)i;
        break;
    }
    return true;
}
