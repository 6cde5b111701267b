/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Responses as server-sent events, and results of calls. Unread data is kept up to a limit; above
 * it the client's requests are refused. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mcp/http/web.h"

enum { BLOCK = 32768 };

void tc_exchange_suspend(struct tc_exchange *exchange)
{
    exchange->suspended = true;
    exchange->wire->deadline_ms = 0;
    MHD_suspend_connection(exchange->connection);
}

/* A stream that has not ended may be read late: is_full() bounds it. */
static void await_reader(struct tc_exchange *exchange)
{
    bool patient = exchange->route == TC_ROUTE_API && exchange->streaming && !exchange->ended;
    exchange->wire->deadline_ms = patient ? 0 : tc_mcp_now_ms() + TC_WEB_READ_MS;
}

void tc_exchange_wake(struct tc_exchange *exchange)
{
    if (!exchange->suspended)
        return;
    exchange->suspended = false;
    await_reader(exchange);
    MHD_resume_connection(exchange->connection);
}

/* The part of the result that belongs to the response. */
static size_t result_end(const struct tc_exchange *exchange)
{
    const struct tc_api_result *result = exchange->result;
    return !result ? 0 : exchange->streaming ? result->length : result->end;
}

static ssize_t give(void *userdata, uint64_t position, char *room, size_t size)
{
    struct tc_exchange *exchange = userdata;
    struct tc_outbox *box = &exchange->unread;
    size_t pending = tc_outbox_pending(box);
    (void)position;
    if (exchange->gone)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    size_t left = result_end(exchange) - exchange->result_at;
    if (!pending && left) {
        size_t n = left < size ? left : size;
        memcpy(room, exchange->result->text + exchange->result_at, n);
        exchange->result_at += n;
        await_reader(exchange);
        return (ssize_t)n;
    }
    if (!pending && exchange->ended)
        return MHD_CONTENT_READER_END_OF_STREAM;
    if (!pending) {
        tc_exchange_suspend(exchange);
        return 0;
    }
    size_t n = pending < size ? pending : size;
    memcpy(room, box->text + box->sent, n);
    box->sent += n;
    exchange->web->held -= n;
    await_reader(exchange);
    return (ssize_t)n;
}

bool tc_stream_put(struct tc_exchange *exchange, const char *event, const char *text)
{
    char *frame = NULL;
    int n = event ? asprintf(&frame, "event: %s\ndata: %s\n", event, text)
                  : asprintf(&frame, ": %s\n", text);
    if (n < 0)
        return false;
    bool good = tc_outbox_add(&exchange->unread, frame, (size_t)n);
    free(frame);
    if (!good)
        return false;
    exchange->web->held += (size_t)n + 1;
    exchange->breath_ms = tc_mcp_now_ms();
    tc_exchange_wake(exchange);
    return true;
}

enum MHD_Result tc_stream_begin(struct tc_exchange *exchange)
{
    uint64_t length =
        exchange->streaming ? MHD_SIZE_UNKNOWN : result_end(exchange) - exchange->result_at;
    const char *type = exchange->streaming ? "text/event-stream" : "application/json";
    struct MHD_Response *response =
        MHD_create_response_from_callback(length, BLOCK, give, exchange, NULL);
    if (!response)
        return MHD_NO;
    exchange->breath_ms = tc_mcp_now_ms();
    bool good = MHD_add_response_header(response, "Content-Type", type) == MHD_YES &&
                MHD_add_response_header(response, "Cache-Control", "no-store") == MHD_YES &&
                MHD_add_response_header(response, "X-Content-Type-Options", "nosniff") == MHD_YES &&
                MHD_add_response_header(response, "X-Accel-Buffering", "no") == MHD_YES;
    enum MHD_Result result =
        good ? MHD_queue_response(exchange->connection, MHD_HTTP_OK, response) : MHD_NO;
    MHD_destroy_response(response);
    return result;
}
