/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The routes. */
#include <stdlib.h>
#include <string.h>

#include "serve/serve.h"

static void refuse_method(struct tc_api *api, void *asker, const char *allow)
{
    api->config.wire->allow(asker, allow);
    tc_api_refuse(api, asker, 405, "this path does not take that method", allow);
}

/* ---- requests without a call ---- */

static void answer_health(struct tc_api *api, void *asker)
{
    tc_api_answer(api, asker, 200,
                  json_pack("{s:s, s:s, s:I, s:I}", "status", "ok", "version", toolcage_version(),
                            "running", (json_int_t)api->running, "calls_max",
                            (json_int_t)api->config.calls_max));
}

static void answer_openapi(struct tc_api *api, void *asker)
{
    tc_api_answer_text(api, asker, "application/json", strdup(tc_openapi));
}

static void answer_tools(struct tc_api *api, void *asker)
{
    tc_api_answer(api, asker, 200, json_pack("{s:O}", "tools", api->tools));
}

static void answer_policy(struct tc_api *api, void *asker)
{
    tc_api_answer(api, asker, 200,
                  json_pack("{s:s}", "digest", toolcage_policy_digest(api->config.policy)));
}

/* ---- calls ---- */

static void list_calls(struct tc_api *api, void *asker)
{
    json_t *list = json_array();
    for (const struct tc_served *served = api->served; served; served = served->next)
        (void)json_array_append_new(list, tc_served_describe(served));
    tc_api_answer(api, asker, 200, json_pack("{s:o}", "calls", list));
}

static struct tc_served *find_served(struct tc_api *api, void *asker, const char *id)
{
    struct tc_served *served = tc_served_find(api, id);
    if (!served)
        tc_api_refuse(api, asker, 404, "this server does not know that call, or no longer",
                      "toolcage audit show ID, if the policy has [audit]");
    return served;
}

/* With events, the client gets what the call prints from now on, and the result. */
static void show_call(struct tc_api *api, void *asker, const char *id,
                      const struct tc_api_request *request)
{
    struct tc_served *served = find_served(api, asker, id);
    if (!served)
        return;
    if (request->streams) {
        if (!tc_served_add_asker(served, asker, true, false))
            tc_api_refuse(api, asker, 503, "too many clients wait for this call", "try again");
        return;
    }
    tc_api_answer(api, asker, 200, tc_served_describe(served));
}

static void show_result(struct tc_api *api, void *asker, const char *id)
{
    struct tc_served *served = find_served(api, asker, id);
    if (served && !tc_served_add_asker(served, asker, false, false))
        tc_api_refuse(api, asker, 503, "too many clients wait for this call", "try again");
}

static void cancel_call(struct tc_api *api, void *asker, const char *id)
{
    struct tc_served *served = find_served(api, asker, id);
    if (!served)
        return;
    tc_served_cancel(served);
    tc_api_answer(api, asker, 202, tc_served_describe(served));
}

/* ---- routes ---- */

/* "{id}" is one segment. */
static const struct route {
    const char *method, *path;
    const char *allow; /* the methods of the path */
    bool own;          /* only an operator */
    bool runs;         /* only a client that may start calls */
    void (*plain)(struct tc_api *api, void *asker);
    void (*named)(struct tc_api *api, void *asker, const char *id);
    void (*with)(struct tc_api *api, void *asker, const struct tc_api_request *request);
    void (*both)(struct tc_api *api, void *asker, const char *id,
                 const struct tc_api_request *request);
} routes[] = {
    {.method = "GET", .path = "/v1/health", .allow = "GET", .plain = answer_health},
    {.method = "GET", .path = "/v1/openapi.json", .allow = "GET", .plain = answer_openapi},
    {.method = "GET", .path = "/v1/metrics", .allow = "GET", .plain = tc_metrics_answer},
    {.method = "GET", .path = "/v1/tools", .allow = "GET", .plain = answer_tools},
    {.method = "GET", .path = "/v1/policy", .allow = "GET", .plain = answer_policy},
    {.method = "POST", .path = "/v1/explain", .allow = "POST", .with = tc_run_explain},
    {.method = "GET", .path = "/v1/calls", .allow = "GET, POST", .plain = list_calls},
    {.method = "POST",
     .path = "/v1/calls",
     .allow = "GET, POST",
     .runs = true,
     .with = tc_run_call},
    {.method = "GET", .path = "/v1/calls/{id}", .allow = "GET, DELETE", .both = show_call},
    {.method = "DELETE", .path = "/v1/calls/{id}", .allow = "GET, DELETE", .named = cancel_call},
    {.method = "GET", .path = "/v1/calls/{id}/result", .allow = "GET", .named = show_result},
    {.method = "GET", .path = "/v1/audit", .allow = "GET", .own = true, .plain = tc_history_answer},
    {.method = "GET",
     .path = "/v1/approvals",
     .allow = "GET",
     .own = true,
     .plain = tc_approvals_list},
    {.method = "POST",
     .path = "/v1/approvals/{id}",
     .allow = "POST",
     .own = true,
     .both = tc_approvals_answer},
};

enum { ID_SIZE = 64 };

/* Does the path match? id: its segment. */
static bool matches(const char *pattern, const char *path, char id[ID_SIZE])
{
    for (; *pattern && *pattern != '{'; pattern++, path++)
        if (*pattern != *path)
            return false;
    if (!*pattern)
        return !*path;
    size_t length = strcspn(path, "/");
    if (!length || length >= ID_SIZE)
        return false;
    memcpy(id, path, length);
    id[length] = '\0';
    return strcmp(pattern + strlen("{id}"), path + length) == 0;
}

static void run_route(struct tc_api *api, void *asker, const struct route *route, const char *id,
                      const struct tc_api_request *request)
{
    if (route->own && !request->operates)
        tc_api_refuse(api, asker, 403, "only an operator may do that",
                      "use the unix socket, the operator's token, or toolcage approvals");
    else if (route->runs && !request->runs)
        tc_api_refuse(api, asker, 403, "the operator's token starts no calls",
                      "send the clients' token");
    else if (!request->json && strcmp(route->method, "POST") == 0)
        tc_api_refuse(api, asker, 415, "the body must be application/json", NULL);
    else if (route->plain)
        route->plain(api, asker);
    else if (route->named)
        route->named(api, asker, id);
    else if (route->with)
        route->with(api, asker, request);
    else
        route->both(api, asker, id, request);
}

bool tc_api_has(const char *path)
{
    return strncmp(path, "/v1/", 4) == 0;
}

void tc_api_take(struct tc_api *api, void *asker, const struct tc_api_request *request)
{
    char id[ID_SIZE] = "";
    const char *allow = NULL;
    api->metrics.requests++;
    for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++) {
        if (!matches(routes[i].path, request->path, id))
            continue;
        allow = routes[i].allow;
        if (strcmp(routes[i].method, request->method) != 0)
            continue;
        run_route(api, asker, &routes[i], id, request);
        return;
    }
    if (allow)
        refuse_method(api, asker, allow);
    else
        tc_api_refuse(api, asker, 404, "there is no such path", "GET /v1/openapi.json lists them");
}

/* ---- life ---- */

int tc_api_open(const struct tc_api_config *config, struct tc_api **ret,
                struct toolcage_error **err)
{
    char *text = NULL;
    struct tc_api *api = calloc(1, sizeof(*api));
    *ret = api;
    if (!api)
        return TOOLCAGE_EMEMORY;
    api->config = *config;
    int rc = toolcage_policy_tools_json(config->policy, "mcp-manual", &text, err);
    if (rc < 0)
        return rc;
    api->tools = json_loads(text, JSON_ALLOW_NUL, NULL);
    toolcage_free(text);
    return api->tools ? 0 : TOOLCAGE_EMEMORY;
}

void tc_api_close(struct tc_api *api)
{
    if (!api)
        return;
    tc_served_close(api);
    tc_history_free(api->history);
    json_decref(api->tools);
    (void)toolcage_engine_unref(api->engine);
    free(api);
}

void tc_api_forget(struct tc_api *api, const void *asker)
{
    tc_served_forget(api, asker);
}

/* ---- the loop ---- */

size_t tc_api_count(const struct tc_api *api)
{
    return 1 + api->running;
}

/* The engine, then the running calls in their order. */
void tc_api_watch(const struct tc_api *api, struct pollfd *fds)
{
    *fds++ =
        (struct pollfd){.fd = api->engine ? toolcage_engine_fd(api->engine) : -1, .events = POLLIN};
    for (const struct tc_served *served = api->served; served; served = served->next)
        if (served->state == TC_SERVED_RUNS)
            *fds++ = (struct pollfd){.fd = toolcage_call_fd(served->call), .events = POLLIN};
}

/* The set may be older than the list: calls are started and cancelled between the two. So an event
 * only says that some call has one. */
void tc_api_step(struct tc_api *api, const struct pollfd *fds, size_t count)
{
    bool events = false;
    for (size_t i = 0; i < count; i++)
        events |= fds[i].revents != 0;
    for (struct tc_served *served = api->served, *next; served; served = next) {
        next = served->next;
        if (served->state == TC_SERVED_WAITS || (events && served->state == TC_SERVED_RUNS))
            tc_served_step(served);
    }
    tc_served_trim(api);
    if (count && fds[0].revents)
        api->engine = toolcage_engine_unref(api->engine);
}

int tc_api_wait_ms(const struct tc_api *api)
{
    for (const struct tc_served *served = api->served; served; served = served->next)
        if (served->state == TC_SERVED_WAITS)
            return TC_QUEUE_LOOK_MS;
    return -1;
}
