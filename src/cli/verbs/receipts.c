/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cli/verbs/receipts.h"

#include <string.h>

#include "cli/audit/past.h"
#include "cli/audit/receipt.h"
#include "cli/show/say.h"

/* ---- the signer ---- */

static int start(struct tc_receipts *r, struct tc_failure *failure)
{
    _autofd_ int key = tc_signer_open_key(r->path, true, failure);
    return key < 0 ? -1 : tc_signer_start(&r->signer, r->path, key, failure);
}

/* Does the policy record calls? True if that cannot be determined. */
static bool has_log(struct toolcage_policy *policy)
{
    struct toolcage_engine *engine = NULL;
    struct toolcage_call *call = NULL;
    char *json = NULL;
    bool explained = toolcage_engine_new(&engine, NULL) == 0 &&
                     toolcage_call_new(engine, policy, NULL, &call, NULL) == 0 &&
                     toolcage_call_explain_json(call, NULL, &json, NULL) == 0;
    bool has = !explained || tc_scan_is_object(tc_json_get(tc_json_of(json), "audit"));
    toolcage_free(json);
    (void)toolcage_call_unref(call);
    (void)toolcage_engine_unref(engine);
    return has;
}

int tc_receipts_open(struct tc_receipts *ret, struct toolcage_policy *policy,
                     struct tc_failure *failure)
{
    *ret = (struct tc_receipts){.signer.socket = -1};
    if (!has_log(policy))
        return tc_failure_set(failure, TOOLCAGE_EUSAGE, "add the table [audit] to the policy",
                              "receipts are made from the audit log, and this policy has none");
    ret->path = tc_signer_path(failure);
    return ret->path ? start(ret, failure) : -1;
}

void tc_receipts_close(struct tc_receipts *receipts)
{
    if (!receipts->path)
        return;
    tc_signer_done(&receipts->signer);
    free(receipts->path);
    receipts->path = NULL;
}

/* ---- calls ---- */

void tc_receipts_begin(struct tc_receipts *receipts, const char *call)
{
    _autofailure_ struct tc_failure failure = {0};
    struct tc_receipts_place *p = &receipts->places[receipts->next++ % TC_RECEIPTS_PLACES];
    *p = (struct tc_receipts_place){.call = ""};
    /* without a place, the whole log is read */
    _autofd_ int dir = tc_past_log(NULL, &failure);
    if (dir >= 0 && tc_audit_end(dir, &p->place) == 0)
        (void)snprintf(p->call, sizeof(p->call), "%s", call);
}

static struct tc_audit_place find_place(const struct tc_receipts *receipts, const char *call)
{
    for (size_t i = 0; i < TC_RECEIPTS_PLACES; i++)
        if (strcmp(receipts->places[i].call, call) == 0)
            return receipts->places[i].place;
    return (struct tc_audit_place){.at = 0};
}

/* Of the call; NULL with the failure. */
static char *make_statement(const struct tc_receipts *receipts, const char *call,
                            size_t *ret_length, struct tc_failure *failure)
{
    const struct tc_audit_place place = find_place(receipts, call);
    _autofd_ int dir = tc_past_log(NULL, failure);
    if (dir < 0 || tc_signer_check_place(dir, failure))
        return NULL;
    char *statement = tc_receipt_statement_since(dir, call, &place, ret_length, failure);
    if (!statement || *ret_length <= TC_RECEIPT_STATEMENT_MAX)
        return statement;
    free(statement);
    (void)tc_failure_set(failure, TOOLCAGE_ESYSTEM, NULL,
                         "the records of the call are too large for a receipt");
    return NULL;
}

/* A signer that has ended is started once more. */
static int ask(struct tc_receipts *receipts, const char *statement, size_t length,
               struct tc_signer_answer *ret, struct tc_failure *failure)
{
    _autofailure_ struct tc_failure lost = {0};
    if (receipts->signer.socket >= 0 &&
        tc_signer_ask(&receipts->signer, TC_RECEIPT_SIGN, statement, length, ret, &lost) == 0)
        return 0;
    free(ret->bytes);
    *ret = (struct tc_signer_answer){0};
    tc_signer_done(&receipts->signer);
    return start(receipts, failure)
               ? -1
               : tc_signer_ask(&receipts->signer, TC_RECEIPT_SIGN, statement, length, ret, failure);
}

/* The client's operator reads it, and may be another person than ours: one line. */
static char *say_why(const struct tc_failure *failure)
{
    const char *message = failure->error     ? toolcage_error_message(failure->error)
                          : failure->message ? failure->message
                                             : "out of memory";
    return strdup(message);
}

char *tc_receipts_sign(struct tc_receipts *receipts, const char *call, char **ret_why)
{
    _autofailure_ struct tc_failure failure = {0};
    struct tc_signer_answer answer = {0};
    size_t length = 0;
    char *statement = make_statement(receipts, call, &length, &failure);
    *ret_why = NULL;
    if (statement && ask(receipts, statement, length, &answer, &failure) == 0) {
        free(statement);
        if (answer.done)
            return answer.bytes;
        *ret_why = tc_cli_format("the statement from the log is not signed: it %s", answer.bytes);
        free(answer.bytes);
        return NULL;
    }
    *ret_why = say_why(&failure);
    free(statement);
    free(answer.bytes);
    return NULL;
}
