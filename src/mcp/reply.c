/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Responses to requests. */
#include <stdlib.h>
#include <string.h>

#include "mcp/server.h"

#define META TC_MCP_META

const char tc_mcp_stateless[] = TC_MCP_STATELESS;

static bool is_stateless(const struct tc_mcp_request *request)
{
    return request->version == tc_mcp_stateless;
}

static void put_reply(const struct tc_mcp_request *request, int code, const json_t *message)
{
    struct tc_mcp_session *session = request->session;
    char *text = message ? json_dumps(message, JSON_COMPACT) : NULL;
    if (!text || !session->send(session, request->asker, code, text, strlen(text)))
        session->server->failed = true;
    free(text);
}

/* Takes ownership of `message`. */
static void reply(struct tc_mcp_request *request, int code, json_t *message)
{
    put_reply(request, code, message);
    json_decref(message);
    tc_mcp_drop(request);
}

void tc_mcp_drop(struct tc_mcp_request *request)
{
    json_decref(request->id);
    *request = (struct tc_mcp_request){0};
}

/* The name is also the title, because some clients display only the title. */
json_t *tc_mcp_server_info(const struct tc_mcp_session *session)
{
    const char *name = session->server->what->name;
    name = name ? name : "toolcage";
    return json_pack("{s:s, s:s, s:s}", "name", name, "title", name, "version", toolcage_version());
}

void tc_mcp_answer(struct tc_mcp_request *request, json_t *result)
{
    int rc = 0;
    if (result && is_stateless(request)) {
        json_t *meta = json_object_get(result, "_meta");
        if (!json_object_get(result, "resultType"))
            rc |= json_object_set_new(result, "resultType", json_string("complete"));
        if (!meta) {
            meta = json_object();
            rc |= json_object_set_new(result, "_meta", meta);
        }
        rc |= json_object_set_new(meta, META "serverInfo", tc_mcp_server_info(request->session));
    }
    if (rc < 0) {
        json_decref(result);
        result = NULL;
    }
    reply(request, 0,
          json_pack("{s:s, s:O, s:o}", "jsonrpc", "2.0", "id", request->id, "result", result));
}

void tc_mcp_refuse(struct tc_mcp_request *request, int code, const char *message, json_t *data)
{
    reply(request, code,
          json_pack("{s:s, s:O, s:{s:i, s:s, s:o*}}", "jsonrpc", "2.0", "id", request->id, "error",
                    "code", code, "message", message, "data", data));
}

void tc_session_refuse(struct tc_mcp_session *session, void *asker, int code, const char *message)
{
    struct tc_mcp_request unnamed = {.session = session, .asker = asker, .id = json_null()};
    tc_mcp_refuse(&unnamed, code, message, NULL);
}

void tc_session_refuse_unread(struct tc_mcp_session *session, void *asker, struct tc_rescue *rescue,
                              const char *message)
{
    const char *id;
    struct tc_mcp_request request = {.session = session, .asker = asker};
    if (tc_rescue_end(rescue, &id) == TC_RESCUED_REQUEST)
        request.id = json_loads(id, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    if (!request.id)
        request.id = json_null();
    tc_mcp_refuse(&request, TC_RPC_PARSE, message, NULL);
}

static const char replaced[] =
    "note: the request had unpaired surrogates (\\ud800 to \\udfff without their other half); each "
    "was replaced by U+FFFD";

json_t *tc_mcp_text_block(const char *text)
{
    return json_pack("{s:s, s:s}", "type", "text", "text", text);
}

void tc_mcp_answer_content(struct tc_mcp_request *request, json_t *content, json_t *meta,
                           bool error)
{
    if (content && request->replaced)
        (void)json_array_append_new(content, tc_mcp_text_block(replaced));
    tc_mcp_answer(
        request, json_pack("{s:o, s:b, s:o}", "content", content, "isError", error, "_meta", meta));
}

void tc_mcp_answer_text(struct tc_mcp_request *request, const char *text)
{
    tc_mcp_answer_content(request, json_pack("[o]", tc_mcp_text_block(text)), json_object(), true);
}
