/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What an MCP server needs of the command line, over standard input and over HTTP: where calls run,
 * how requests reach a person, and who signs receipts. */
#ifndef TC_CLI_VERBS_OFFER_H
#define TC_CLI_VERBS_OFFER_H

#include "cli/verbs/receipts.h"
#include "mcp/mcp.h"

/* The options; all pointers are borrowed. */
struct tc_offered {
    const char *path;                      /* of the policy */
    const char *name, *workspace, *notify; /* NULL: not given */
    bool elicits, queues, streams, receipts, receipts_required;
};

struct tc_offer {
    struct tc_mcp_tools what;
    const char *workspace, *digest;
    char *policy, *directory, *workspace_path; /* absolute; links are not followed: relative paths
                                                  of a policy start where it was named */
    struct tc_receipts receipts;
};

/* Fills ret->what, which refers to *ret. 0, or -1 with the failure; call tc_offer_close() in any
 * case. */
int tc_offer_open(struct tc_offer *ret, struct toolcage_policy *policy,
                  const struct tc_offered *given, struct tc_failure *failure);
void tc_offer_close(struct tc_offer *offer);

#endif
