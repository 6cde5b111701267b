/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A request to run a tool, or to explain what it may do. */
#include <errno.h>
#include <sha2.h>
#include <stdlib.h>
#include <string.h>

#include "serve/serve.h"

/* What a client may reduce. Directories, variables and the backend are the operator's. */
static const char *const reducible[] = {"timeout",  "memory",     "pids",   "disk",   "cpus",
                                        "cpu_time", "open_files", "output", "network"};

struct wish {
    json_t *body; /* owned */
    const char *tool;
    const char *access; /* a question to explain; NULL: none */
    const json_t *arguments, *limits, *input;
    int detach;
    bool explains; /* without arguments, any arguments are meant */
};

/* ---- reading ---- */

static bool lists_tool(const struct tc_api *api, const char *name)
{
    size_t i;
    const json_t *tool;
    json_array_foreach(api->tools, i, tool)
    {
        const char *known = json_string_value(json_object_get(tool, "name"));
        if (known && strcmp(known, name) == 0)
            return true;
    }
    return false;
}

/* NULL, or what is wrong with the members. */
static const char *read_members(struct wish *w)
{
    static const char *const known[] = {"tool", "arguments", "limits", "stdin", "detach", "access"};
    const char *name;
    json_t *value;
    json_object_foreach(w->body, name, value)
    {
        size_t i = 0;
        while (i < sizeof(known) / sizeof(known[0]) && strcmp(known[i], name) != 0)
            i++;
        if (i == sizeof(known) / sizeof(known[0]))
            return "the members are tool, arguments, limits, stdin and detach; to explain: access";
    }
    const json_t *detach = json_object_get(w->body, "detach");
    w->tool = json_string_value(json_object_get(w->body, "tool"));
    w->arguments = json_object_get(w->body, "arguments");
    w->limits = json_object_get(w->body, "limits");
    w->input = json_object_get(w->body, "stdin");
    const json_t *access = json_object_get(w->body, "access");
    w->access = json_string_value(access);
    w->detach = json_is_true(detach);
    if (!w->tool)
        return "\"tool\" must be the name of a tool";
    if (w->arguments && !json_is_object(w->arguments))
        return "\"arguments\" must be an object";
    if (w->limits && !json_is_object(w->limits))
        return "\"limits\" must be an object";
    if (detach && !json_is_boolean(detach))
        return "\"detach\" must be true or false";
    if (w->input && !json_is_string(w->input))
        return "\"stdin\" must be text";
    if (access && !w->access)
        return "\"access\" must be text, such as read /etc/passwd";
    return NULL;
}

/* False: answered. Frees nothing: w->body is the caller's. */
static bool read_wish(struct tc_api *api, void *asker, const struct tc_api_request *request,
                      struct wish *w)
{
    json_error_t error;
    const char *fault;
    *w = (struct wish){.body = json_loadb(request->body ? request->body : "", request->length,
                                          JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error)};
    if (!json_is_object(w->body))
        tc_api_refuse(api, asker, 400, w->body ? "the body must be an object" : error.text,
                      "{\"tool\": \"NAME\", \"arguments\": {}}");
    else if ((fault = read_members(w)))
        tc_api_refuse(api, asker, 422, fault, "GET /v1/openapi.json");
    else if (!lists_tool(api, w->tool))
        tc_api_refuse(api, asker, 404, "the policy has no tool of this name",
                      "GET /v1/tools lists them");
    else
        return true;
    return false;
}

/* ---- the call ---- */

static int set_arguments(struct toolcage_call *call, const json_t *arguments,
                         struct toolcage_error **err)
{
    char *text = arguments ? json_dumps(arguments, JSON_COMPACT) : strdup("{}");
    int rc = text ? toolcage_call_set_arguments_json(call, text, err) : TOOLCAGE_EMEMORY;
    free(text);
    return rc;
}

/* 1: refused with *ret_fault. */
static int set_limits(struct toolcage_call *call, const json_t *limits, const char **ret_fault,
                      struct toolcage_error **err)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)limits, name, value)
    {
        size_t i = 0;
        while (i < sizeof(reducible) / sizeof(reducible[0]) && strcmp(reducible[i], name) != 0)
            i++;
        if (i == sizeof(reducible) / sizeof(reducible[0]) || !json_is_string(value)) {
            *ret_fault = "\"limits\" has strings: timeout, memory, pids, disk, cpus, cpu_time, "
                         "open_files, output, network";
            return 1;
        }
        int rc = toolcage_call_set(call, name, json_string_value(value), err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static int set_input(struct toolcage_call *call, const json_t *input, struct toolcage_error **err)
{
    return input ? toolcage_call_set_stdin(call, json_string_value(input),
                                           json_string_length(input), err)
                 : 0;
}

/* NULL: answered. */
static struct toolcage_call *make_call(struct tc_api *api, void *asker, const struct wish *w)
{
    struct toolcage_call *call = NULL;
    struct toolcage_error *err = NULL;
    const char *fault = NULL;
    int rc = api->engine ? 0 : toolcage_engine_new(&api->engine, &err);
    if (rc == 0)
        rc = toolcage_call_new(api->engine, api->config.policy, w->tool, &call, &err);
    if (rc == 0 && api->config.workspace)
        rc = toolcage_call_set(call, "workspace", api->config.workspace, &err);
    if (rc == 0 && (w->arguments || !w->explains))
        rc = set_arguments(call, w->arguments, &err);
    if (rc == 0)
        rc = set_limits(call, w->limits, &fault, &err);
    if (rc == 0)
        rc = set_input(call, w->input, &err);
    if (rc == 0)
        return call;
    if (fault)
        tc_api_refuse(api, asker, 422, fault, "GET /v1/openapi.json");
    else
        tc_api_refuse_error(api, asker, err);
    return toolcage_call_unref(call);
}

/* ---- idempotency ---- */

static void digest_body(const struct tc_api_request *request, char ret[SHA256_DIGEST_STRING_LENGTH])
{
    (void)SHA256Data((const uint8_t *)(request->body ? request->body : ""), request->length, ret);
}

static struct tc_served *find_key(const struct tc_api *api, const char *key)
{
    for (struct tc_served *served = api->served; served; served = served->next)
        if (served->key && strcmp(served->key, key) == 0)
            return served;
    return NULL;
}

static bool is_key(const char *key)
{
    size_t length = strlen(key);
    for (const char *c = key; *c; c++)
        if (*c < '!' || *c > '~')
            return false;
    return length && length <= TC_SERVED_KEY_MAX;
}

static void join(struct tc_api *api, void *asker, struct tc_served *served, bool streams,
                 int detach)
{
    if (detach)
        tc_api_answer(api, asker, 202, tc_served_describe(served));
    else if (!tc_served_add_asker(served, asker, streams, true))
        tc_api_refuse(api, asker, 503, "too many clients wait for this call", "try again");
}

/* Is this a repeated request? Then it is answered. */
static bool repeats(struct tc_api *api, void *asker, const struct tc_api_request *request)
{
    char digest[SHA256_DIGEST_STRING_LENGTH];
    struct wish w;
    if (!request->key)
        return false;
    if (!is_key(request->key)) {
        tc_api_refuse(api, asker, 400, "Idempotency-Key has 1 to 255 visible ASCII characters",
                      "send a UUID");
        return true;
    }
    struct tc_served *served = find_key(api, request->key);
    if (!served)
        return false;
    digest_body(request, digest);
    if (strcmp(digest, served->body) != 0)
        tc_api_refuse(api, asker, 422, "this Idempotency-Key belongs to another request",
                      "use a new key");
    else if (read_wish(api, asker, request, &w)) {
        join(api, asker, served, request->streams, w.detach);
        json_decref(w.body);
    }
    return true;
}

/* Stores the key before the call can start. False: answered. */
static bool keep_key(struct tc_api *api, void *asker, const struct tc_api_request *request,
                     const struct toolcage_call *call)
{
    char id[TC_QUEUE_ID_SIZE], text[200];
    enum tc_key_fate kept =
        request->key ? tc_key_take(request->key, toolcage_call_id(call), id) : TC_KEY_NEW;
    if (kept == TC_KEY_NEW)
        return true;
    if (kept == TC_KEY_USED) {
        (void)snprintf(text, sizeof(text),
                       "this Idempotency-Key was used for the call %.26s, whose result this server "
                       "does not have: it was restarted since, or the call is old",
                       *id ? id : "of another server");
        tc_api_refuse(api, asker, 409, text,
                      "toolcage audit show ID, if the policy has [audit]; else use a new key");
        return false;
    }
    (void)snprintf(text, sizeof(text), "the Idempotency-Key cannot be stored: %s", strerror(errno));
    tc_api_refuse(api, asker, 503, text, "make room in the state directory, or send no key");
    return false;
}

/* ---- requests ---- */

static bool remember_key(struct tc_served *served, const struct tc_api_request *request)
{
    char digest[SHA256_DIGEST_STRING_LENGTH];
    if (!request->key)
        return true;
    digest_body(request, digest);
    served->body = strdup(digest);
    served->key = served->body ? strdup(request->key) : NULL;
    return served->key;
}

static void run_wish(struct tc_api *api, void *asker, const struct tc_api_request *request,
                     const struct wish *w)
{
    struct toolcage_call *call = make_call(api, asker, w);
    if (!call)
        return;
    if (!keep_key(api, asker, request, call)) {
        (void)toolcage_call_unref(call);
        return;
    }
    struct tc_served *served = tc_served_new(api, call, w->tool);
    if (!served) {
        (void)toolcage_call_unref(call);
        tc_api_refuse(api, asker, 503, "out of memory", "free memory on this machine");
        return;
    }
    served->detached = w->detach || request->key;
    if (!remember_key(served, request))
        (void)toolcage_call_cancel(call);
    if (w->detach)
        tc_api_answer(api, asker, 202, tc_served_describe(served));
    else
        (void)tc_served_add_asker(served, asker, request->streams, true);
    tc_served_begin(served);
}

void tc_run_call(struct tc_api *api, void *asker, const struct tc_api_request *request)
{
    struct wish w;
    if (repeats(api, asker, request))
        return;
    if (request->crowded || tc_api_results_held() > TC_RESULTS_HELD_MAX)
        tc_api_refuse(api, asker, 503, "too much unread data for all clients",
                      "read the responses, or close their connections; then try again");
    else if (api->live >= api->config.calls_max)
        tc_api_refuse(api, asker, 503, "as many calls run as this server allows at once",
                      "try again after a second");
    else {
        bool good = read_wish(api, asker, request, &w);
        if (good && w.access)
            tc_api_refuse(api, asker, 422, "\"access\" is for POST /v1/explain only", NULL);
        else if (good)
            run_wish(api, asker, request, &w);
        json_decref(w.body);
    }
}

void tc_run_explain(struct tc_api *api, void *asker, const struct tc_api_request *request)
{
    struct toolcage_error *err = NULL;
    struct wish w;
    char *text = NULL;
    bool good = read_wish(api, asker, request, &w);
    w.explains = true;
    struct toolcage_call *call = good ? make_call(api, asker, &w) : NULL;
    if (call && toolcage_call_explain_json(call, w.access, &text, &err) < 0)
        tc_api_refuse_error(api, asker, err);
    else if (call)
        tc_api_answer_text(api, asker, "application/json", text);
    (void)toolcage_call_unref(call);
    json_decref(w.body);
}
