/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "mcp/fresh.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct tc_fresh {
    struct tc_wrap *wrap;
    struct toolcage_call *call;
    int sink;
    char *key;     /* of the request */
    char *message; /* the request, until the server has greeted; NULL: it was sent */
    struct tc_lines lines;
    struct tc_outbox box;
    char *answer; /* the response, which waits for the end of the call: its changes are written then
                   */
    bool over;    /* it may say nothing more */
    bool begun;   /* was dispatched once: a refused call has already ended */
    bool ended;   /* is removed at the end of this step */
    int64_t cancel_at_ms; /* 0: not yet */
};

enum {
    RUNNING_MAX = 16,
    LEAVE_MS = 2000 /* for the server to exit after its input has ended */
};

static const char ready[] = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}";

/* ---- the handshake ---- */

void tc_fresh_hello(struct tc_wrap *wrap, const struct tc_rpc *rpc, struct tc_slice message)
{
    if (!wrap->per_call || !tc_scan_is(rpc->method, "initialize"))
        return;
    free(wrap->hello);
    free(wrap->greeting);
    wrap->greeting = NULL;
    wrap->hello = strndup(message.at, message.length);
    wrap->failed |= !wrap->hello;
}

void tc_fresh_greeting(struct tc_wrap *wrap, struct tc_slice result)
{
    struct tc_slice version;
    if (!wrap->hello || wrap->greeting || !tc_scan_member(result, "protocolVersion", &version) ||
        !version.at)
        return;
    wrap->greeting = strndup(result.at, result.length);
    wrap->failed |= !wrap->greeting;
}

static void send(struct tc_fresh *f, const char *text, size_t length)
{
    f->wrap->failed |= !tc_outbox_add(&f->box, text, length);
}

/* Ends the server as the end of a client does; its call continues until it has ended. */
static void leave(struct tc_fresh *f, int64_t ms)
{
    f->over = true;
    f->cancel_at_ms = tc_mcp_now_ms() + ms;
    tc_outbox_done(&f->box);
    if (f->sink >= 0)
        (void)close(f->sink);
    f->sink = -1;
}

static void give_up(struct tc_fresh *f, const char *why)
{
    tc_pass_fail(f->wrap, f->key, why);
    leave(f, 0);
}

static void send_request(struct tc_fresh *f)
{
    send(f, f->message, strlen(f->message));
    free(f->message);
    f->message = NULL;
}

/* The tools that the client knows are those of a server that answered in this way. */
static void take_greeting(struct tc_fresh *f, const struct tc_rpc *rpc)
{
    const char *known = f->wrap->greeting;
    if (rpc->fault || !rpc->result.at || strlen(known) != rpc->result.length ||
        memcmp(known, rpc->result.at, rpc->result.length) != 0) {
        give_up(f, "the server of this call answered initialize in another way than the first, so "
                   "the call was not sent");
        return;
    }
    send(f, ready, sizeof(ready) - 1);
    send_request(f);
}

/* ---- its messages ---- */

static bool is_own(struct tc_fresh *f, struct tc_slice id)
{
    char *key = tc_rpc_key(id);
    bool own = key && strcmp(key, f->key) == 0;
    f->wrap->failed |= !key;
    free(key);
    return own;
}

static char *write_pong(const char *id)
{
    char *text = NULL;
    return asprintf(&text, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{}}", id) < 0 ? NULL : text;
}

static void answer_server(struct tc_fresh *f, const struct tc_rpc *rpc)
{
    char *id =
        tc_outbox_pending(&f->box) < TC_LINE_MAX ? strndup(rpc->id.at, rpc->id.length) : NULL;
    char *answer = !id ? NULL
                   : tc_scan_is(rpc->method, "ping")
                       ? write_pong(id)
                       : tc_pass_refusal(f->wrap, id, TC_WRAP_METHOD,
                                         "the server of a single call cannot ask the client");
    if (answer)
        send(f, answer, strlen(answer));
    free(answer);
    free(id);
}

static void pass_on(struct tc_fresh *f, const char *text, size_t length)
{
    f->wrap->from_fresh = true;
    tc_pass_server(f->wrap, text, length);
    f->wrap->from_fresh = false;
}

static void take_answer(struct tc_fresh *f, const char *text, size_t length)
{
    f->answer = strndup(text, length);
    f->wrap->failed |= !f->answer;
    struct tc_asked *asked = tc_asked_of(f->wrap, f->key);
    if (asked)
        asked->end_at_ms = 0;
    leave(f, LEAVE_MS);
}

/* Fails a request that the answer did not answer, because no message could be read from it. */
static void give_answer(struct tc_fresh *f)
{
    if (!f->answer)
        return;
    pass_on(f, f->answer, strlen(f->answer));
    tc_pass_fail(f->wrap, f->key, "the server's answer is not a JSON-RPC message and was dropped");
    free(f->answer);
    f->answer = NULL;
}

static void take_line(struct tc_fresh *f, const char *text, size_t length)
{
    char *copy = tc_rescue_text(text, length);
    struct tc_slice line = tc_scan_whole(copy ? copy : text, copy ? strlen(copy) : length);
    struct tc_rpc rpc = line.at ? tc_rpc_read(line) : (struct tc_rpc){0};
    bool answers = rpc.shape == TC_SHAPE_RESPONSE || (rpc.shape == TC_SHAPE_NONE && rpc.id.at);
    if (rpc.shape == TC_SHAPE_REQUEST) {
        answer_server(f, &rpc);
    } else if (answers && f->message) {
        take_greeting(f, &rpc);
    } else if (answers && is_own(f, rpc.id)) {
        take_answer(f, text, length);
    } else if (rpc.shape == TC_SHAPE_NOTIFICATION && !f->message) {
        pass_on(f, text, length);
    } else if (rpc.shape != TC_SHAPE_NOTIFICATION) {
        tc_wrap_note(f->wrap, "dropped what the server of a call wrote");
    }
    free(copy);
}

static void on_output(void *userdata, int stream, const void *bytes, size_t length)
{
    struct tc_fresh *f = userdata;
    const char *line = NULL;
    enum tc_line kind;
    if (f->over || f->wrap->deaf)
        return;
    if (stream == STDERR_FILENO) {
        tc_wrap_errors(f->wrap, bytes, length);
        return;
    }
    f->wrap->failed |= !tc_lines_add(&f->lines, bytes, length);
    while (!f->over && !f->wrap->failed &&
           (kind = tc_lines_next(&f->lines, &line, &length)) != TC_LINE_NONE) {
        if (kind == TC_LINE_WHOLE)
            take_line(f, line, length);
        else if (kind == TC_LINE_TOO_LONG)
            give_up(f, "the answer of the server was over 8 MiB and was dropped; ask for less");
    }
}

/* ---- its life ---- */

static void free_fresh(struct tc_fresh *f)
{
    (void)toolcage_call_unref(f->call);
    if (f->sink >= 0)
        (void)close(f->sink);
    tc_lines_done(&f->lines);
    tc_outbox_done(&f->box);
    free(f->key);
    free(f->message);
    free(f->answer);
    free(f);
}

static void remove_ended(struct tc_wrap *wrap)
{
    for (size_t i = wrap->fresh_count; i-- > 0;) {
        if (!wrap->fresh[i]->ended)
            continue;
        free_fresh(wrap->fresh[i]);
        wrap->fresh[i] = wrap->fresh[--wrap->fresh_count];
    }
}

static char *explain_start(struct toolcage_error *err)
{
    char *why = NULL;
    if (asprintf(&why, "the server of this call could not be started: %s",
                 err ? toolcage_error_message(err) : "out of memory") < 0)
        why = NULL;
    toolcage_error_free(err);
    return why;
}

const char *tc_fresh_refusal(const struct tc_wrap *wrap, const struct tc_rpc *rpc)
{
    size_t running = 0;
    if (!tc_rpc_is_stateless(rpc->params) && !wrap->greeting)
        return "the client has not sent initialize, or the server has not answered it";
    for (size_t i = 0; i < wrap->fresh_count; i++)
        running += !wrap->fresh[i]->over;
    return running < RUNNING_MAX && wrap->fresh_count < TC_FRESH_MAX
               ? NULL
               : "too many calls of this server run at once (16); call again later";
}

/* Nothing is answered while a cage starts: the sources of its secrets may be slow. */
static int start(struct tc_fresh *f, struct toolcage_error **err)
{
    struct tc_wrap *wrap = f->wrap;
    int64_t begun = tc_mcp_now_ms();
    int rc = tc_wrap_start(wrap, &f->call, &f->sink, on_output, f, err);
    int64_t lost = tc_mcp_now_ms() - begun;
    for (size_t i = 0; i < wrap->asked_count; i++)
        wrap->asked[i].end_at_ms += wrap->asked[i].end_at_ms ? lost : 0;
    return rc;
}

char *tc_fresh_begin(struct tc_wrap *wrap, const struct tc_rpc *rpc, struct tc_slice message)
{
    struct toolcage_error *err = NULL;
    bool alone = tc_rpc_is_stateless(rpc->params);
    struct tc_fresh *f = calloc(1, sizeof(*f));
    if (!f) {
        wrap->failed = true;
        return NULL;
    }
    f->wrap = wrap;
    f->sink = -1;
    f->key = tc_rpc_key(rpc->id);
    f->message = strndup(message.at, message.length);
    wrap->failed |= !f->key || !f->message;
    if (!wrap->failed && start(f, &err) < 0) {
        free_fresh(f);
        return explain_start(err);
    }
    wrap->fresh[wrap->fresh_count++] = f;
    if (!wrap->failed && alone)
        send_request(f);
    else if (!wrap->failed)
        send(f, wrap->hello, strlen(wrap->hello));
    return NULL;
}

void tc_fresh_end(struct tc_wrap *wrap, const char *key)
{
    for (size_t i = 0; i < wrap->fresh_count; i++) {
        struct tc_fresh *f = wrap->fresh[i];
        if (key && strcmp(f->key, key) != 0)
            continue;
        if (!key)
            give_answer(f);
        free(f->answer);
        f->answer = NULL;
        if (!f->over)
            leave(f, 0);
    }
}

int64_t tc_fresh_due(const struct tc_wrap *wrap)
{
    int64_t due = 0;
    for (size_t i = 0; i < wrap->fresh_count; i++) {
        const struct tc_fresh *f = wrap->fresh[i];
        int64_t at = f->begun ? f->cancel_at_ms : 1;
        if (at && (!due || at < due))
            due = at;
    }
    return due;
}

void tc_fresh_watch(const struct tc_wrap *wrap, bool room, struct pollfd fds[TC_FRESH_FDS])
{
    for (size_t i = 0; i < TC_FRESH_MAX; i++) {
        const struct tc_fresh *f = i < wrap->fresh_count ? wrap->fresh[i] : NULL;
        bool heard = f && (room || f->over);
        fds[2 * i] =
            (struct pollfd){.fd = heard ? toolcage_call_fd(f->call) : -1, .events = POLLIN};
        fds[2 * i + 1] = (struct pollfd){.fd = f && tc_outbox_pending(&f->box) ? f->sink : -1,
                                         .events = POLLOUT};
    }
}

/* What ended the call, in words for the model, if it was not its answer. */
static void explain_end(struct tc_fresh *f)
{
    static const char alone[] = "the server of this call has ended without an answer";
    const char *message = toolcage_result_message(toolcage_call_result(f->call));
    char *why = NULL;
    if (message && *message && asprintf(&why, "%s: %s", alone, message) < 0)
        why = NULL;
    give_up(f, why ? why : alone);
    if (why)
        tc_wrap_note(f->wrap, why);
    free(why);
}

static void report_end(struct tc_fresh *f)
{
    const struct toolcage_result *result = toolcage_call_result(f->call);
    enum toolcage_status status = toolcage_result_status(result);
    bool own = status == TOOLCAGE_STATUS_OK || status == TOOLCAGE_STATUS_FAILED ||
               status == TOOLCAGE_STATUS_CANCELLED;
    f->ended = true;
    if (!f->over)
        explain_end(f);
    else if (!own && toolcage_result_message(result))
        tc_wrap_note(f->wrap, toolcage_result_message(result));
    give_answer(f);
}

static int step(struct tc_fresh *f, const struct pollfd fds[2], struct toolcage_error **err)
{
    if (f->cancel_at_ms && tc_mcp_now_ms() >= f->cancel_at_ms) {
        f->cancel_at_ms = 0;
        (void)toolcage_call_cancel(f->call);
    }
    if (fds[1].revents && f->sink >= 0 && tc_outbox_write(&f->box, f->sink) < 0)
        tc_outbox_done(&f->box); /* the server closed its input; its end follows */
    int rc = fds[0].revents || !f->begun ? toolcage_call_dispatch(f->call, err) : 0;
    f->begun = true;
    if (rc > 0)
        report_end(f);
    return rc < 0 ? rc : 0;
}

int tc_fresh_step(struct tc_wrap *wrap, const struct pollfd fds[TC_FRESH_FDS],
                  struct toolcage_error **err)
{
    int rc = 0;
    size_t watched = wrap->fresh_count; /* a step may start others, behind these */
    for (size_t i = 0; i < watched && rc == 0; i++)
        rc = step(wrap->fresh[i], &fds[2 * i], err);
    remove_ended(wrap);
    return rc;
}

void tc_fresh_done(struct tc_wrap *wrap)
{
    while (wrap->fresh_count)
        free_fresh(wrap->fresh[--wrap->fresh_count]);
    free(wrap->hello);
    free(wrap->greeting);
}
