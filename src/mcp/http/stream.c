/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Responses as server-sent events. Unread data is kept up to a limit; above it the client's
 * requests are refused. */
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

void tc_exchange_wake(struct tc_exchange *exchange)
{
    if (!exchange->suspended)
        return;
    exchange->suspended = false;
    exchange->wire->deadline_ms = tc_web_now_ms() + TC_WEB_READ_MS;
    MHD_resume_connection(exchange->connection);
}

static ssize_t give(void *userdata, uint64_t position, char *room, size_t size)
{
    struct tc_exchange *exchange = userdata;
    struct tc_outbox *box = &exchange->unread;
    size_t pending = tc_outbox_pending(box);
    (void)position;
    if (exchange->gone)
        return MHD_CONTENT_READER_END_WITH_ERROR;
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
    exchange->wire->deadline_ms = tc_web_now_ms() + TC_WEB_READ_MS;
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
    exchange->breath_ms = tc_web_now_ms();
    tc_exchange_wake(exchange);
    return true;
}

enum MHD_Result tc_stream_begin(struct tc_exchange *exchange)
{
    struct MHD_Response *response =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK, give, exchange, NULL);
    if (!response)
        return MHD_NO;
    exchange->breath_ms = tc_web_now_ms();
    bool good = MHD_add_response_header(response, "Content-Type", "text/event-stream") == MHD_YES &&
                MHD_add_response_header(response, "Cache-Control", "no-store") == MHD_YES &&
                MHD_add_response_header(response, "X-Accel-Buffering", "no") == MHD_YES;
    enum MHD_Result result =
        good ? MHD_queue_response(exchange->connection, MHD_HTTP_OK, response) : MHD_NO;
    MHD_destroy_response(response);
    return result;
}
