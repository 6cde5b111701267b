/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Receipts of calls as they end, for a server: one signer for the server's life. */
#ifndef TC_CLI_VERBS_RECEIPTS_H
#define TC_CLI_VERBS_RECEIPTS_H

#include "audit/evidence.h"
#include "cli/call/signer.h"

enum { TC_RECEIPTS_PLACES = 256 }; /* more than calls can be open at once */

struct tc_receipts {
    char *path; /* of the key; NULL: closed */
    struct tc_signer signer;
    /* where the log ended when the newest calls were made; the oldest is replaced */
    struct tc_receipts_place {
        char call[27];
        struct tc_audit_place place;
    } places[TC_RECEIPTS_PLACES];
    size_t next;
};

/* Finds the user's key and starts the signer. 0, or -1 with the failure: there is no usable key, or
 * the policy (borrowed) records no calls. Call tc_receipts_close() in any case. */
int tc_receipts_open(struct tc_receipts *ret, struct toolcage_policy *policy,
                     struct tc_failure *failure);
/* A call was made, and has not started. */
void tc_receipts_begin(struct tc_receipts *receipts, const char *call);
/* The receipt of a call that has ended, as JSON; owned. NULL: *ret_why says why there is none;
 * owned, NULL: out of memory. */
char *tc_receipts_sign(struct tc_receipts *receipts, const char *call, char **ret_why);
void tc_receipts_close(struct tc_receipts *receipts);

#endif
