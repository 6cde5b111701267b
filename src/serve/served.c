/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The calls that the server knows: those that wait or run, and the last ones that have ended. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/jsontext.h"
#include "serve/serve.h"

struct tc_served *tc_served_find(struct tc_api *api, const char *id)
{
    struct tc_served *served = api->served;
    while (served && strcmp(served->id, id) != 0)
        served = served->next;
    return served;
}

json_t *tc_served_describe(const struct tc_served *served)
{
    const char *state = served->state == TC_SERVED_ENDED ? "ended"
                        : served->wait                   ? "waiting"
                                                         : "running";
    json_t *about = json_pack("{s:s, s:s, s:s, s:I}", "id", served->id, "tool", served->tool,
                              "state", state, "began", (json_int_t)served->began);
    if (about && served->state == TC_SERVED_ENDED)
        (void)json_object_update_new(
            about,
            json_pack("{s:I, s:s}", "ended", (json_int_t)served->ended, "status", served->word));
    return about;
}

/* ---- what clients get ---- */

static void send_event(struct tc_served *served, struct tc_served_asker *a, const char *event,
                       json_t *body)
{
    char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;
    if (text)
        served->api->config.wire->event(a->asker, event, text);
    free(text);
}

static void tell_begin(struct tc_served *served, struct tc_served_asker *a)
{
    if (a->told)
        return;
    json_t *about = tc_served_describe(served);
    send_event(served, a, "call", about);
    a->told = true;
    json_decref(about);
}

static void tell_gap(struct tc_served *served, struct tc_served_asker *a)
{
    json_t *gap = a->dropped ? json_pack("{s:I}", "bytes", (json_int_t)a->dropped) : NULL;
    if (gap)
        send_event(served, a, "omitted", gap);
    json_decref(gap);
    a->dropped = 0;
}

/* Without memory for the result, all who ask for it are answered so. */
static void refuse_result(struct tc_served *served, void *asker)
{
    tc_api_refuse(served->api, asker, 503, "out of memory for the result of this call",
                  "it has run; toolcage audit show ID, if the policy has [audit]");
}

static void tell_end(struct tc_served *served, struct tc_served_asker *a)
{
    const struct tc_api_wire *wire = served->api->config.wire;
    if (!served->result) {
        refuse_result(served, a->asker);
        return;
    }
    if (!a->streams) {
        wire->result(a->asker, served->result, false);
        return;
    }
    tell_begin(served, a);
    tell_gap(served, a);
    wire->result(a->asker, served->result, true);
}

bool tc_served_add_asker(struct tc_served *served, void *asker, bool streams, bool calls)
{
    struct tc_served_asker a = {.asker = asker, .streams = streams, .calls = calls};
    if (served->state == TC_SERVED_ENDED) {
        tell_end(served, &a);
        return true;
    }
    if (served->asker_count == TC_SERVED_ASKERS_MAX)
        return false;
    if (streams)
        tell_begin(served, &a);
    served->askers[served->asker_count++] = a;
    return true;
}

/* Does a client wait that made the call? Others only look on. */
static bool has_caller(const struct tc_served *served)
{
    for (size_t i = 0; i < served->asker_count; i++)
        if (served->askers[i].calls)
            return true;
    return false;
}

void tc_served_forget(struct tc_api *api, const void *asker)
{
    for (struct tc_served *served = api->served; served; served = served->next)
        for (size_t i = 0; i < served->asker_count; i++) {
            if (served->askers[i].asker != asker)
                continue;
            served->askers[i] = served->askers[--served->asker_count];
            if (!has_caller(served) && !served->detached)
                tc_served_cancel(served);
            return;
        }
}

/* ---- output ---- */

/* Text if the piece is UTF-8, else base64; owned, NULL: out of memory. */
static char *write_piece(int stream, const void *bytes, size_t length)
{
    struct tc_buf out = TC_BUF_INIT;
    tc_buf_addc(&out, '{');
    tc_json_member(&out, "stream", stream == 1 ? "stdout" : "stderr");
    tc_json_bytes(&out, "text", "base64", bytes, length);
    tc_buf_addc(&out, '}');
    return tc_buf_steal(&out);
}

static void take_output(void *userdata, int stream, const void *bytes, size_t length)
{
    struct tc_served *served = userdata;
    const struct tc_api_wire *wire = served->api->config.wire;
    char *piece = NULL;
    for (size_t i = 0; i < served->asker_count; i++) {
        struct tc_served_asker *a = &served->askers[i];
        if (!a->streams)
            continue;
        if (wire->is_full(a->asker)) {
            a->dropped += length;
            continue;
        }
        tell_gap(served, a);
        if (!piece)
            piece = write_piece(stream, bytes, length);
        if (piece)
            wire->event(a->asker, "output", piece);
    }
    free(piece);
}

/* ---- life ---- */

static void free_served(struct tc_served *served)
{
    (void)toolcage_call_unref(served->call);
    tc_wait_end(served->wait);
    free(served->tool);
    free(served->digest);
    (void)tc_api_result_unref(served->result);
    free(served->key);
    free(served->body);
    free(served);
}

static void drop_served(struct tc_api *api, struct tc_served *served)
{
    struct tc_served **at = &api->served;
    while (*at != served)
        at = &(*at)->next;
    *at = served->next;
    api->served_count--;
    api->bytes -= served->result ? served->result->length : 0;
    free_served(served);
}

void tc_served_trim(struct tc_api *api)
{
    while (api->served && (api->served_count > TC_SERVED_MAX || api->bytes > TC_SERVED_BYTES_MAX)) {
        struct tc_served *oldest = NULL;
        for (struct tc_served *served = api->served->next; served; served = served->next)
            if (served->state == TC_SERVED_ENDED)
                oldest = served;
        if (!oldest)
            return;
        drop_served(api, oldest);
    }
}

struct tc_served *tc_served_new(struct tc_api *api, struct toolcage_call *call, const char *tool)
{
    struct toolcage_error *err = NULL;
    struct tc_served *served = calloc(1, sizeof(*served));
    char *copy = strdup(tool);
    if (!served || !copy ||
        toolcage_call_set_output_callback(call, take_output, served, &err) < 0) {
        toolcage_error_free(err);
        free(copy);
        free(served);
        return NULL;
    }
    *served = (struct tc_served){.next = api->served,
                                 .tool = copy,
                                 .api = api,
                                 .call = call,
                                 .state = TC_SERVED_WAITS,
                                 .began = tc_api_now_s(),
                                 .since_us = tc_api_now_us()};
    (void)snprintf(served->id, sizeof(served->id), "%s", toolcage_call_id(call));
    api->served = served;
    api->served_count++;
    api->live++;
    return served;
}

/* `result` is JSON; NULL: out of memory. */
static void end_served(struct tc_served *served, const char *result, int32_t status,
                       const char *word)
{
    struct tc_api *api = served->api;
    served->status = status;
    (void)snprintf(served->word, sizeof(served->word), "%s", word);
    served->result = result ? tc_api_result_new(result) : NULL;
    served->ended = tc_api_now_s();
    api->running -= served->state == TC_SERVED_RUNS;
    api->live--;
    api->bytes += served->result ? served->result->length : 0;
    served->state = TC_SERVED_ENDED;
    tc_metrics_count(api, served);
    served->call = toolcage_call_unref(served->call);
    tc_wait_end(served->wait);
    served->wait = NULL;
    while (served->asker_count) {
        struct tc_served_asker a = served->askers[--served->asker_count];
        tell_end(served, &a);
    }
}

/* Its result is an error of the server, not of the call. */
static void end_with_error(struct tc_served *served, const char *message, const char *hint)
{
    json_t *about = json_pack("{s:s, s:s, s:{s:s, s:s}}", "call", served->id, "status", "error",
                              "error", "message", message, "hint", hint);
    char *text = about ? json_dumps(about, JSON_COMPACT) : NULL;
    json_decref(about);
    end_served(served, text, TOOLCAGE_STATUS_ERROR, "error");
    free(text);
}

/* The library failed, not the call. Takes ownership of `err`. */
static void fail_served(struct tc_served *served, struct toolcage_error *err)
{
    end_with_error(served, err ? toolcage_error_message(err) : "out of memory",
                   err ? toolcage_error_hint(err) : "");
    toolcage_error_free(err);
}

static void finish(struct tc_served *served)
{
    const struct toolcage_result *result = toolcage_call_result(served->call);
    if (toolcage_error_code(toolcage_result_error(result)) == TOOLCAGE_EHELPER)
        served->api->engine = toolcage_engine_unref(served->api->engine);
    const char *text = toolcage_result_json(result);
    if (text && strlen(text) > TC_RESULT_MAX)
        end_with_error(served, "the call has run, but its result is larger than 32 MiB",
                       "set a smaller `output`, in the policy or in \"limits\"");
    else
        end_served(served, text, toolcage_result_status(result),
                   toolcage_result_status_word(result));
}

static void dispatch(struct tc_served *served)
{
    struct toolcage_error *err = NULL;
    int rc = toolcage_call_dispatch(served->call, &err);
    if (rc > 0)
        finish(served);
    else if (rc < 0)
        fail_served(served, err);
}

static void start(struct tc_served *served)
{
    struct toolcage_error *err = NULL;
    tc_wait_end(served->wait);
    served->wait = NULL;
    served->state = TC_SERVED_RUNS;
    served->api->running++;
    if (toolcage_call_start(served->call, &err) < 0)
        fail_served(served, err);
    else
        dispatch(served);
}

void tc_served_begin(struct tc_served *served)
{
    if (!tc_approvals_ask(served))
        start(served);
}

/* A person's answer, if there is one. */
static void take_answer(struct tc_served *served)
{
    struct toolcage_error *err = NULL;
    char *reason = NULL;
    enum tc_answer answer = tc_wait_look(served->wait, &reason);
    int rc = answer == TC_ANSWER_NONE ? 0
             : answer == TC_ANSWER_NO ? toolcage_call_deny(served->call, reason, &err)
                                      : toolcage_call_approve(served->call, served->digest, &err);
    if (rc < 0)
        toolcage_error_free(err); /* start denies it */
    free(reason);
    if (answer != TC_ANSWER_NONE)
        start(served);
}

void tc_served_step(struct tc_served *served)
{
    if (served->state == TC_SERVED_WAITS)
        take_answer(served);
    else if (served->state == TC_SERVED_RUNS)
        dispatch(served);
}

void tc_served_cancel(struct tc_served *served)
{
    if (served->state == TC_SERVED_ENDED)
        return;
    (void)toolcage_call_cancel(served->call);
    if (served->state == TC_SERVED_WAITS)
        start(served); /* ends it */
}

void tc_served_close(struct tc_api *api)
{
    while (api->served)
        drop_served(api, api->served);
}
