/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "mcp/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    DENIALS_MAX = 16, /* in one message */
    TEXT_MAX = 1024,  /* bytes of each text before it is escaped */
};

static const char *const levels[] = {"debug", "info",     "notice", "warning",
                                     "error", "critical", "alert",  "emergency"};

static enum tc_mcp_level read_level(const json_t *value)
{
    const char *word = json_string_value(value);
    for (size_t i = 0; word && i < sizeof(levels) / sizeof(levels[0]); i++)
        if (strcmp(levels[i], word) == 0)
            return (enum tc_mcp_level)(TC_MCP_DEBUG + i);
    return TC_MCP_SILENT;
}

void tc_mcp_log_set_level(struct tc_mcp_request *request, const json_t *params)
{
    enum tc_mcp_level level = read_level(json_object_get(params, "level"));
    if (level == TC_MCP_SILENT) {
        tc_mcp_refuse(request, TC_RPC_PARAMS,
                      "level is debug, info, notice, warning, error, critical, alert or emergency",
                      NULL);
        return;
    }
    request->session->level = level;
    tc_mcp_answer(request, json_object());
}

enum tc_mcp_level tc_mcp_log_level(const struct tc_mcp_request *request, const json_t *params)
{
    if (strcmp(request->version, TC_MCP_STATELESS) != 0)
        return request->session->level;
    return read_level(json_object_get(json_object_get(params, "_meta"), TC_MCP_META "logLevel"));
}

bool tc_mcp_log_wants(const struct tc_mcp_call *c, enum tc_mcp_level level)
{
    const struct tc_mcp_request *request = &c->request;
    if (!request->session || !request->version || c->cancelled || c->forgotten)
        return false;
    enum tc_mcp_level least =
        strcmp(request->version, TC_MCP_STATELESS) == 0 ? c->level : request->session->level;
    return least != TC_MCP_SILENT && level >= least;
}

static bool send_log(struct tc_mcp_session *session, void *asker, enum tc_mcp_level level,
                     json_t *data)
{
    return tc_mcp_notify(session, asker, "notifications/message",
                         json_pack("{s:s, s:s, s:o}", "level", levels[level - TC_MCP_DEBUG],
                                   "logger", "toolcage", "data", data));
}

bool tc_mcp_log(const struct tc_mcp_call *c, enum tc_mcp_level level, json_t *data)
{
    if (tc_mcp_log_wants(c, level))
        return send_log(c->request.session, c->request.asker, level, data);
    json_decref(data);
    return false;
}

bool tc_mcp_log_session(struct tc_mcp_session *session, enum tc_mcp_level level, json_t *data)
{
    if (session->level != TC_MCP_SILENT && level >= session->level)
        return send_log(session, NULL, level, data);
    json_decref(data);
    return true;
}

/* The client may print it at a terminal. */
static json_t *escape(const char *text)
{
    char *escaped = tc_mcp_escape(text, strnlen(text, TEXT_MAX));
    json_t *value = escaped ? json_string(escaped) : NULL;
    free(escaped);
    return value;
}

static json_t *begin_event(const char *event, const struct tc_mcp_call *c)
{
    return json_pack("{s:s, s:s*, s:s}", "event", event, "tool", c->tool, "call",
                     toolcage_call_id(c->call));
}

/* ---- the end of a call ---- */

static json_t *copy_denial(const json_t *denial)
{
    static const char *const texts[] = {"operation", "target", "key", "hint"};
    json_t *copy = json_object();
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        const char *text = json_string_value(json_object_get(denial, texts[i]));
        if (text)
            (void)json_object_set_new(copy, texts[i], escape(text));
    }
    (void)json_object_set(copy, "count", json_object_get(denial, "count"));
    return copy;
}

static void log_denials(const struct tc_mcp_call *c, const json_t *denials)
{
    json_t *event = json_array_size(denials) ? begin_event("denials", c) : NULL, *denial;
    json_t *copies = event ? json_array() : NULL;
    size_t i;
    json_array_foreach(denials, i, denial)
    {
        if (i < DENIALS_MAX)
            (void)json_array_append_new(copies, copy_denial(denial));
    }
    if (!event)
        return;
    if (i > DENIALS_MAX)
        (void)json_object_set_new(event, "omitted", json_integer((json_int_t)i - DENIALS_MAX));
    (void)json_object_set_new(event, "denials", copies);
    (void)tc_mcp_log(c, TC_MCP_WARNING, event);
}

static void log_held(const struct tc_mcp_call *c, const json_t *changes)
{
    json_int_t held = 0;
    size_t i;
    json_t *change;
    json_array_foreach(changes, i, change)
    {
        held += json_is_string(json_object_get(change, "held"));
    }
    json_t *event = held ? begin_event("held", c) : NULL;
    if (!event)
        return;
    (void)json_object_set_new(event, "changes", json_integer(held));
    (void)tc_mcp_log(c, TC_MCP_NOTICE, event);
}

static void log_refusal(const struct tc_mcp_call *c, const struct toolcage_result *result)
{
    const struct toolcage_error *why = toolcage_result_error(result);
    json_t *event = begin_event("refused", c);
    if (!event)
        return;
    (void)json_object_set_new(event, "text", escape(why ? toolcage_error_message(why) : ""));
    (void)tc_mcp_log(c, TC_MCP_WARNING, event);
}

void tc_mcp_log_result(const struct tc_mcp_call *c, const struct toolcage_result *result)
{
    if (!tc_mcp_log_wants(c, TC_MCP_WARNING))
        return;
    json_t *whole = json_loads(toolcage_result_json(result), JSON_ALLOW_NUL, NULL);
    if (toolcage_result_status(result) == TOOLCAGE_STATUS_DENIED)
        log_refusal(c, result);
    log_denials(c, json_object_get(whole, "denials"));
    log_held(c, json_object_get(whole, "changes"));
    json_decref(whole);
}

void tc_mcp_log_unknown(const struct tc_mcp_request *request, const json_t *params)
{
    const char *name = json_string_value(json_object_get(params, "name"));
    enum tc_mcp_level level = tc_mcp_log_level(request, params);
    if (level == TC_MCP_SILENT || level > TC_MCP_WARNING)
        return;
    (void)send_log(request->session, request->asker, TC_MCP_WARNING,
                   json_pack("{s:s, s:o, s:s}", "event", "refused", "tool",
                             escape(name ? name : ""), "text",
                             "the policy has no tool of this name"));
}
