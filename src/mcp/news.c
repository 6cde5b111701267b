/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Messages that belong to no call: another list of tools, another policy. A session gets them; a
 * stateless client subscribes to the list, with a request that stays open. */
#include <string.h>

#include "mcp/log.h"
#include "mcp/server.h"

enum {
    EACH_MS = 1000
}; /* between two messages about the list: one reports all changes before it */

static const char changed[] = "notifications/tools/list_changed";
static const char key[] = TC_MCP_META "subscriptionId";

void tc_session_begin_news(struct tc_mcp_session *session)
{
    session->list_seen = session->server->list_count;
    session->news_seen = session->server->news_count;
}

static void tell_list(struct tc_mcp_session *session, int64_t now)
{
    const struct tc_mcp *server = session->server;
    if (session->list_seen == server->list_count || now < session->list_ms)
        return;
    if (!tc_mcp_notify(session, NULL, changed, json_object()))
        return; /* later */
    session->list_seen = server->list_count;
    session->list_ms = now + EACH_MS;
}

static void tell_news(struct tc_mcp_session *session)
{
    struct tc_mcp *server = session->server;
    if (session->news_seen == server->news_count)
        return;
    if (!tc_mcp_log_session(session, server->news_level,
                            json_pack("{s:s, s:s}", "event", "policy", "text", server->news)))
        return; /* later */
    session->news_seen = server->news_count;
}

static void tell_subscription(struct tc_mcp_session *session, struct tc_mcp_subscription *sub,
                              int64_t now)
{
    const struct tc_mcp *server = session->server;
    if (!sub->id || !sub->tools || sub->list_seen == server->list_count || now < sub->list_ms)
        return;
    if (!tc_mcp_notify(session, sub->asker, changed, json_pack("{s:{s:O}}", "_meta", key, sub->id)))
        return;
    sub->list_seen = server->list_count;
    sub->list_ms = now + EACH_MS;
}

void tc_session_tell_news(struct tc_mcp_session *session)
{
    int64_t now = tc_mcp_now_ms();
    if (session->version) {
        tell_list(session, now);
        tell_news(session);
    }
    for (size_t i = 0; i < TC_MCP_SUBSCRIPTIONS; i++)
        tell_subscription(session, &session->subscriptions[i], now);
}

/* ---- subscriptions/listen ---- */

static struct tc_mcp_subscription *free_slot(struct tc_mcp_session *session)
{
    for (size_t i = 0; i < TC_MCP_SUBSCRIPTIONS; i++)
        if (!session->subscriptions[i].id)
            return &session->subscriptions[i];
    return NULL;
}

void tc_mcp_listen(struct tc_mcp_request *request, const json_t *params)
{
    struct tc_mcp_session *session = request->session;
    const json_t *wanted = json_object_get(params, "notifications");
    struct tc_mcp_subscription *slot = free_slot(session);
    bool tools =
        session->server->reload && json_is_true(json_object_get(wanted, "toolsListChanged"));
    if (!json_is_object(wanted)) {
        tc_mcp_refuse(request, TC_RPC_PARAMS, "notifications must be an object", NULL);
        return;
    }
    if (!slot || session->server->subscriptions >= TC_MCP_SUBSCRIPTIONS_MAX) {
        tc_mcp_refuse(request, TC_RPC_INTERNAL, "too many subscriptions: cancel one", NULL);
        return;
    }
    json_t *honoured = tools ? json_pack("{s:b}", "toolsListChanged", true) : json_object();
    if (!tc_mcp_notify(
            session, request->asker, "notifications/subscriptions/acknowledged",
            json_pack("{s:{s:O}, s:o}", "_meta", key, request->id, "notifications", honoured))) {
        tc_mcp_refuse(request, TC_RPC_REQUEST, "a subscription needs an event stream", NULL);
        return;
    }
    session->server->subscriptions++;
    *slot = (struct tc_mcp_subscription){.id = request->id,
                                         .asker = request->asker,
                                         .tools = tools,
                                         .list_seen = session->server->list_count};
    *request = (struct tc_mcp_request){0};
}

bool tc_session_listens(const struct tc_mcp_session *session, const json_t *id)
{
    for (size_t i = 0; i < TC_MCP_SUBSCRIPTIONS; i++)
        if (session->subscriptions[i].id && json_equal(session->subscriptions[i].id, id))
            return true;
    return false;
}

static void drop(struct tc_mcp_session *session, struct tc_mcp_subscription *sub)
{
    session->server->subscriptions -= sub->id != NULL;
    json_decref(sub->id);
    *sub = (struct tc_mcp_subscription){0};
}

void tc_session_unlisten(struct tc_mcp_session *session, const json_t *id)
{
    for (size_t i = 0; i < TC_MCP_SUBSCRIPTIONS; i++)
        if (!id || json_equal(session->subscriptions[i].id, id))
            drop(session, &session->subscriptions[i]);
}

void tc_session_end_subscriptions(struct tc_mcp_session *session)
{
    for (size_t i = 0; i < TC_MCP_SUBSCRIPTIONS; i++) {
        struct tc_mcp_subscription *sub = &session->subscriptions[i];
        if (!sub->id)
            continue;
        struct tc_mcp_request request = {.session = session,
                                         .id = json_incref(sub->id),
                                         .version = tc_mcp_stateless,
                                         .asker = sub->asker};
        tc_mcp_answer(&request, json_pack("{s:{s:O}}", "_meta", key, sub->id));
        drop(session, sub);
    }
}
