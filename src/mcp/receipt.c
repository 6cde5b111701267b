/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Receipts in results, for clients that keep them: a host callback signs what the audit log has of
 * the call. */
#include <stdio.h>
#include <stdlib.h>

#include "mcp/server.h"

/* The model must not repeat a call that may have changed something. */
static char *explain_missing(const char *why)
{
    char *text = NULL;
    if (asprintf(&text,
                 "the result is withheld: it must have a signed receipt, and has none (%s). The "
                 "call may have run: do not repeat it; tell the user",
                 why) < 0)
        return NULL;
    return text;
}

void tc_mcp_receipt(const struct tc_mcp_call *c, const struct toolcage_result *result,
                    struct tc_mcp_receipt *ret)
{
    const struct tc_mcp *server = c->request.session ? c->request.session->server : NULL;
    const struct tc_mcp_tools *what = server ? server->what : NULL;
    char *why = NULL;
    if (!what || !what->receipt)
        return;
    char *text = what->receipt(what->userdata, toolcage_call_id(c->call), &why);
    const char *reason = why ? why : "out of memory";
    bool refused = toolcage_result_status(result) == TOOLCAGE_STATUS_DENIED;
    ret->value = text ? json_loads(text, JSON_REJECT_DUPLICATES, NULL) : NULL;
    ret->key = ret->value ? TC_MCP_RECEIPT : TC_MCP_NO_RECEIPT;
    if (!ret->value && what->receipts_required && !refused)
        ret->missing = explain_missing(reason);
    if (!ret->value)
        ret->value = json_string(reason);
    free(text);
    free(why);
}
