/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The table [egress]: how the proxy of every cage connects to the network. */
#include <string.h>

#include "policy/endpoint.h"
#include "policy/parse/parse.h"

static const char example[] = "write it as in \"http://proxy.example.com:3128\" or "
                              "\"socks5://10.0.0.8:1080\"";

/* The part after the scheme; NULL after a finding. Findings do not quote the URL, because it may
 * contain a password. */
static const char *read_scheme(struct tc_parse *p, const struct tc_node *node,
                               struct tc_upstream *to)
{
    static const char http[] = "http://", socks[] = "socks5://";
    const char *text = node->text;
    to->socks = tc_startswith(text, socks);
    if (tc_startswith(text, "https://")) {
        tc_parse_bad(p, node, "use http:// or socks5://, and a proxy on a network that you trust",
                     "TLS to an upstream proxy is not provided by this version");
        return NULL;
    }
    if (!to->socks && !tc_startswith(text, http)) {
        tc_parse_bad(p, node, example, "upstream is not the URL of a proxy");
        return NULL;
    }
    text += to->socks ? sizeof(socks) - 1 : sizeof(http) - 1;
    if (!strchr(text, '@'))
        return text;
    tc_parse_bad(p, node, "remove the user and the password from the policy",
                 "upstream holds credentials");
    return NULL;
}

static bool says_port(const char *endpoint)
{
    const char *colon = strrchr(endpoint, ':');
    return colon && colon[1] && !strchr(colon, ']');
}

void tc_set_upstream(struct tc_parse *p, const struct tc_key *key, struct tc_node *node, void *into)
{
    struct tc_upstream *to = &((struct toolcage_policy *)into)->upstream;
    struct tc_complaint c;
    _auto_(tc_net_entry_done) struct tc_net_entry entry = {0};
    if (!tc_parse_is(p, node, TC_NODE_STRING))
        return;
    const char *rest = read_scheme(p, node, to);
    if (!rest)
        return;
    size_t len = strlen(rest);
    _autofree_ char *endpoint = strndup(rest, len && rest[len - 1] == '/' ? len - 1 : len);
    int rc = endpoint ? tc_endpoint_read_one(endpoint, &entry, &c) : TOOLCAGE_EMEMORY;
    p->diag.memory |= rc == TOOLCAGE_EMEMORY;
    if (rc == TOOLCAGE_EPOLICY)
        tc_parse_bad(p, node, example, "upstream: %s", c.what);
    else if (!rc && (tc_host_is_pattern(entry.host) || !says_port(endpoint)))
        tc_parse_bad(p, node, example, "upstream needs one host and its port");
    if (rc || p->diag.count)
        return;
    to->host = TAKE(entry.host);
    to->port = (uint16_t)entry.port;
    to->line = node->at.line;
}

void tc_set_credentials(struct tc_parse *p, const struct tc_key *key, struct tc_node *node,
                        void *into)
{
    struct toolcage_policy *policy = into;
    struct tc_secret secret = {0};
    tc_set_secret_from(p, key, node, &secret);
    policy->upstream_from = secret.from;
    policy->upstream_from_line = node->at.line;
}

void tc_set_egress(struct tc_parse *p, const struct tc_key *key, struct tc_node *node, void *into)
{
    struct toolcage_policy *policy = p->policy;
    if (!tc_parse_inner(p, key->inner, node, policy))
        return;
    policy->upstream.names = policy->upstream_names == 1;
    if (!tc_node_get(node, "upstream") && node->count)
        tc_parse_bad_key(p, node, "add upstream = \"http://proxy.example.com:3128\"",
                         "[egress] names no upstream");
}

/* ---- networks and the upstream proxy ---- */

static void refuse_spec(struct tc_parse *p, const struct tc_spec *spec,
                        const struct tc_net_entry *entry, uint32_t line, const char *hint,
                        const char *why)
{
    _autofree_ char *text = tc_endpoint_write(entry->host, entry->port);
    tc_parse_bad_line(p, line, text ? tc_spec_key(spec, "network") : NULL, hint, "%s %s",
                      text ? text : "", why);
}

/* Refuses entries that an upstream proxy makes unsafe. If the upstream proxy resolves names,
 * toolcage cannot check the addresses of names that match a pattern. A tool that may connect to the
 * upstream proxy itself could reach any host through it. */
static void check_entry(struct tc_parse *p, const struct tc_spec *spec,
                        const struct tc_net_entry *entry, uint32_t line)
{
    const struct tc_upstream *up = &p->policy->upstream;
    bool names = entry->host[0] == '*';
    if (up->names && names)
        refuse_spec(p, spec, entry, line,
                    "name each host, or remove names = \"upstream\" from "
                    "[egress]",
                    "is a pattern of names, which the upstream proxy would resolve unchecked");
    else if (entry->port & TC_PORT_UDP)
        refuse_spec(p, spec, entry, line,
                    "use the service over TCP, or remove upstream from "
                    "[egress]",
                    "is UDP, which an upstream proxy does not carry");
    else if (tc_streq(entry->host, up->host) && tc_port_covers(entry->port, up->port))
        refuse_spec(p, spec, entry, line, "remove it; connections go through it anyway",
                    "is the upstream proxy itself, through which everything could be reached");
}

/* Refuses env.pass of the variable that holds the upstream's credentials: the tool would read them.
 */
static void check_passed(struct tc_parse *p, const struct tc_spec *spec)
{
    const char *from = p->policy->upstream_from;
    if (!from || !tc_startswith(from, "env:") || !tc_strv_has(&spec->env_pass, from + 4))
        return;
    tc_parse_bad_line(p, spec->said[TC_KEY_ENV], tc_spec_key(spec, "env"),
                      "remove it from env.pass: only the proxy needs it",
                      "env.pass passes on %s, which holds the credentials of the upstream",
                      from + 4);
}

static void check_spec(struct tc_parse *p, const struct tc_spec *spec)
{
    check_passed(p, spec);
    for (size_t i = 0; i < spec->net_count; i++)
        check_entry(p, spec, &spec->net[i], spec->net[i].origin.line);
    for (size_t i = 0; i < spec->argument_count; i++)
        for (size_t b = 0; b < spec->arguments[i].bound_count; b++)
            if (!spec->arguments[i].bounds[b].path)
                check_entry(p, spec, &spec->arguments[i].bounds[b].host,
                            spec->arguments[i].bounds[b].line);
    if (spec->setup)
        check_spec(p, spec->setup);
}

void tc_parse_upstream_check(struct tc_parse *p)
{
    const struct toolcage_policy *policy = p->policy;
    if (p->diag.count || !policy->upstream.host)
        return;
    check_spec(p, &policy->defaults);
    for (size_t i = 0; i < policy->tool_count; i++)
        check_spec(p, &policy->tools[i]);
    for (size_t i = 0; i < policy->server_count; i++) {
        check_spec(p, &policy->servers[i].spec);
        for (size_t t = 0; t < policy->servers[i].tool_count; t++)
            check_spec(p, &policy->servers[i].tools[t]);
    }
}
