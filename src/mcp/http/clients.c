/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Sessions: each has an unguessable id. Their number is limited. A session ends by its client's
 * request, after idle time, or to make room for a new one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "mcp/http/web.h"

/* Skips sessions with a pending response. */
static struct tc_client *most_idle(const struct tc_web *web)
{
    struct tc_client *found = NULL;
    for (struct tc_client *client = web->clients; client; client = client->next)
        if (client->id[0] && !(client->old && client->stream) &&
            !tc_session_is_busy(&client->core) && (!found || client->used_ms < found->used_ms))
            found = client;
    return found;
}

static bool make_id(char id[65])
{
    unsigned char bytes[32];
    if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
        return false;
    for (size_t i = 0; i < sizeof(bytes); i++)
        (void)snprintf(id + 2 * i, 3, "%02x", bytes[i]);
    return true;
}

struct tc_client *tc_client_new(struct tc_web *web, bool once)
{
    if (!once && web->client_count >= TC_WEB_SESSIONS_MAX)
        tc_client_free(most_idle(web));
    if (!once && web->client_count >= TC_WEB_SESSIONS_MAX)
        return NULL;
    struct tc_client *client = calloc(1, sizeof(*client));
    if (!client || (!once && !make_id(client->id))) {
        free(client);
        return NULL;
    }
    client->core.server = &web->server;
    client->core.send = tc_exchange_send;
    client->core.request = tc_exchange_notify;
    client->core.notify = tc_exchange_notify;
    client->core.end = tc_exchange_end;
    client->core.keeps = !once;
    client->web = web;
    client->used_ms = tc_mcp_now_ms();
    client->next = web->clients;
    client->at = &web->clients;
    if (client->next)
        client->next->at = &client->next;
    web->clients = client;
    web->client_count += !once;
    return client;
}

struct tc_client *tc_client_find(struct tc_web *web, const char *id, bool old)
{
    if (!id || !id[0])
        return NULL;
    for (struct tc_client *client = web->clients; client; client = client->next)
        if (client->old == old && strcmp(client->id, id) == 0) {
            client->used_ms = tc_mcp_now_ms();
            return client;
        }
    return NULL;
}

void tc_client_free(struct tc_client *client)
{
    if (!client)
        return;
    for (struct tc_exchange *e = client->web->exchanges; e; e = e->next)
        if (e->client == client && e != client->stream && !e->status && !e->ended)
            tc_exchange_refuse(e, 404, TC_RPC_REQUEST, "the session has ended");
    tc_session_leave(&client->core);
    if (client->stream) {
        client->stream->client = NULL;
        client->stream->ended = true;
        tc_exchange_wake(client->stream);
    }
    for (struct tc_exchange *e = client->web->exchanges; e; e = e->next)
        if (e->client == client)
            e->client = NULL;
    *client->at = client->next;
    if (client->next)
        client->next->at = client->at;
    client->web->client_count -= client->id[0] != '\0';
    free(client);
}

void tc_clients_tell(struct tc_web *web)
{
    for (struct tc_client *client = web->clients; client; client = client->next)
        tc_session_tell_news(&client->core);
}

void tc_clients_tick(struct tc_web *web, int64_t now_ms)
{
    for (struct tc_client *client = web->clients, *next; client; client = next) {
        next = client->next;
        bool in_use =
            !client->id[0] || (client->old && client->stream) || tc_session_is_busy(&client->core);
        if (in_use)
            client->used_ms = now_ms;
        else if (now_ms - client->used_ms >= web->config.idle_ms)
            tc_client_free(client);
    }
}
