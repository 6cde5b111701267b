/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A call that has ended with staged changes: its response waits for the decision of the client's
 * user, or of a person at the queue of approvals. Changes that were not applied stay staged. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "approve/queue/queue.h"
#include "mcp/server.h"

/* Bytes of the list and the diffs; no change is applied that was not shown. */
enum { SHOWN_MAX = 8192 };

static const char unanswered[] = "the server ended before a person answered";

static bool waits(const struct toolcage_result *result)
{
    json_t *whole = json_loads(toolcage_result_json(result), JSON_ALLOW_NUL, NULL), *change;
    bool found = false;
    size_t i;
    json_array_foreach(json_object_get(whole, "changes"), i, change)
    {
        const char *held = json_string_value(json_object_get(change, "held"));
        found = found || (held && strcmp(held, TOOLCAGE_HELD_APPROVAL) == 0);
    }
    json_decref(whole);
    return found;
}

/* What the model reads after the result. Owned by the call; the first one counts. */
static void note(struct tc_mcp_call *c, char *text)
{
    if (c->note)
        free(text);
    else
        c->note = text;
}

static void note_staged(struct tc_mcp_call *c, const char *why)
{
    char *text = NULL;
    if (asprintf(&text, "note: the changes are not applied (%s). They stay staged for a person",
                 why) < 0)
        text = NULL;
    note(c, text);
}

/* How many changes of the call are still staged; -1: not known. */
static int64_t count_staged(const struct tc_mcp_call *c)
{
    struct tc_mcp *server = c->request.session ? c->request.session->server : NULL;
    const char *id = toolcage_call_id(c->call);
    char *json = NULL;
    json_t *row;
    size_t i;
    if (!server || tc_mcp_engine(server, NULL) ||
        toolcage_engine_changes_json(server->engine, NULL, 0, NULL, &json, NULL))
        return -1;
    json_t *all = json_loads(json, JSON_ALLOW_NUL, NULL);
    int64_t count = all ? 0 : -1;
    json_array_foreach(json_object_get(all, "held"), i, row)
    {
        const char *call = json_string_value(json_object_get(row, "call"));
        if (call && id && strcmp(call, id) == 0)
            count = json_integer_value(json_object_get(row, "changes"));
    }
    json_decref(all);
    toolcage_free(json);
    return count;
}

/* Without a yes: a person may have settled the changes otherwise meanwhile. */
static void note_refused(struct tc_mcp_call *c, const char *why)
{
    int64_t left = count_staged(c);
    char *text = NULL;
    int rc = 0;
    if (left == 0)
        text = strdup("note: the changes no longer wait: a person has applied or discarded them by "
                      "toolcage changes");
    else if (left < 0 || left == c->changes)
        rc = asprintf(
            &text, "note: the changes are not approved (%s). They stay staged for a person", why);
    else
        rc = asprintf(&text,
                      "note: the changes are not approved (%s). %lld of %lld stay staged for a "
                      "person; a person has applied or discarded the others",
                      why, (long long)left, (long long)c->changes);
    note(c, rc < 0 ? NULL : text);
}

/* ---- the question ---- */

/* Owned; NULL: out of memory. */
static json_t *make_question(const char *tool, const char *shown)
{
    char *text = NULL;
    size_t size = 0;
    json_t *params = NULL;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    (void)fputs("The tool ", out);
    tc_mcp_put_text(out, tool ? tool : "?", false);
    (void)fputs(
        " has run. Its changes are applied only with your approval; files that steer the host "
        "are left out:\n",
        out);
    tc_mcp_put_text(out, shown, true);
    if (fclose(out) == 0)
        params = json_pack("{s:s, s:o}", "message", text, "requestedSchema",
                           tc_mcp_question_schema("Apply all these changes?"));
    free(text);
    return params;
}

/* False: the client gets no question; then there is a note. */
static bool ask_client(struct tc_mcp_call *c, const char *tool, const char *json)
{
    const struct tc_mcp_tools *what = c->request.session->server->what;
    char *shown = what->review
                      ? what->review(what->userdata, c->request.session->server->engine, json)
                      : NULL;
    bool fits = shown && strlen(shown) <= SHOWN_MAX;
    if (fits && strcmp(c->request.version, TC_MCP_STATELESS) == 0)
        tc_mcp_resume_ask(c, make_question(tool, shown));
    else if (fits && !tc_mcp_ask_client(c, make_question(tool, shown)))
        fits = (note_staged(c, "the client takes no event stream for the question"), false);
    else if (!fits)
        note_staged(c, "they cannot be shown whole to the client's user");
    free(shown);
    return fits;
}

static bool ask_queue(struct tc_mcp_call *c, const char *tool)
{
    struct tc_fault fault;
    const struct tc_queue_changes changes = {
        .call = toolcage_call_id(c->call), .digest = c->digest, .tool = tool, .count = c->changes};
    if (tc_wait_begin_changes(&changes, "mcp", &c->wait, &fault) == 0) {
        tc_mcp_tell_operator(c);
        return true;
    }
    note_staged(c, fault.text);
    return false;
}

static bool ask_person(struct tc_mcp_call *c, const char *json)
{
    const struct tc_mcp *server = c->request.session->server;
    json_t *staged = json_loads(json, JSON_ALLOW_NUL, NULL);
    const char *digest = json_string_value(json_object_get(staged, "digest"));
    c->changes = (int64_t)json_array_size(json_object_get(staged, "changes"));
    bool asked = false;
    c->digest = digest ? strdup(digest) : NULL;
    if (!c->digest)
        note_staged(c, "some of them cannot be read");
    else if (c->asks)
        asked = ask_client(c, c->tool, json);
    else if (server->what->queues)
        asked = ask_queue(c, c->tool);
    json_decref(staged);
    if (!asked) {
        free(c->digest);
        c->digest = NULL;
    }
    return asked;
}

bool tc_mcp_review(struct tc_mcp_call *c, const struct toolcage_result *result)
{
    struct tc_mcp *server = c->request.session ? c->request.session->server : NULL;
    char *json = NULL;
    bool asked = false;
    if (!server || !(server->what->elicits || server->what->queues) || !waits(result))
        return false;
    if (server->stopping)
        note_staged(c, unanswered);
    else if (c->forgotten)
        note_staged(c, "its client has closed the connection");
    else if (tc_mcp_is_crowded(server))
        note_staged(c, "8 other calls wait for an approval");
    else if (!tc_mcp_engine(server, NULL) &&
             toolcage_engine_changes_json(server->engine, toolcage_call_id(c->call), 0, NULL, &json,
                                          NULL) == 0)
        asked = ask_person(c, json);
    else
        note_staged(c, "they cannot be read now");
    toolcage_free(json);
    return asked;
}

/* ---- the answer ---- */

/* Applies all that was shown. */
static void apply(struct tc_mcp_call *c)
{
    struct tc_mcp *server = c->request.session->server;
    struct toolcage_error *err = NULL;
    char *json = NULL, *text = NULL;
    size_t applied = 0, left = 0, i;
    json_t *change;
    if (tc_mcp_engine(server, &err) ||
        toolcage_engine_settle_seen_json(server->engine, toolcage_call_id(c->call),
                                         TOOLCAGE_SETTLE_COMMIT, c->digest, 0, NULL, &json, &err)) {
        note_refused(c, err ? toolcage_error_message(err) : "out of memory");
        toolcage_error_free(err);
        return;
    }
    json_t *settled = json_loads(json, JSON_ALLOW_NUL, NULL);
    json_array_foreach(json_object_get(settled, "changes"), i, change)
    {
        bool held = json_object_get(change, "held");
        left += held;
        applied += !held;
    }
    if (asprintf(&text, "note: a person has approved the changes: %zu applied, %zu not applied",
                 applied, left) < 0)
        text = NULL;
    note(c, text);
    json_decref(settled);
    toolcage_free(json);
}

void tc_mcp_review_answered(struct tc_mcp_call *c, const json_t *result)
{
    const char *action = json_string_value(json_object_get(result, "action"));
    const json_t *content = json_object_get(result, "content");
    const char *answer = json_string_value(json_object_get(content, "answer"));
    const char *reason = json_string_value(json_object_get(content, "reason"));
    if (c->note) /* decided without the answer */
        return;
    if (action && strcmp(action, "accept") == 0 && answer && strcmp(answer, "yes") == 0)
        apply(c);
    else if (!action)
        note_refused(c, "the client could not ask its user");
    else
        note_refused(c, reason && *reason ? reason : "a person did not approve them");
}

void tc_mcp_review_queued(struct tc_mcp_call *c, enum tc_answer answer, const char *reason)
{
    char *text = NULL;
    if (answer == TC_ANSWER_NO) {
        note_refused(c, reason ? reason : "a person did not approve them");
        return;
    }
    if (asprintf(&text, "note: a person has decided about the changes: %s",
                 reason ? reason : "yes") < 0)
        text = NULL;
    note(c, text);
}

void tc_mcp_review_unanswered(struct tc_mcp_call *c, const char *why)
{
    if (!c->note)
        note_refused(c, why ? why : unanswered);
}

bool tc_mcp_review_gone(struct tc_mcp_call *c)
{
    enum { LOOK_MS = 2000 };
    if (!c->ended || !c->wait || tc_mcp_now_ms() < c->look_ms)
        return false;
    bool first = !c->look_ms, gone = !first && count_staged(c) == 0, again = c->gone;
    c->look_ms = tc_mcp_now_ms() + LOOK_MS;
    c->gone = gone;
    if (gone && again) /* who has settled them may be about to answer */
        note_refused(c, "");
    return gone && again;
}
