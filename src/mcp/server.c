/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "mcp/server.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "approve/queue/queue.h"
#include "mcp/live.h"
#include "mcp/log.h"
#include "mcp/memory.h"
#include "mcp/reload.h"
#include "mcp/resources.h"

int tc_mcp_open(struct tc_mcp *server, const struct tc_mcp_tools *what, struct toolcage_error **err)
{
    *server = (struct tc_mcp){
        .what = what, .policy = toolcage_policy_ref(what->policy), .kept.server = server};
    tc_mcp_memory_watch();
    int rc = toolcage_engine_new(&server->engine, err);
    if (rc == 0)
        rc = tc_mcp_load_tools(server, server->policy, &server->tools, err);
    return rc == 0 ? tc_mcp_reload_begin(server, err) : rc;
}

static void end_wait(struct tc_mcp_call *c)
{
    free(c->digest);
    c->digest = NULL;
    tc_wait_end(c->wait);
    c->wait = NULL;
}

static void forget_texts(struct tc_mcp_call *c)
{
    tc_mcp_live_done(c);
    free(c->tool);
    free(c->note);
    json_decref(c->arguments);
    c->tool = c->note = NULL;
    c->arguments = NULL;
}

void tc_mcp_close(struct tc_mcp *server)
{
    int saved = errno;
    for (size_t i = 0; i < server->call_count; i++) {
        tc_mcp_drop(&server->calls[i].request);
        end_wait(&server->calls[i]);
        (void)toolcage_call_unref(server->calls[i].call);
        forget_texts(&server->calls[i]);
        json_decref(server->calls[i].token);
    }
    for (size_t i = 0; i < TC_MCP_OPEN_MAX; i++)
        free(server->open[i].digest);
    tc_mcp_again_done(server);
    free(server->calls);
    json_decref(server->tools);
    tc_mcp_reload_done(server);
    (void)toolcage_policy_unref(server->policy);
    (void)toolcage_engine_unref(server->engine);
    *server = (struct tc_mcp){0};
    errno = saved;
}

bool tc_mcp_is_broken(const struct tc_mcp *server)
{
    return server->failed || tc_mcp_starved();
}

/* ---- tools/call ---- */

/* Each request is a call of the engine. A denial, a limit or a failed tool is a result with
 * isError, which the model can read. Protocol errors are only for faults that no model can correct.
 * */

enum { CALLS_MAX = 64 }; /* at the same time */

static void answer_result(struct tc_mcp_call *c, const struct toolcage_result *result)
{
    struct tc_mcp_receipt receipt = {0};
    bool error = toolcage_result_status(result) != TOOLCAGE_STATUS_OK;
    json_t *whole = json_loads(toolcage_result_json(result), JSON_ALLOW_NUL, NULL);
    tc_mcp_receipt(c, result, &receipt);
    json_t *content = receipt.missing
                          ? json_pack("[o]", tc_mcp_text_block(receipt.missing))
                          : tc_mcp_content(&c->request, toolcage_result_message(result), whole);
    json_t *meta = json_pack("{s:o*}", TC_MCP_RESULT, whole);
    if (receipt.missing)
        (void)json_object_del(meta, TC_MCP_RESULT);
    else if (content && c->note)
        (void)json_array_append_new(content, tc_mcp_text_block(c->note));
    if (receipt.key && json_object_set_new(meta, receipt.key, receipt.value) < 0) {
        json_decref(meta);
        meta = NULL;
    }
    tc_mcp_answer_content(&c->request, content, meta, error || receipt.missing);
    free(receipt.missing);
}

/* Reports a failure of the library, not of the call. Takes ownership of `err` (NULL: out of
 * memory). */
static void answer_failure(struct tc_mcp_request *request, struct toolcage_error *err)
{
    const char *message = err ? toolcage_error_message(err) : "out of memory";
    const char *hint = err ? toolcage_error_hint(err) : "free memory on this machine";
    char *text = NULL; /* not truncated: a cut could split a UTF-8 character */
    if (asprintf(&text, "%s%s%s", message, *hint ? "; " : "", hint) < 0)
        text = NULL;
    tc_mcp_refuse(request, TC_RPC_INTERNAL, text ? text : "out of memory", NULL);
    free(text);
    toolcage_error_free(err);
}

static int set_arguments(struct toolcage_call *call, const json_t *arguments,
                         struct toolcage_error **err)
{
    char *text = arguments ? json_dumps(arguments, JSON_COMPACT) : strdup("{}");
    int rc = text ? toolcage_call_set_arguments_json(call, text, err) : TOOLCAGE_EMEMORY;
    free(text);
    return rc;
}

/* NULL with *err (NULL: out of memory). */
static struct toolcage_call *make_call(struct tc_mcp *server, const char *name,
                                       const json_t *arguments, struct toolcage_error **err)
{
    const struct tc_mcp_tools *what = server->what;
    struct toolcage_call *call = NULL;
    if (tc_mcp_engine(server, err) < 0)
        return NULL;
    if (toolcage_call_new(server->engine, server->policy, name, &call, err) < 0)
        return NULL;
    if ((what->narrow && what->narrow(what->userdata, call, err) < 0) ||
        set_arguments(call, arguments, err) < 0)
        return toolcage_call_unref(call);
    return call;
}

static struct tc_mcp_call *add_call(struct tc_mcp *server)
{
    if (!server->calls)
        server->calls = calloc(CALLS_MAX, sizeof(*server->calls));
    return server->calls ? &server->calls[server->call_count++] : NULL;
}

static void leave(struct tc_mcp *server, size_t index)
{
    (void)toolcage_call_unref(server->calls[index].call);
    end_wait(&server->calls[index]);
    forget_texts(&server->calls[index]);
    json_decref(server->calls[index].token);
    server->calls[index] = server->calls[--server->call_count];
}

/* Reports that the call did not start. */
static void fail_call(struct tc_mcp *server, size_t index, struct toolcage_error *err)
{
    answer_failure(&server->calls[index].request, err);
    leave(server, index);
}

static void end_call(struct tc_mcp *server, size_t index, struct toolcage_error *err);

void tc_mcp_start(struct tc_mcp *server, size_t index)
{
    struct toolcage_error *err = NULL;
    end_wait(&server->calls[index]);
    if (server->calls[index].ended)
        end_call(server, index, NULL);
    else if (toolcage_call_start(server->calls[index].call, &err) < 0)
        fail_call(server, index, err);
    else
        tc_mcp_dispatch(server, index);
}

/* True: the request brought an answer about the changes of a call that has ended, and is done. */
static bool resume(struct tc_mcp_request *request, const json_t *params)
{
    struct tc_mcp *server = request->session->server;
    const json_t *result;
    ssize_t index;
    if (!tc_mcp_resume(request, params, &index, &result))
        return false;
    if (index < 0) {
        tc_mcp_answer_text(request, "nothing ran: the question was answered already, was not "
                                    "asked, or was about another call");
        return true;
    }
    tc_mcp_review_answered(&server->calls[index], result);
    tc_mcp_start(server, (size_t)index);
    return true;
}

void tc_mcp_end_resumes(struct tc_mcp *server)
{
    for (size_t i = server->call_count; i-- > 0;)
        if (server->calls[i].resumes)
            tc_mcp_start(server, i);
}

static void end_excess(struct tc_mcp *server)
{
    ssize_t index = tc_mcp_resume_excess(server);
    if (index >= 0)
        tc_mcp_start(server, (size_t)index);
}

/* No answer to the question of a call that waits counts from now on. */
static void refuse_answer(struct tc_mcp *server, struct tc_mcp_call *c, const char *why)
{
    struct toolcage_error *err = NULL;
    if (c->ended)
        tc_mcp_review_unanswered(c, why);
    else if (toolcage_call_deny(c->call, why, &err) < 0)
        toolcage_error_free(err);           /* start denies it */
    server->failed |= c->ended && !c->note; /* an answer would apply them */
    if (!c->wait && !c->resumes && !c->forgotten)
        tc_mcp_unask(c);
}

/* The question of a call that waits for an approval was about the old policy. */
static void end_waiting(struct tc_mcp *server)
{
    for (size_t i = server->call_count; i-- > 0;) {
        struct tc_mcp_call *c = &server->calls[i];
        if (!c->digest)
            continue;
        refuse_answer(server, c,
                      c->ended ? "the policy has changed since the question"
                               : "the policy has changed since the question: call again");
        if (!c->resumes) /* else its client gets the result with the answer */
            tc_mcp_start(server, i);
    }
    for (size_t i = 0; i < TC_MCP_OPEN_MAX; i++) {
        free(server->open[i].digest);
        server->open[i].digest = NULL;
    }
    tc_mcp_again_done(server);
}

void tc_mcp_refresh(struct tc_mcp *server, bool due)
{
    if (tc_mcp_reload_look(server, due))
        end_waiting(server);
}

void tc_mcp_call(struct tc_mcp_request *request, const json_t *params)
{
    struct tc_mcp *server = request->session->server;
    const json_t *name = json_object_get(params, "name");
    const json_t *arguments = json_object_get(params, "arguments");
    arguments = json_is_null(arguments) ? NULL : arguments; /* some clients write it for none */
    struct toolcage_error *err = NULL;
    tc_mcp_refresh(server, false);
    if (resume(request, params))
        return;
    if (!tc_mcp_lists(server->tools, name)) {
        tc_mcp_log_unknown(request, params);
        tc_mcp_refuse(request, TC_RPC_PARAMS,
                      "the policy has no tool of this name; tools/list names them", NULL);
        return;
    }
    if (arguments && !json_is_object(arguments)) {
        tc_mcp_refuse(request, TC_RPC_PARAMS, "arguments must be an object", NULL);
        return;
    }
    if (server->call_count == CALLS_MAX) {
        tc_mcp_answer_text(request,
                           "too many calls run at once (64): wait for one to end, then repeat");
        return;
    }
    struct toolcage_call *call = make_call(server, json_string_value(name), arguments, &err);
    struct tc_mcp_call *slot = call ? add_call(server) : NULL;
    if (!slot) {
        (void)toolcage_call_unref(call);
        answer_failure(request, err);
        return;
    }
    *slot = (struct tc_mcp_call){.request = *request,
                                 .call = call,
                                 .level = tc_mcp_log_level(request, params),
                                 .asks = tc_mcp_can_ask(request, params),
                                 .tool = strdup(json_string_value(name)),
                                 .arguments = json_incref(json_object_get(params, "arguments"))};
    tc_mcp_progress_begin(slot, params);
    bool asks = server->what->elicits || server->what->queues;
    int rc = tc_mcp_live_begin(slot, &err);
    if (rc == 0)
        rc = asks ? tc_mcp_elicit(slot, params, &err) : TC_MCP_STARTS;
    if (rc < 0)
        fail_call(server, server->call_count - 1, err);
    else if (rc == TC_MCP_STARTS)
        tc_mcp_start(server, server->call_count - 1);
    else if (rc == TC_MCP_ANSWERED)
        leave(server, server->call_count - 1);
}

void tc_mcp_cancel(struct tc_mcp_session *session, const json_t *id)
{
    struct tc_mcp *server = session->server;
    for (size_t i = server->call_count;
         i-- > 0;) { /* backwards: a call that waits leaves the list */
        struct tc_mcp_call *c = &server->calls[i];
        if (c->cancelled || c->request.session != session || (id && !json_equal(c->request.id, id)))
            continue;
        c->cancelled = true; /* a client that cancels expects no response */
        (void)toolcage_call_cancel(c->call);
        if (c->digest) {
            if (!c->wait && !c->resumes)
                tc_mcp_unask(c);
            tc_mcp_start(server, i); /* ends it */
        }
    }
}

void tc_mcp_stop(struct tc_mcp *server)
{
    server->stopping = true;
    for (size_t i = server->call_count; i-- > 0;) {
        (void)toolcage_call_cancel(server->calls[i].call);
        if (server->calls[i].digest)
            tc_mcp_start(server, i); /* ends it */
    }
}

/* Without a response. */
static void drop_request(struct tc_mcp_request *request)
{
    struct tc_mcp_session *session = request->session;
    if (session && session->end && request->asker)
        session->end(session, request->asker);
    tc_mcp_drop(request);
}

static void end_call(struct tc_mcp *server, size_t index, struct toolcage_error *err)
{
    struct tc_mcp_call *c = &server->calls[index];
    const struct toolcage_result *result = toolcage_call_result(c->call);
    /* the kernel closes a dead helper's fds in any order: a call may fail before the engine */
    if (toolcage_error_code(toolcage_result_error(result)) == TOOLCAGE_EHELPER)
        server->engine = toolcage_engine_unref(server->engine);
    if (result && !c->ended) {
        tc_mcp_live_send(c, INT64_MAX / 2, true);
        tc_mcp_log_result(c, result);
    }
    if (result && !c->cancelled && !c->ended && tc_mcp_review(c, result)) {
        c->ended = true;
        end_excess(server);
        return;
    }
    if (c->ended && !c->cancelled && !c->resumes)
        tc_mcp_review_unanswered(c, NULL);
    if (c->cancelled || c->resumes) {
        drop_request(&c->request);
        toolcage_error_free(err);
    } else if (result) {
        answer_result(c, result);
    } else {
        answer_failure(&c->request, err);
    }
    leave(server, index);
}

void tc_mcp_dispatch(struct tc_mcp *server, size_t index)
{
    struct toolcage_error *err = NULL;
    int rc =
        server->calls[index].ended ? 0 : toolcage_call_dispatch(server->calls[index].call, &err);
    if (rc != 0)
        end_call(server, index, err);
}

int tc_mcp_fd(const struct tc_mcp_call *c)
{
    return c->ended ? -1 : toolcage_call_fd(c->call);
}

/* Why the call waits no longer; NULL: it does, or never did. */
static const char *find_end(const struct tc_mcp *server, const struct tc_mcp_call *c)
{
    if (!c->digest)
        return NULL;
    if (c->forgotten && !c->resumes)
        return "its client has closed the connection";
    return !c->wait && tc_mcp_is_late(server, c->asked_ms) ? "no answer came in time" : NULL;
}

void tc_mcp_look(struct tc_mcp *server)
{
    for (size_t i = server->call_count;
         i-- > 0;) { /* backwards, because ended calls leave the list */
        struct tc_mcp_call *c = &server->calls[i];
        const char *why = find_end(server, c);
        if (why)
            refuse_answer(server, c, why);
        if (why || tc_mcp_queue_take(c))
            tc_mcp_start(server, i);
    }
}

void tc_mcp_lost(struct tc_mcp *server)
{
    for (size_t i = server->call_count; i-- > 0;)
        if (!server->calls[i].digest)
            tc_mcp_dispatch(server, i);
    server->engine =
        toolcage_engine_unref(server->engine); /* running calls hold their own reference */
}

void tc_session_leave(struct tc_mcp_session *session)
{
    tc_mcp_cancel(session, NULL);
    tc_session_unlisten(session, NULL);
    tc_mcp_resources_done(session);
    for (size_t i = 0; i < session->server->call_count; i++)
        if (session->server->calls[i].request.session == session)
            session->server->calls[i].request.session = NULL;
}

void tc_session_forget(struct tc_mcp_session *session, const void *asker, bool cancel)
{
    struct tc_mcp *server = session->server;
    for (size_t i = 0; asker && i < TC_MCP_SUBSCRIPTIONS; i++)
        if (session->subscriptions[i].id && session->subscriptions[i].asker == asker)
            tc_session_unlisten(session, session->subscriptions[i].id);
    for (size_t i = 0; i < server->call_count; i++) {
        struct tc_mcp_call *c = &server->calls[i];
        if (c->request.session != session || c->request.asker != asker)
            continue;
        if (cancel && !c->cancelled)
            (void)toolcage_call_cancel(c->call);
        c->cancelled |= cancel;
        c->request.asker = NULL;
        c->forgotten = true;
    }
}

bool tc_session_is_busy(const struct tc_mcp_session *session)
{
    const struct tc_mcp *server = session->server;
    for (size_t i = 0; i < server->call_count; i++)
        if (server->calls[i].request.session == session)
            return true;
    return false;
}
