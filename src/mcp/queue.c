/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Calls that wait in the queue of approvals for `toolcage approvals`. */
#include "approve/queue/queue.h"

#include <stdlib.h>
#include <string.h>

#include "mcp/server.h"

void tc_mcp_tell_operator(const struct tc_mcp_call *c)
{
    const struct tc_mcp_tools *what = c->request.session->server->what;
    if (what->notify)
        what->notify(what->userdata, tc_wait_id(c->wait));
}

int tc_mcp_enqueue(struct tc_mcp_call *c, const char *text, const char *digest,
                   struct toolcage_error **err)
{
    struct tc_fault fault;
    int64_t count = tc_mcp_again_count(c->request.session->server, digest);
    if (count) {
        int rc = toolcage_call_approve_again(c->call, digest, count, err);
        return rc < 0 ? rc : TC_MCP_STARTS;
    }
    if (tc_mcp_is_crowded(c->request.session->server)) {
        int rc = toolcage_call_deny(c->call, TC_MCP_CROWDED, err);
        return rc < 0 ? rc : TC_MCP_STARTS; /* start refuses the call */
    }
    c->digest = strdup(digest);
    if (!c->digest)
        return TOOLCAGE_EMEMORY;
    if (tc_wait_begin(text, "mcp", &c->wait, &fault) == 0) {
        tc_mcp_tell_operator(c);
        return TC_MCP_WAITS;
    }
    int rc = toolcage_call_deny(c->call, fault.text, err);
    return rc < 0 ? rc : TC_MCP_STARTS; /* start refuses the call */
}

int tc_mcp_queue_ms(const struct tc_mcp *server)
{
    for (size_t i = 0; i < server->call_count; i++)
        if (server->calls[i].wait)
            return TC_QUEUE_LOOK_MS;
    return -1;
}

bool tc_mcp_queue_take(struct tc_mcp_call *c)
{
    struct toolcage_error *err = NULL;
    char *reason = NULL;
    enum tc_answer answer = c->wait ? tc_wait_look(c->wait, &reason) : TC_ANSWER_NONE;
    if (c->ended && answer != TC_ANSWER_NONE)
        tc_mcp_review_queued(c, answer, reason);
    if (!c->ended && answer == TC_ANSWER_SESSION)
        tc_mcp_again_keep(c->request.session->server, c->digest);
    int rc = c->ended || answer == TC_ANSWER_NONE ? 0
             : answer == TC_ANSWER_NO             ? toolcage_call_deny(c->call, reason, &err)
                                                  : toolcage_call_approve(c->call, c->digest, &err);
    if (rc < 0)
        toolcage_error_free(err); /* start denies it */
    free(reason);
    return answer != TC_ANSWER_NONE || tc_mcp_review_gone(c);
}
