/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * All checks happen here, where errors reach the operator. The server gets an open socket and a
 * config that no process list shows. */
#include "cli/call/httpd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "cli/call/listen.h"
#include "cli/call/local.h"
#include "cli/call/secret.h"
#include "cli/call/sibling.h"
#include "cli/show/say.h"

enum { TOKEN_MIN = 16 };

struct httpd {
    const struct tc_args *args;
    const struct tc_httpd_way *way;
    struct tc_writers writers;
    union tc_address at;
    char *token, *operator_token, *certificate, *key;
    bool shown, operator_shown; /* the token is new and must be printed */
    long long idle_ms;
    unsigned calls; /* of the API, at the same time */
};

/* ---- options ---- */

int tc_httpd_check(const struct tc_args *args, struct tc_failure *failure)
{
    static const char *const need[] = {"token-file", "token-env", "no-token",
                                       "remote",     "host",      "tls-cert",
                                       "tls-key",    "idle",      "operator-token-file"};
    static const char *const ways[] = {"token-file", "token-env", "no-token"};
    const char *first = NULL;
    bool http = tc_args_has(args, "listen") || tc_args_has(args, "console");
    for (size_t i = 0; i < TC_COUNT(need) && !http; i++)
        if (tc_args_has(args, need[i]))
            return tc_failure_set(failure, TOOLCAGE_EUSAGE, "add --listen 127.0.0.1:8931",
                                  "--%s is only for the HTTP server", need[i]);
    for (size_t i = 0; i < TC_COUNT(ways); i++) {
        if (first && tc_args_has(args, ways[i]))
            return tc_failure_set(failure, TOOLCAGE_EUSAGE, "keep one of them",
                                  "--%s and --%s both set the token", first, ways[i]);
        if (tc_args_has(args, ways[i]))
            first = ways[i];
    }
    if (tc_args_has(args, "tls-cert") != tc_args_has(args, "tls-key"))
        return tc_failure_set(failure, TOOLCAGE_EUSAGE, "give --tls-cert and --tls-key",
                              "a certificate needs its key, and a key its certificate");
    if (tc_args_has(args, "no-token") && tc_args_has(args, "remote"))
        return tc_failure_set(failure, TOOLCAGE_EUSAGE, "leave out --no-token",
                              "a server for other hosts must require a token");
    return 0;
}

int tc_httpd_policy(const struct tc_args *args, struct tc_found *ret, struct tc_failure *failure)
{
    if (tc_lookup(tc_args_value(args, "policy"), TC_LOOKUP_TRUSTED, ret, failure))
        return -1;
    return ret->path
               ? 0
               : tc_failure_set(failure, TOOLCAGE_ENOT_FOUND,
                                "write a policy (toolcage init), or name one with --policy FILE",
                                "there is no policy here, so there are no tools to serve");
}

/* ---- the token ---- */

static char *make_token(void)
{
    unsigned char bytes[32];
    char *token = calloc(2, sizeof(bytes) + 1);
    if (!token || getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes)) {
        free(token);
        return NULL;
    }
    for (size_t i = 0; i < sizeof(bytes); i++)
        (void)snprintf(token + 2 * i, 3, "%02x", bytes[i]);
    return token;
}

static int judge_token(char *token, const char *file, struct tc_failure *failure)
{
    return token ? tc_secret_judge(token, TOKEN_MIN, file ? file : "here", failure) : -1;
}

/* That of the person who answers approvals. A client that had it could approve its own calls. */
static int get_operator_token(struct httpd *h, struct tc_failure *failure)
{
    const char *file = tc_args_value(h->args, "operator-token-file");
    if (!file && !tc_args_has(h->args, "console"))
        return 0;
    h->operator_shown = !file;
    h->operator_token = file ? tc_secret_read(file, true, h->writers, failure) : make_token();
    if (!h->operator_token && !file)
        return tc_failure_set(failure, TOOLCAGE_EMEMORY, NULL, "out of memory");
    int rc = judge_token(h->operator_token, file, failure);
    if (!rc && h->token && strcmp(h->token, h->operator_token) == 0)
        rc = tc_failure_set(failure, TOOLCAGE_EUSAGE, "make a second token: openssl rand -hex 32",
                            "clients and the operator have the same token, so clients could "
                            "approve their calls");
    return rc;
}

static int get_token(struct httpd *h, struct tc_failure *failure)
{
    const char *file = tc_args_value(h->args, "token-file");
    const char *name = tc_args_value(h->args, "token-env");
    if (tc_args_has(h->args, "no-token") || h->way->socket)
        return 0;
    h->shown = !file && !name;
    h->token = file   ? tc_secret_read(file, true, h->writers, failure)
               : name ? tc_secret_take_env(name, "token-file", failure)
                      : make_token();
    if (!h->token && h->shown)
        return tc_failure_set(failure, TOOLCAGE_EMEMORY, NULL, "out of memory");
    return judge_token(h->token, file ? file : name, failure);
}

/* ---- the server's config ---- */

static void put_text(FILE *out, const char *key, const char *value)
{
    if (!value)
        return;
    (void)fprintf(out, ",\"%s\":", key);
    tc_cli_json_string(out, value);
}

static void put_hosts(FILE *out, const struct httpd *h)
{
    char host[TC_ADDRESS_MAX];
    const struct tc_args *args = h->args;
    (void)fputs(",\"hosts\":[", out);
    if (h->way->socket) {
        (void)fputs("\"localhost\"]", out);
        return;
    }
    tc_listen_write_host(&h->at, host);
    tc_cli_json_string(out, host);
    if (tc_listen_is_loopback(&h->at) || tc_listen_is_any(&h->at))
        (void)fputs(",\"localhost\",\"127.0.0.1\",\"[::1]\"", out);
    for (size_t i = 0; i < args->given_count; i++)
        if (strcmp(args->given[i].option->name, "host") == 0) {
            (void)fputc(',', out);
            tc_cli_json_string(out, args->given[i].value);
        }
    (void)fputc(']', out);
}

/* Options of the MCP server. */
static const char *const flags[] = {"elicit", "queue", "stream", "receipts", "receipts-required"};

/* Owned; NULL: out of memory. */
static char *write_config(const struct httpd *h, const struct tc_found *found)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    (void)fprintf(out, "{\"port\":%u,\"idle_ms\":%lld,\"calls\":%u,\"local\":%s,\"console\":%s",
                  h->way->socket ? 0 : tc_listen_port(&h->at), h->idle_ms, h->calls,
                  h->way->socket ? "true" : "false",
                  tc_args_has(h->args, "console") ? "true" : "false");
    for (size_t i = 0; i < TC_COUNT(flags); i++)
        (void)fprintf(out, ",\"%s\":%s", flags[i],
                      tc_args_has(h->args, flags[i]) ? "true" : "false");
    put_text(out, "policy", found->path);
    put_text(out, "digest", toolcage_policy_digest(found->policy));
    put_text(out, "name", tc_args_value(h->args, "name"));
    put_text(out, "notify", tc_args_value(h->args, "notify"));
    put_text(out, "workspace", tc_args_value(h->args, "workspace"));
    put_text(out, "token", h->token);
    put_text(out, "operator_token", h->operator_token);
    put_text(out, "certificate", h->certificate);
    put_text(out, "key", h->key);
    put_hosts(out, h);
    (void)fputc('}', out);
    return tc_cli_text(out, &text);
}

static void print_address(const struct httpd *h)
{
    char where[TC_ADDRESS_MAX];
    const char *scheme = h->key ? "https" : "http";
    if (h->way->socket) {
        tc_cli_say("the API is served on the unix socket %s", h->way->socket);
        return;
    }
    tc_listen_write(&h->at, where);
    if (!tc_listen_is_loopback(&h->at) && !h->key)
        tc_cli_say("warning: without TLS, the token can be read on the network");
    if (!h->token)
        tc_cli_say("warning: every user and program on this host may call the tools");
    if (h->way->api)
        tc_cli_say("the API is served at %s://%s/v1/ (%s://%s/v1/openapi.json)", scheme, where,
                   scheme, where);
    if (tc_args_has(h->args, "console"))
        tc_cli_say("the console is at %s://%s/%s%s", scheme, where, h->operator_shown ? "#" : "",
                   h->operator_shown ? h->operator_token : " (it asks for the operator's token)");
    tc_cli_say("the tools are served at %s://%s/mcp (older clients: %s://%s/sse)", scheme, where,
               scheme, where);
    if (h->shown)
        tc_cli_say("clients send: Authorization: Bearer %s", h->token);
}

static int read_calls(struct httpd *h, struct tc_failure *failure)
{
    enum { DEFAULT = 64, MOST = 192 };
    const char *given = h->way->api ? tc_args_value(h->args, "calls") : NULL;
    char *end = NULL;
    unsigned long calls = given ? strtoul(given, &end, 10) : DEFAULT;
    h->calls = h->way->api ? (unsigned)calls : 0;
    if (!given || (given[0] >= '0' && given[0] <= '9' && !*end && calls && calls <= MOST))
        return 0;
    return tc_failure_set(failure, TOOLCAGE_EUSAGE, "write --calls 64",
                          "--calls %s is not a number from 1 to %d", given, MOST);
}

static int prepare_httpd(struct httpd *h, struct tc_failure *failure)
{
    const char *certificate = tc_args_value(h->args, "tls-cert");
    const char *key = tc_args_value(h->args, "tls-key");
    const char *idle = tc_args_value(h->args, "idle");
    h->idle_ms = tc_read_time("idle", idle ? idle : "30m", failure);
    if (h->idle_ms < 0 || read_calls(h, failure) || get_token(h, failure) ||
        get_operator_token(h, failure))
        return -1;
    if (certificate && !(h->certificate = tc_secret_read(certificate, false, h->writers, failure)))
        return -1;
    return key && !(h->key = tc_secret_read(key, true, h->writers, failure)) ? -1 : 0;
}

static int judge_address(const struct httpd *h, const char *given, struct tc_failure *failure)
{
    union tc_address at;
    if (tc_args_has(h->args, "remote") || !tc_listen_read(given, &at) || tc_listen_is_loopback(&at))
        return 0;
    return tc_failure_set(failure, TOOLCAGE_EUSAGE,
                          "listen on 127.0.0.1, or add --remote, and --tls-cert and --tls-key",
                          "%s can be reached from other hosts", given);
}

static int serve_http(struct httpd *h, const struct tc_found *found, struct tc_failure *failure)
{
    static char name[] = "toolcage-http";
    char *argv[] = {name, NULL};
    const char *listen = tc_args_value(h->args, "listen");
    const char *given = listen ? listen : "127.0.0.1:8931"; /* for the console */
    _autofd_ int program = tc_sibling_open(name, "which serves over HTTP", failure);
    const char *local = h->way->socket;
    if (program < 0 || (!local && judge_address(h, given, failure)) || prepare_httpd(h, failure))
        return -1;
    _autofd_ int listener = h->way->passed >= 0 ? h->way->passed
                            : local             ? tc_local_listen(local, failure)
                                                : tc_listen_open(given, "8931", &h->at, failure);
    if (listener < 0)
        return -1;
    _autofd_ int config = tc_secret_hand_over(write_config(h, found), failure);
    if (config < 0)
        return -1;
    const int fds[] = {config, listener};
    print_address(h);
    return tc_sibling_become(program, argv, environ, fds, TC_COUNT(fds), failure);
}

int tc_httpd_become(const struct tc_args *args, const struct tc_found *found,
                    const struct tc_httpd_way *way, struct tc_failure *failure)
{
    struct httpd h = {
        .args = args, .way = way, .writers = {found->policy, tc_args_value(args, "workspace")}};
    int rc = serve_http(&h, found, failure);
    free(h.token);
    free(h.operator_token);
    free(h.certificate);
    free(h.key);
    return rc;
}
