/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Calls that need a person's approval wait in the queue of approvals, where `toolcage approvals`
 * and the user of this server answer. */
#include <stdlib.h>
#include <string.h>

#include "serve/serve.h"

enum { LIST_MAX = 8 << 20 }; /* bytes of subjects, which are those of clients */

static void refuse_fault(struct tc_api *api, void *asker, const struct tc_fault *fault)
{
    const unsigned status = fault->code == TOOLCAGE_ENOT_FOUND ? 404
                            : fault->code == TOOLCAGE_EUSAGE   ? 409
                                                               : 500;
    tc_api_refuse(api, asker, status, fault->text, fault->hint);
}

/* The subject is part of the answer as text: its digest covers these bytes. */
static json_t *describe(const struct tc_queued *q)
{
    return json_pack("{s:s, s:s, s:s, s:I, s:I, s:s}", "id", q->id, "digest", q->digest, "asker",
                     q->asker, "created", (json_int_t)q->created, "expires", (json_int_t)q->expires,
                     "subject", q->subject);
}

void tc_approvals_list(struct tc_api *api, void *asker)
{
    struct tc_fault fault;
    struct tc_queued *queued = NULL;
    size_t count = 0;
    if (tc_queue_list(&queued, &count, &fault) < 0) {
        refuse_fault(api, asker, &fault);
        return;
    }
    json_t *list = json_array();
    size_t shown = 0, bytes = 0;
    for (; shown < count && bytes < LIST_MAX; shown++) {
        bytes += strlen(queued[shown].subject);
        (void)json_array_append_new(list, describe(&queued[shown]));
    }
    tc_queue_free(queued, count);
    tc_api_answer(api, asker, 200,
                  json_pack("{s:o, s:b}", "approvals", list, "more", shown < count));
}

/* ---- the answer ---- */

static bool is_about_changes(const struct tc_queued *q)
{
    json_t *subject = json_loads(q->subject, JSON_ALLOW_NUL, NULL);
    bool changes = json_object_get(subject, "changes") != NULL;
    json_decref(subject);
    return changes;
}

static void answer_queued(struct tc_api *api, void *asker, const struct tc_queued *q,
                          const json_t *body)
{
    struct tc_fault fault;
    const char *answer = json_string_value(json_object_get(body, "answer"));
    const char *digest = json_string_value(json_object_get(body, "digest"));
    const char *reason = json_string_value(json_object_get(body, "reason"));
    bool yes = answer && strcmp(answer, "approve") == 0;
    if (!yes && (!answer || strcmp(answer, "deny") != 0))
        tc_api_refuse(api, asker, 422, "\"answer\" must be approve or deny", NULL);
    else if (!digest || strcmp(digest, q->digest) != 0)
        tc_api_refuse(api, asker, 409, "\"digest\" is not that of the request: it was not read",
                      "GET /v1/approvals");
    else if (yes && is_about_changes(q))
        tc_api_refuse(api, asker, 409, "staged changes are approved where their diff is shown",
                      "toolcage approvals approve ID");
    else if (tc_queue_post(q, yes ? TC_ANSWER_YES : TC_ANSWER_NO, reason, &fault) < 0)
        refuse_fault(api, asker, &fault);
    else
        tc_api_answer(api, asker, 202, json_pack("{s:s, s:s}", "id", q->id, "answer", answer));
}

void tc_approvals_answer(struct tc_api *api, void *asker, const char *id,
                         const struct tc_api_request *request)
{
    struct tc_fault fault;
    struct tc_queued queued = {0};
    json_t *body = json_loadb(request->body ? request->body : "", request->length,
                              JSON_REJECT_DUPLICATES, NULL);
    if (!json_is_object(body))
        tc_api_refuse(api, asker, 400, "the body must be an object",
                      "{\"answer\": \"approve\", \"digest\": \"sha256:…\"}");
    else if (strlen(id) != TC_QUEUE_ID_SIZE - 1 || tc_queue_find(id, &queued, &fault) < 0)
        tc_api_refuse(api, asker, 404, "no call waits with this id", "GET /v1/approvals");
    else
        answer_queued(api, asker, &queued, body);
    tc_queued_done(&queued);
    json_decref(body);
}

/* ---- the question ---- */

/* The start denies the call, and says why. */
static void refuse(struct tc_served *served, const char *reason)
{
    struct toolcage_error *err = NULL;
    if (toolcage_call_deny(served->call, reason, &err) < 0)
        toolcage_error_free(err);
}

static bool ask(struct tc_served *served, const char *text, const char *digest, const char *tier)
{
    struct tc_fault fault;
    if (tier && strcmp(tier, "ManualOnly") == 0) {
        refuse(served, "only a person starts it, with toolcage call at a terminal");
        return false;
    }
    served->digest = strdup(digest);
    if (served->digest && tc_wait_begin(text, "serve", &served->wait, &fault) == 0)
        return true;
    refuse(served, served->digest ? fault.text : "out of memory");
    return false;
}

bool tc_approvals_ask(struct tc_served *served)
{
    struct toolcage_error *err = NULL;
    char *text = NULL;
    if (toolcage_call_approval_json(served->call, &text, &err) < 0) {
        if (strcmp(toolcage_error_stage(err), "approve") == 0)
            refuse(served, toolcage_error_message(err));
        toolcage_error_free(err);
        return false;
    }
    json_t *request = json_loads(text, JSON_ALLOW_NUL, NULL);
    const char *digest = json_string_value(json_object_get(request, "digest"));
    const char *tier =
        json_string_value(json_object_get(json_object_get(request, "subject"), "tier"));
    bool asked = digest && ask(served, text, digest, tier);
    json_decref(request);
    toolcage_free(text);
    return asked;
}
