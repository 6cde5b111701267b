/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "mcp/live.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mcp/log.h"
#include "text/utf8.h"

enum {
    EACH_MS = 250,     /* between two messages of a call */
    KEPT_MAX = 2048,   /* bytes of a stream for one message: the newest */
    SENT_MAX = 262144, /* bytes of all messages of a call */
};

struct flow {
    char bytes[KEPT_MAX];
    size_t length;
    uint64_t dropped; /* bytes before them that were not sent */
};

struct tc_mcp_live {
    struct flow flows[2];
    int64_t due_ms;  /* INT64_MAX: nothing has arrived */
    int64_t next_ms; /* the earliest next message */
    size_t sent;     /* bytes so far */
    bool full;
};

static void drop_first(struct flow *flow, size_t count)
{
    flow->length -= count;
    memmove(flow->bytes, flow->bytes + count, flow->length);
}

static void keep_bytes(struct flow *flow, const char *bytes, size_t length)
{
    if (length > KEPT_MAX) {
        flow->dropped += flow->length + length - KEPT_MAX;
        flow->length = 0;
        bytes += length - KEPT_MAX;
        length = KEPT_MAX;
    } else if (flow->length + length > KEPT_MAX) {
        size_t over = flow->length + length - KEPT_MAX;
        flow->dropped += over;
        drop_first(flow, over);
    }
    memcpy(flow->bytes + flow->length, bytes, length);
    flow->length += length;
}

static void take_output(void *userdata, int stream, const void *bytes, size_t length)
{
    struct tc_mcp_live *live = userdata;
    int64_t now;
    if (live->full || (stream != 1 && stream != 2))
        return;
    keep_bytes(&live->flows[stream - 1], bytes, length);
    if (live->due_ms != INT64_MAX)
        return;
    now = tc_mcp_now_ms();
    live->due_ms = now + EACH_MS > live->next_ms ? now + EACH_MS : live->next_ms;
}

int tc_mcp_live_begin(struct tc_mcp_call *c, struct toolcage_error **err)
{
    if (!c->request.session->server->what->streams ||
        (!c->token && !tc_mcp_log_wants(c, TC_MCP_INFO)))
        return 0;
    c->live = calloc(1, sizeof(*c->live));
    if (!c->live)
        return TOOLCAGE_EMEMORY;
    c->live->due_ms = INT64_MAX;
    return toolcage_call_set_output_callback(c->call, take_output, c->live, err);
}

void tc_mcp_live_done(struct tc_mcp_call *c)
{
    free(c->live);
    c->live = NULL;
}

int64_t tc_mcp_live_due(const struct tc_mcp_call *c)
{
    return c->live ? c->live->due_ms : INT64_MAX;
}

/* ---- messages ---- */

/* Up to the last newline; without one up to an incomplete character. */
static size_t whole_part(const struct flow *flow, bool last)
{
    const char *newline = memrchr(flow->bytes, '\n', flow->length);
    size_t length = flow->length, back = 0;
    if (last || !length)
        return length;
    if (newline)
        return (size_t)(newline - flow->bytes) + 1;
    while (back < 3 && back < length && tc_utf8_inside(flow->bytes[length - 1 - back]))
        back++;
    if (back < length && (unsigned char)flow->bytes[length - 1 - back] >= 0xc0)
        length -= back + 1;
    return length;
}

/* Owned; NULL: out of memory. */
static char *escape(const struct flow *flow, size_t length)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    if (flow->dropped)
        (void)fprintf(out, "[%" PRIu64 " bytes left out]\n", flow->dropped);
    tc_mcp_put_escaped(out, flow->bytes, length, true);
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

/* False: no client gets it. */
static bool send_text(struct tc_mcp_call *c, const char *stream, const char *text)
{
    bool sent = false;
    if (c->token)
        sent = tc_mcp_progress_text(c, text);
    if (tc_mcp_log_wants(c, TC_MCP_INFO))
        sent |= tc_mcp_log(c, TC_MCP_INFO,
                           json_pack("{s:s, s:s*, s:s, s:s, s:s}", "event", "output", "tool",
                                     c->tool, "call", toolcage_call_id(c->call), "stream", stream,
                                     "text", text));
    return sent;
}

static void send_flow(struct tc_mcp_call *c, struct flow *flow, bool last)
{
    size_t length = whole_part(flow, last);
    char *text = length ? escape(flow, length) : NULL;
    if (!length)
        return;
    if (!text) {
        c->request.session->server->failed = true;
        return;
    }
    if (send_text(c, flow == c->live->flows ? "stdout" : "stderr", text)) {
        c->live->sent += strlen(text);
        flow->dropped = 0;
    } else {
        flow->dropped += length;
    }
    drop_first(flow, length);
    free(text);
}

void tc_mcp_live_send(struct tc_mcp_call *c, int64_t now, bool last)
{
    struct tc_mcp_live *live = c->live;
    if (!live || live->due_ms == INT64_MAX)
        return;
    live->due_ms = INT64_MAX;
    if (c->cancelled || c->forgotten || !c->request.session ||
        (last && !live->next_ms)) /* all of it is in the result, which is sent now */
        return;
    for (int i = 0; i < 2; i++)
        send_flow(c, &live->flows[i], last);
    live->next_ms = now + EACH_MS;
    if (live->sent < SENT_MAX) {
        if (whole_part(&live->flows[0], false) || whole_part(&live->flows[1], false))
            live->due_ms = live->next_ms;
        return;
    }
    live->full = true;
    (void)send_text(c, "stdout", "[more output is in the result]");
}
