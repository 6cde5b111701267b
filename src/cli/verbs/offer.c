/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cli/verbs/offer.h"

#include <string.h>
#include <unistd.h>

#include "approve/queue/queue.h"
#include "cli/call/notify.h"
#include "cli/show/diff.h"
#include "cli/show/say.h"

/* An absolute path, owned; NULL: `path` is NULL, or memory is exhausted. */
static char *absolute(const char *directory, const char *path)
{
    return !path || path[0] == '/' ? path ? strdup(path) : NULL
                                   : tc_cli_format("%s/%s", directory, path);
}

static int prepare_call(void *userdata, struct toolcage_call *call, struct toolcage_error **err)
{
    struct tc_offer *offer = userdata;
    if (offer->what.receipt)
        tc_receipts_begin(&offer->receipts, toolcage_call_id(call));
    return offer->workspace ? toolcage_call_set(call, "workspace", offer->workspace, err) : 0;
}

/* What the model hears about a call that only a person starts; owned. */
static char *keep(void *userdata, const char *tool, const char *arguments)
{
    const struct tc_offer *offer = userdata;
    struct tc_kept kept = {.policy = offer->policy,
                           .digest = (char *)offer->digest,
                           .directory = offer->directory,
                           .workspace = offer->workspace_path,
                           .tool = (char *)tool,
                           .arguments = (char *)arguments};
    struct tc_fault fault;
    char id[TC_QUEUE_ID_SIZE];
    if (!offer->directory || !offer->policy || (offer->workspace && !offer->workspace_path))
        return strdup("only a person starts it, and the working directory is gone");
    if (tc_kept_store(&kept, id, &fault) < 0)
        return tc_cli_format("only a person starts it, and it could not be stored: %s", fault.text);
    return tc_cli_format("only a person starts it: it is stored for that as %s (toolcage approvals "
                         "run %s). It has not run",
                         id, id);
}

static void reloaded(void *userdata, const struct toolcage_policy *policy)
{
    struct tc_offer *offer = userdata;
    offer->digest = toolcage_policy_digest(policy);
}

static void say(void *userdata, const char *line)
{
    (void)userdata;
    if (tc_cli_is_heard())
        tc_cli_say("%s", line);
}

/* Few files, so that other calls do not wait for the comparison. */
static char *review_changes(void *userdata, struct toolcage_engine *engine, const char *json)
{
    enum { FILES_MAX = 64, SECONDS = 2 };
    _autoreview_ struct tc_review review = {0};
    bool whole = false;
    (void)userdata;
    if (tc_review_make(&review, tc_json_of(json)) || review.count > FILES_MAX ||
        tc_review_caches_alone(&review)) /* a yes leaves caches out */
        return NULL;
    char *shown = tc_diff_text(engine, &review, SECONDS, &whole);
    if (whole)
        return shown;
    free(shown);
    return NULL;
}

static void notify(void *userdata, const char *id)
{
    (void)userdata;
    tc_notify_request(id);
}

static char *sign_receipt(void *userdata, const char *call, char **ret_why)
{
    struct tc_offer *offer = userdata;
    return tc_receipts_sign(&offer->receipts, call, ret_why);
}

int tc_offer_open(struct tc_offer *ret, struct toolcage_policy *policy,
                  const struct tc_offered *given, struct tc_failure *failure)
{
    const struct tc_writers writers = {.policy = policy, .workspace = given->workspace};
    bool receipts = given->receipts || given->receipts_required;
    *ret = (struct tc_offer){.workspace = given->workspace,
                             .digest = toolcage_policy_digest(policy),
                             .directory = getcwd(NULL, 0),
                             .what = {.policy = policy,
                                      .path = given->path,
                                      .reloaded = reloaded,
                                      .say = say,
                                      .name = given->name,
                                      .narrow = prepare_call,
                                      .userdata = ret,
                                      .elicits = given->elicits,
                                      .queues = given->queues,
                                      .streams = given->streams,
                                      .review = review_changes,
                                      .notify = notify,
                                      .keep = given->queues ? keep : NULL,
                                      .receipt = receipts ? sign_receipt : NULL,
                                      .receipts_required = given->receipts_required}};
    ret->policy = ret->directory ? absolute(ret->directory, given->path) : NULL;
    ret->workspace_path = ret->directory ? absolute(ret->directory, given->workspace) : NULL;
    if (receipts && tc_receipts_open(&ret->receipts, policy, failure))
        return -1;
    return tc_notify_use(given->notify, given->queues, writers, failure);
}

void tc_offer_close(struct tc_offer *offer)
{
    tc_receipts_close(&offer->receipts);
    free(offer->policy);
    free(offer->directory);
    free(offer->workspace_path);
}
