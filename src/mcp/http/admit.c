/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Admits requests. A web page can reach this server through a host name whose owner resolves it to
 * this address (DNS rebinding). So the Host header is checked first, then the Origin header that
 * browsers send. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "mcp/http/web.h"
#include "serve/console.h"

/* ---- host names ---- */

/* "name", "name:port", "[::1]:port"; the port must be this server's. */
static bool is_ours(const struct tc_web *web, const char *authority)
{
    const char *colon = strrchr(authority, ':'), *bracket = strrchr(authority, ']');
    bool has_port = colon && (!bracket || colon > bracket);
    size_t length = has_port ? (size_t)(colon - authority) : strlen(authority);
    if (has_port) {
        char *end = NULL;
        unsigned long port = colon[1] >= '0' && colon[1] <= '9' ? strtoul(colon + 1, &end, 10) : 0;
        if (!end || *end || port != web->config.port)
            return false;
    }
    for (const char **host = web->config.hosts; *host; host++)
        if (strlen(*host) == length && strncasecmp(*host, authority, length) == 0)
            return true;
    return false;
}

static bool is_own_origin(const struct tc_web *web, const char *origin)
{
    const char *scheme = web->config.key ? "https://" : "http://";
    size_t length = strlen(scheme);
    const char *port = strrchr(origin, ':'); /* behind the host, or of the scheme */
    bool names_port = port && port >= origin + length && !strchr(port, ']');
    return strncasecmp(origin, scheme, length) == 0 &&
           (names_port || web->config.port == (web->config.key ? 443 : 80)) &&
           is_ours(web, origin + length);
}

/* ---- the token ---- */

/* Compares in constant time, for a given length. */
static bool same(const char *said, const char *token)
{
    size_t length = strlen(said), wanted = strlen(token);
    unsigned char differ = length != wanted;
    for (size_t i = 0; i < length; i++)
        differ |= (unsigned char)(said[i] ^ token[i < wanted ? i : 0]);
    return differ == 0;
}

/* Compares with both tokens in any case, so that the time tells nothing about either. */
static void find_rights(const struct tc_web *web, const char *authorization,
                        struct tc_admitted *ret)
{
    static const char scheme[] = "Bearer ";
    const struct tc_web_config *c = &web->config;
    bool bears = authorization && strncasecmp(authorization, scheme, sizeof(scheme) - 1) == 0;
    const char *said = bears ? authorization + sizeof(scheme) - 1 : "";
    bool client = same(said, c->token ? c->token : "");
    bool person = same(said, c->operator_token ? c->operator_token : "");
    ret->operates = c->local || (person && c->operator_token);
    ret->runs = c->token ? client : !ret->operates || c->local;
}

/* ---- routes ---- */

static const struct {
    const char *path, *method, *allow;
    enum tc_route route;
} routes[] = {
    {"/mcp", "POST", "GET, POST, DELETE", TC_ROUTE_MCP},
    {"/mcp", "GET", "GET, POST, DELETE", TC_ROUTE_MCP},
    {"/mcp", "DELETE", "GET, POST, DELETE", TC_ROUTE_MCP},
    {"/sse", "GET", "GET", TC_ROUTE_SSE},
    {"/messages", "POST", "POST", TC_ROUTE_MESSAGES},
};

static bool is_page(const struct tc_web *web, const char *url, const char *method)
{
    return web->config.console && strcmp(method, "GET") == 0 && tc_console_find(url);
}

static bool find_route(const struct tc_web *web, const char *url, const char *method,
                       enum tc_route *ret_route, struct tc_refusal *ret)
{
    const char *allow = NULL;
    *ret_route = TC_ROUTE_API;
    if (web->api && tc_api_has(url))
        return true;
    for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++) {
        if (strcmp(routes[i].path, url) != 0)
            continue;
        allow = routes[i].allow;
        *ret_route = routes[i].route;
        if (strcmp(routes[i].method, method) == 0)
            return true;
    }
    *ret = allow ? (struct tc_refusal){405, "this path does not take that method", "Allow", allow}
                 : (struct tc_refusal){404, "the paths here are /mcp, and /sse for older clients",
                                       NULL, NULL};
    return false;
}

bool tc_heads_say_json(const struct tc_heads *heads)
{
    static const char json[] = "application/json";
    size_t length = sizeof(json) - 1;
    return heads->type && strncasecmp(heads->type, json, length) == 0 &&
           strchr("; \t", heads->type[length]);
}

/* Checks the body's type and length by the headers. The API checks the type itself. */
static bool judge_body(const struct tc_heads *heads, enum tc_route route, struct tc_refusal *ret)
{
    if (route != TC_ROUTE_API && !tc_heads_say_json(heads))
        *ret = (struct tc_refusal){415, "a message is application/json", NULL, NULL};
    else if (heads->length && strtoull(heads->length, NULL, 10) > TC_WEB_BODY_MAX)
        *ret = (struct tc_refusal){413, "a message has at most 8 MiB", NULL, NULL};
    else
        return true;
    return false;
}

/* A proxy in front of this server may have read the request differently (request smuggling), so the
 * connection is closed. */
static bool judge_framing(const struct tc_heads *heads, struct tc_refusal *ret)
{
    *ret = (struct tc_refusal){400, NULL, "Connection", "close"};
    if (heads->loose)
        ret->text = "header lines must end with CR LF and must not be folded";
    else if (heads->odd)
        ret->text = "the name of a header field has other characters than names may have";
    else if (heads->transfer && heads->length)
        ret->text = "send Content-Length or Transfer-Encoding, not both";
    else if (heads->twice)
        ret->text = "duplicate header field";
    else
        *ret = (struct tc_refusal){0};
    return !ret->status;
}

/* The checks of a request that may start calls or ask about them. */
static bool judge_rights(const struct tc_web *web, const struct tc_heads *heads, const char *url,
                         const char *method, struct tc_admitted *ret_admitted,
                         struct tc_refusal *ret)
{
    find_rights(web, heads->authorization, ret_admitted);
    if (!ret_admitted->runs && !ret_admitted->operates)
        *ret =
            (struct tc_refusal){401, "the token is missing or wrong: Authorization: Bearer TOKEN",
                                "WWW-Authenticate", "Bearer"};
    else if (find_route(web, url, method, &ret_admitted->route, ret) &&
             ret_admitted->route != TC_ROUTE_API && !ret_admitted->runs)
        *ret = (struct tc_refusal){403, "the operator's token starts no calls", NULL, NULL};
    return !ret->status;
}

bool tc_admit(const struct tc_web *web, const struct tc_heads *heads, const char *url,
              const char *method, struct tc_admitted *ret_admitted, struct tc_refusal *ret)
{
    *ret_admitted = (struct tc_admitted){.route = TC_ROUTE_PAGE};
    if (!judge_framing(heads, ret))
        return false;
    if (!heads->host || !is_ours(web, heads->host))
        *ret = (struct tc_refusal){403, "this server does not answer to that Host", NULL, NULL};
    else if (heads->origin && !is_own_origin(web, heads->origin))
        *ret = (struct tc_refusal){403, "pages of that Origin may not use this server", NULL, NULL};
    else if (is_page(web, url, method))
        return true;
    if (ret->status || !judge_rights(web, heads, url, method, ret_admitted, ret))
        return false;
    if (ret_admitted->route == TC_ROUTE_API && heads->transfer) {
        *ret = (struct tc_refusal){411, "send Content-Length, not Transfer-Encoding", "Connection",
                                   "close"};
        return false;
    }
    if (ret_admitted->route != TC_ROUTE_API && !heads->accepts_json && !heads->accepts_stream) {
        *ret = (struct tc_refusal){406, "answers are application/json or text/event-stream", NULL,
                                   NULL};
        return false;
    }
    if (strcmp(method, "GET") == 0 && ret_admitted->route == TC_ROUTE_MCP &&
        !heads->accepts_stream) {
        *ret = (struct tc_refusal){406, "the stream of a session is text/event-stream", NULL, NULL};
        return false;
    }
    return strcmp(method, "POST") != 0 || judge_body(heads, ret_admitted->route, ret);
}
