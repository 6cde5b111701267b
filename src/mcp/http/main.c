/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * toolcage-http: the policy's tools for MCP clients over HTTP. The command line chose the policy
 * and opened the socket; it passes the config as fd 3 and the listening socket as fd 4. The server
 * has the functions of `toolcage mcp` on standard input and output: messages are handled by the
 * same sessions. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/verbs/offer.h"
#include "mcp/handoff.h"
#include "mcp/http/web.h"

enum { CONFIG = 3, LISTENER = 4, CONFIG_MAX = 1 << 20, FAILURE = 125, TICK_MS = 500 };
enum { SIGNALS, LIBRARY, ENGINE, OTHERS }; /* the fixed entries of the poll set */

struct program {
    struct tc_web web;
    struct tc_offer offer;
    struct toolcage_policy *policy;
    json_t *config;
    const char **hosts;
    int signals;
    struct pollfd *fds;
    size_t fds_size;
};

static int complain(const char *what, const char *hint)
{
    (void)fprintf(stderr, "toolcage: %s\n", what);
    if (hint && *hint)
        (void)fprintf(stderr, "hint: %s\n", hint);
    return FAILURE;
}

/* Takes ownership of `err`. */
static int complain_of(int rc, struct toolcage_error *err)
{
    int code = err ? complain(toolcage_error_message(err), toolcage_error_hint(err))
               : rc == TOOLCAGE_ESYSTEM
                   ? complain(strerror(errno), "free memory or descriptors on this machine")
                   : complain("out of memory", "free memory on this machine");
    toolcage_error_free(err);
    return code;
}

/* ---- config ---- */

static const char *text_of(const struct program *p, const char *key)
{
    return json_string_value(json_object_get(p->config, key));
}

static bool has(const struct program *p, const char *key)
{
    return json_is_true(json_object_get(p->config, key));
}

static bool take_config(struct program *p)
{
    struct tc_web_config *c = &p->web.config;
    const json_t *hosts = json_object_get(p->config, "hosts");
    size_t count = json_array_size(hosts);
    p->hosts = calloc(count + 1, sizeof(*p->hosts));
    for (size_t i = 0; p->hosts && i < count; i++)
        p->hosts[i] = json_string_value(json_array_get(hosts, i));
    *c = (struct tc_web_config){
        .token = text_of(p, "token"),
        .operator_token = text_of(p, "operator_token"),
        .console = has(p, "console"),
        .hosts = p->hosts,
        .port = (unsigned)json_integer_value(json_object_get(p->config, "port")),
        .certificate = text_of(p, "certificate"),
        .key = text_of(p, "key"),
        .idle_ms = json_integer_value(json_object_get(p->config, "idle_ms")),
        .calls_max = (size_t)json_integer_value(json_object_get(p->config, "calls")),
        .local = has(p, "local"),
    };
    return p->hosts && (c->port || c->local) && c->idle_ms > 0 && text_of(p, "policy") &&
           text_of(p, "digest");
}

/* 0, or an exit code after printing the reason. */
static int load_program(struct program *p)
{
    struct toolcage_error *err = NULL;
    _autofailure_ struct tc_failure failure = {0};
    const char *workspace = text_of(p, "workspace");
    const struct tc_offered given = {.path = text_of(p, "policy"),
                                     .name = text_of(p, "name"),
                                     .workspace = workspace,
                                     .notify = text_of(p, "notify"),
                                     .elicits = has(p, "elicit"),
                                     .queues = has(p, "queue"),
                                     .streams = has(p, "stream"),
                                     .receipts = has(p, "receipts"),
                                     .receipts_required = has(p, "receipts-required")};
    int rc = toolcage_policy_load_file(text_of(p, "policy"), &p->policy, &err);
    if (rc < 0)
        return complain_of(rc, err);
    if (strcmp(toolcage_policy_digest(p->policy), text_of(p, "digest")) != 0)
        return complain("the policy has changed while the server started", "start it again");
    if (tc_offer_open(&p->offer, p->policy, &given, &failure))
        return tc_failure_tell(&failure, &(const struct tc_args){0}, NULL);
    if (p->web.config.calls_max)
        p->offer.what.path = NULL; /* the API keeps its policy */
    p->offer.what.answer_ms = p->web.config.idle_ms;
    rc = tc_mcp_open(&p->web.server, &p->offer.what, &err);
    if (rc == 0 && p->web.config.calls_max)
        rc = tc_api_open(&(struct tc_api_config){.policy = p->policy,
                                                 .workspace = workspace,
                                                 .wire = &tc_exchange_wire,
                                                 .calls_max = p->web.config.calls_max},
                         &p->web.api, &err);
    return rc < 0 ? complain_of(rc, err) : 0;
}

/* ---- libmicrohttpd ---- */

/* Strict parsing; versions before 1.0 check little (heads.c). */
#if MHD_VERSION >= 0x00097701
#define STRICTNESS MHD_OPTION_CLIENT_DISCIPLINE_LVL, 2
#else
#define STRICTNESS MHD_OPTION_STRICT_FOR_CLIENT, 1
#endif

static int begin_server(struct program *p)
{
    const struct tc_web_config *c = &p->web.config;
    struct MHD_OptionItem tls[] = {
        {MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)c->certificate},
        {MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)c->key},
        {MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)"SECURE128:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"},
        {MHD_OPTION_END, 0, NULL},
    };
    struct MHD_OptionItem plain[] = {{MHD_OPTION_END, 0, NULL}};
    p->web.daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | (c->key ? MHD_USE_TLS : 0), 0, NULL, NULL,
        tc_exchange_take, &p->web, MHD_OPTION_LISTEN_SOCKET, LISTENER, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)(TC_WEB_WIRES_MAX + 64), MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)(64 << 10),
        STRICTNESS, MHD_OPTION_NOTIFY_CONNECTION, tc_wire_notify, &p->web,
        MHD_OPTION_NOTIFY_COMPLETED, tc_exchange_completed, &p->web, MHD_OPTION_ARRAY,
        c->key ? tls : plain, MHD_OPTION_END);
    if (p->web.daemon)
        return 0;
    return complain(c->key ? "the HTTP server does not start: certificate and key are no pair in "
                             "PEM, or this machine lacks memory"
                           : "the HTTP server does not start: this machine lacks memory",
                    "name the certificate and its own key");
}

static int library_fd(const struct program *p)
{
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(p->web.daemon, MHD_DAEMON_INFO_EPOLL_FD);
    return info ? info->epoll_fd : -1;
}

/* ---- the loop ---- */

static size_t count_sleeping(const struct tc_web *web)
{
    size_t n = 0;
    for (const struct tc_exchange *e = web->exchanges; e; e = e->next)
        n += e->suspended;
    return n;
}

static size_t count_api(const struct tc_web *web)
{
    return web->api ? tc_api_count(web->api) : 0;
}

/* After the fixed entries come the calls, the API's, then the suspended connections. libmicrohttpd
 * does not poll suspended connections, so their end is detected here. */
static bool watch_calls(struct program *p, size_t *ret_count)
{
    struct tc_mcp *server = &p->web.server;
    size_t api = count_api(&p->web), at = OTHERS;
    size_t count = OTHERS + server->call_count + api + count_sleeping(&p->web);
    if (count > p->fds_size) {
        struct pollfd *grown = realloc(p->fds, count * sizeof(*grown));
        if (!grown)
            return false;
        p->fds = grown;
        p->fds_size = count;
    }
    p->fds[SIGNALS] = (struct pollfd){.fd = p->signals, .events = POLLIN};
    p->fds[LIBRARY] = (struct pollfd){.fd = library_fd(p), .events = POLLIN};
    p->fds[ENGINE] = (struct pollfd){.fd = server->engine ? toolcage_engine_fd(server->engine) : -1,
                                     .events = POLLIN};
    for (size_t i = 0; i < server->call_count; i++)
        p->fds[at++] = (struct pollfd){.fd = tc_mcp_fd(&server->calls[i]), .events = POLLIN};
    if (api)
        tc_api_watch(p->web.api, p->fds + at);
    at += api;
    for (const struct tc_exchange *e = p->web.exchanges; e; e = e->next)
        if (e->suspended)
            p->fds[at++] = (struct pollfd){.fd = e->wire->fd, .events = POLLRDHUP};
    *ret_count = count;
    return true;
}

static int wait_ms(const struct program *p)
{
    unsigned long long library = 0;
    const struct tc_mcp *server = &p->web.server;
    int most = p->web.wires || p->web.clients || server->call_count ? TICK_MS : -1;
    int progress = tc_mcp_progress_ms(server), reload = tc_mcp_reload_ms(server);
    int queue = tc_mcp_queue_ms(server);
    most = queue >= 0 && queue < most ? queue : most;
    most = progress >= 0 && progress < most ? progress : most;
    most = p->web.clients && reload >= 0 && reload < most ? reload : most;
    int api = p->web.api ? tc_api_wait_ms(p->web.api) : -1;
    most = api >= 0 && (most < 0 || api < most) ? api : most;
    if (MHD_get_timeout(p->web.daemon, &library) != MHD_YES)
        return most;
    return most < 0 || library < (unsigned)most ? (int)(library > INT16_MAX ? INT16_MAX : library)
                                                : most;
}

/* Runs first: the list of exchanges must still be the polled one. */
static void find_lost(struct program *p, size_t first, size_t count)
{
    size_t at = first;
    for (struct tc_exchange *e = p->web.exchanges, *next; e && at < count; e = next) {
        next = e->next;
        if (e->suspended && p->fds[at++].revents)
            tc_exchange_lose(e);
    }
}

static void step(struct program *p, size_t count)
{
    struct tc_mcp *server = &p->web.server;
    size_t calls = server->call_count, api = count_api(&p->web);
    int64_t now = tc_mcp_now_ms();
    find_lost(p, OTHERS + calls + api, count);
    if (api)
        tc_api_step(p->web.api, p->fds + OTHERS + calls, api);
    for (size_t i = calls; i-- > 0;) /* backwards, because ended calls leave the list */
        if (p->fds[OTHERS + i].revents)
            tc_mcp_dispatch(server, i);
    if (p->fds[ENGINE].revents)
        tc_mcp_lost(server);
    tc_mcp_look(server);
    tc_mcp_progress(server);
    if (p->web.clients) {
        tc_mcp_refresh(server, true);
        tc_clients_tell(&p->web);
    }
    tc_wires_tick(&p->web, now);
    tc_clients_tick(&p->web, now);
    tc_exchanges_tick(&p->web, now);
    (void)MHD_run(p->web.daemon);
}

/* 0 after a signal to end. */
static int loop(struct program *p)
{
    size_t count = 0;
    for (;;) {
        if (tc_mcp_is_broken(&p->web.server) || !watch_calls(p, &count))
            return TOOLCAGE_EMEMORY;
        if (poll(p->fds, count, wait_ms(p)) < 0) {
            if (errno == EINTR)
                continue;
            return TOOLCAGE_ESYSTEM;
        }
        if (p->fds[SIGNALS].revents)
            return 0;
        step(p, count);
    }
}

/* libmicrohttpd stops only when no connection is suspended. */
static void end_server(struct program *p)
{
    struct tc_web *web = &p->web;
    for (struct tc_exchange *e = web->exchanges; e; e = e->next)
        tc_exchange_lose(e);
    if (web->daemon) {
        (void)MHD_run(web->daemon);
        MHD_stop_daemon(web->daemon);
    }
    while (web->clients)
        tc_client_free(web->clients);
    tc_api_close(web->api);
    tc_mcp_close(&web->server);
    tc_offer_close(&p->offer);
    (void)toolcage_policy_unref(p->policy);
    json_decref(p->config);
    free(p->hosts);
    free(p->fds);
}

/* The signals are blocked since the command line printed the address. */
static int take_signals(void)
{
    sigset_t set;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGTERM);
    (void)sigaddset(&set, SIGINT);
    (void)sigaddset(&set, SIGHUP);
    (void)signal(SIGPIPE, SIG_IGN);
    if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
        return -1;
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

int main(void)
{
    struct program p = {.config = tc_handoff_config(CONFIG, CONFIG_MAX), .signals = take_signals()};
    struct stat st;
    if (!p.config || !take_config(&p) || fstat(LISTENER, &st) < 0 || !S_ISSOCK(st.st_mode))
        return complain("toolcage-http is started by toolcage mcp --listen", NULL);
    if (p.signals < 0 || fcntl(LISTENER, F_SETFD, FD_CLOEXEC) < 0)
        return complain_of(TOOLCAGE_ESYSTEM, NULL);
    int rc = load_program(&p);
    if (!rc)
        rc = begin_server(&p);
    if (!rc) {
        rc = loop(&p);
        rc = rc < 0 ? complain_of(rc, NULL) : 0;
    }
    end_server(&p);
    (void)close(p.signals);
    return rc;
}
