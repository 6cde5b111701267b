/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Refused connects: the policy line concerned, the network entry that would allow the connection,
 * and the hint that names it, as an option where the options are the grant. */
#include <string.h>

#include "base/display.h"
#include "call/result/result.h"
#include "policy/endpoint.h"

/* The entry for the target, with another host unless `host` is NULL; NULL: none. */
static char *entry_of(const char *target, const char *host)
{
    struct tc_complaint c;
    _auto_(tc_net_entry_done) struct tc_net_entry to = {0};
    if (!target || tc_endpoint_read(target, &to, &c) != 0 || tc_host_is_pattern(to.host))
        return NULL;
    return tc_endpoint_write(host ? host : to.host, to.port);
}

/* Only one kind of refusal by the proxy is about a missing entry: the others have a hint. */
static char *find_entry(const struct tc_denial *d)
{
    switch ((int)d->kind) {
    case TC_DENIAL_CONNECT:
        return d->hint ? NULL : entry_of(d->target, NULL);
    case TC_DENIAL_NOWHERE:
        return entry_of(d->target, NULL);
    case TC_DENIAL_PRIVATE: /* the helper reports the address */
        return d->endpoint ? entry_of(d->endpoint, NULL) : NULL;
    case TC_DENIAL_LOOPBACK:
        return entry_of(d->target, "localhost");
    case TC_DENIAL_UNRESOLVED: /* the name is not known */
        return strdup("HOST:443");
    default:
        return NULL;
    }
}

/* "8080, 9090": the ports of the host's loopback that the grant has; NULL: none. */
static char *loopback_ports(const struct tc_grant *grant)
{
    _autobuf_ struct tc_buf out = TC_BUF_INIT;
    for (size_t i = 0; i < grant->net_count; i++)
        if (tc_host_is_local(grant->net[i].host) || tc_host_is_local_name(grant->net[i].host))
            tc_buf_addf(&out, "%s%u", out.len ? ", " : "", grant->net[i].port & TC_PORT_NUMBER);
    return out.len ? tc_buf_steal(&out) : NULL;
}

static char *write_hint(const struct tc_result_frame *frame, const struct tc_denial *d,
                        const char *clause, const char *entry)
{
    _autofree_ char *ports = NULL;
    switch ((int)d->kind) {
    case TC_DENIAL_NOWHERE:
        return tc_format("the tool has no network; %s allows it", clause);
    case TC_DENIAL_UNRESOLVED:
        return tc_format("the tool has no network, so no host name can be resolved; %s grants a "
                         "host",
                         clause);
    case TC_DENIAL_PRIVATE:
        return tc_format("the name resolves to %.*s, which is not public; %s in addition to the "
                         "name allows it",
                         (int)(strrchr(entry, ':') - entry), entry, clause);
    case TC_DENIAL_LOOPBACK:
        ports = loopback_ports(frame->grant);
        return ports ? tc_format("of the host's loopback the grant has port %s only; %s grants "
                                 "this one",
                                 ports, clause)
                     : tc_format("nothing listens there on the cage's own loopback; %s reaches the "
                                 "host's",
                                 clause);
    default:
        return strdup(clause);
    }
}

static bool name_entry(const struct tc_result_frame *frame, struct tc_denial *d)
{
    _autofree_ char *entry = find_entry(d);
    if (!entry)
        return true;
    _autofree_ char *word = tc_shell_quote(entry);
    _autofree_ char *clause = !word ? NULL
                              : tc_policy_is_default(frame->policy)
                                  ? tc_format("--network %s", word)
                                  : tc_format("network = [\"%s\"]", entry);
    char *hint = clause ? write_hint(frame, d, clause, entry) : NULL;
    free(d->hint);
    d->hint = hint;
    free(TAKE(d->endpoint));
    if (d->kind != TC_DENIAL_UNRESOLVED)
        d->endpoint = TAKE(entry);
    return hint != NULL;
}

/* The location is that of the network key or of unix_sockets. */
bool tc_result_place_connect(const struct tc_result_frame *frame, struct tc_denial *d)
{
    const char *prefix;
    const char *word = tc_denial_row(d->kind)->key;
    uint32_t line = tc_policy_line(frame->policy, frame->tool, word, &prefix);
    if (line && d->line <= 0) {
        free(d->key);
        d->key = tc_format("%s.%s", prefix, word);
        d->line = line;
    }
    return name_entry(frame, d) && (!line || d->key);
}
