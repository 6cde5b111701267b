/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Refusals in HTTP, with a JSON body that a model can act on. Pure. */

#include <string.h>

#include "base/jsontext.h"
#include "egress/read/stats.h"
#include "policy/endpoint.h"

static const struct {
    const char *status, *what, *next;
} rows[] = {
    [TC_EGRESS_NOT_NAMED] = {"403 Forbidden", "is not in the allowlist of",
                             "use one of the allowed endpoints, or ask the operator to allow this "
                             "one"},
    [TC_EGRESS_NOT_PUBLIC] =
        {"403 Forbidden", "resolves to an address that is not public and not in the allowlist of",
         "ask the operator to allow exactly that address, in addition to the name"},
    [TC_EGRESS_OTHER_NAME] =
        {"403 Forbidden",
         "is the connection's host, and the request names another host, which is not allowed for",
         "open one connection per host"},
    [TC_EGRESS_UNCLEAR] = {"400 Bad Request", NULL, "send a request that conforms to RFC 9112"},
    [TC_EGRESS_TOO_MANY] = {"503 Service Unavailable", NULL,
                            "try again when some of the open connections are closed"},
    [TC_EGRESS_NOT_REQUEST] = {"403 Forbidden", "accepts no such request under the allowlist of",
                               "use an allowed method and path, or ask for this one to be added "
                               "to the policy"},
    [TC_EGRESS_NOT_SPOKEN] = {"403 Forbidden",
                              "is inspected, and its certificate was not accepted by",
                              "trust the file that SSL_CERT_FILE names, and speak HTTP/1.1"},
    [TC_EGRESS_SPENT] = {"403 Forbidden", NULL,
                         "continue without it, or ask for a larger `transfer` in the policy"},
    [TC_EGRESS_NOT_KEPT] =
        {"502 Bad Gateway", "is not reached by a replay of",
         "this is a replay: only the requests of the recorded call are answered"},
    [TC_EGRESS_NO_NAME] = {"502 Bad Gateway", "could not be resolved for",
                           "check the name, or try again later"},
    [TC_EGRESS_NO_ANSWER] = {"502 Bad Gateway", "did not accept the connection of",
                             "check that the service is up, or try again later"},
    [TC_EGRESS_TOO_LATE] = {"504 Gateway Timeout", "did not answer in time for", "try again later"},
    [TC_EGRESS_NO_UPSTREAM] =
        {"502 Bad Gateway", "needs the upstream proxy, which did not accept the connection of",
         "try again later; the operator can check [egress] upstream in the policy"},
    [TC_EGRESS_NOT_UPSTREAM] = {"502 Bad Gateway", "was refused by the upstream proxy to",
                                "try again later; the operator can ask that proxy's administrator"},
    [TC_EGRESS_NOT_TRUSTED] =
        {"502 Bad Gateway", "could not be trusted for",
         "the server needs a certificate for that name from a CA that this host trusts"},
    [TC_EGRESS_NO_PROXY_FORM] =
        {"400 Bad Request", NULL,
         "send a proxy request: \"GET http://example.com/path\", \"CONNECT host:443\", or "
         "SOCKS5; most programs do when http_proxy and https_proxy are set"},
};

static void add_error(struct tc_buf *to, const struct tc_egress_config *config, int what,
                      const char *host, unsigned port, const char *why)
{
    char target[TC_EGRESS_TARGET_MAX];
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    if (rows[what].what) {
        tc_egress_target(host ? host : "?", port, target);
        tc_buf_addf(&text, "network: %s %s %s", target, rows[what].what,
                    config->tool ? "tool " : "this command");
        tc_buf_adds(&text, config->tool ? config->tool : "");
        if (why)
            tc_buf_addf(&text, ": %s", why);
    } else if (what == TC_EGRESS_TOO_MANY) {
        tc_buf_addf(&text, "network: more than %lld concurrent connections",
                    (long long)config->connections);
    } else if (what == TC_EGRESS_SPENT) {
        tc_buf_addf(&text, "network: this call may transfer at most %lld bytes",
                    (long long)config->transfer);
    } else if (what == TC_EGRESS_NO_PROXY_FORM) {
        tc_buf_adds(&text, "network: this is a proxy, and the request has the form for a server");
    } else {
        tc_buf_addf(&text, "network: the request is ambiguous: %s",
                    why ? why : "parsers may disagree about it");
    }
    tc_json_member(to, "error", text.failed ? "network: refused" : text.data);
}

static void add_rule(struct tc_buf *to, const struct tc_egress_config *config)
{
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    if (config->net_count && config->net[0].origin.key)
        tc_buf_adds(&text, config->net[0].origin.key);
    else if (config->tool)
        tc_buf_addf(&text, "tool.%s.network", config->tool);
    else
        tc_buf_adds(&text, "network");
    if (!text.failed)
        tc_json_member(to, "rule", text.data);
}

static void add_words(struct tc_buf *to, const struct tc_strv *words)
{
    for (size_t i = 0; i < words->count; i++)
        tc_buf_addf(to, "%s%s", i ? "," : "", words->items[i]);
}

/* "GET,HEAD example.com:443 /v1", without the parts that the entry does not restrict. */
static void add_entry(struct tc_buf *to, const struct tc_net_entry *entry)
{
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    _autofree_ char *endpoint = tc_endpoint_write(entry->host, entry->port);
    add_words(&text, &entry->methods);
    tc_buf_addf(&text, "%s%s%s", entry->methods.count ? " " : "", endpoint ? endpoint : "",
                entry->paths.count ? " " : "");
    add_words(&text, &entry->paths);
    tc_json_string(to, text.failed ? "" : text.data, text.failed ? 0 : text.len);
}

static void add_allowed(struct tc_buf *to, const struct tc_egress_config *config)
{
    enum { SHOWN = 20 };
    tc_json_key(to, "allowed");
    tc_buf_addc(to, '[');
    for (size_t i = 0; i < config->net_count && i < SHOWN; i++) {
        if (i)
            tc_buf_addc(to, ',');
        add_entry(to, &config->net[i]);
    }
    tc_buf_addc(to, ']');
    if (config->net_count > SHOWN)
        tc_buf_addf(to, ",\"more\":%zu", config->net_count - SHOWN);
}

/* What to do, with the entry that allows a refused endpoint: the operator may use an option
 * instead. `why` of a name is its address. */
static void add_next(struct tc_buf *to, int what, const char *host, unsigned port, const char *why)
{
    char entry[TC_EGRESS_TARGET_MAX];
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    const char *allowed = what == TC_EGRESS_NOT_NAMED    ? host
                          : what == TC_EGRESS_NOT_PUBLIC ? why
                                                         : NULL;
    tc_buf_adds(&text, rows[what].next);
    if (allowed && port) {
        tc_egress_target(allowed, port, entry);
        tc_buf_addf(&text, ": network = [\"%s\"] in the policy, or --network %s", entry, entry);
    }
    tc_json_member(to, "next", text.failed ? rows[what].next : text.data);
}

void tc_egress_refusal(struct tc_buf *to, const struct tc_egress_config *config, int what,
                       const char *host, unsigned port, const char *why)
{
    _autobuf_ struct tc_buf body = TC_BUF_INIT;
    tc_buf_addc(&body, '{');
    add_error(&body, config, what, host, port, why);
    if (host)
        tc_json_member(&body, "host", host);
    if (host && port)
        tc_buf_addf(&body, ",\"port\":%u", port);
    add_rule(&body, config);
    add_allowed(&body, config);
    add_next(&body, what, host, port, why);
    tc_buf_adds(&body, "}\n");
    if (body.failed) {
        to->failed = true;
        return;
    }
    tc_buf_addf(to,
                "HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n"
                "Cache-Control: no-store\r\nConnection: close\r\n\r\n",
                rows[what].status, body.len);
    tc_buf_add(to, body.data, body.len);
}
