/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Network endpoints as text: "api.example.com:443", "[2001:db8::1]:80", "db.example.com:*",
 * "udp:ntp.example.com:123", "*". */
#ifndef TC_POLICY_ENDPOINT_H
#define TC_POLICY_ENDPOINT_H

#include "policy/grant.h"
#include "policy/parse/values.h"

/* A port number, combined with TC_PORT_UDP for UDP. In an entry, TC_PORT_ANY means every TCP
 * port. */
enum { TC_PORT_ANY = 0, TC_PORT_DEFAULT = 443, TC_PORT_NUMBER = 0xffff, TC_PORT_UDP = 1 << 16 };

/* Size of the longest endpoint as text, including the NUL. */
enum { TC_ENDPOINT_SIZE = 300 };

static inline bool tc_port_covers(uint32_t outer, uint32_t inner)
{
    return outer == inner || (outer == TC_PORT_ANY && !(inner & TC_PORT_UDP));
}

void tc_net_entry_done(struct tc_net_entry *entry);
/* Copies into a zeroed entry. The caller frees it, also after a failure. False: out of memory. */
bool tc_net_entry_copy(struct tc_net_entry *to, const struct tc_net_entry *from);
/* Does it limit requests to methods or paths? */
static inline bool tc_net_entry_rules(const struct tc_net_entry *entry)
{
    return entry->methods.count || entry->paths.count;
}
/* Does the proxy parse its requests, to apply rules or to inject a secret? */
static inline bool tc_net_entry_inspected(const struct tc_net_entry *entry)
{
    return tc_net_entry_rules(entry) || entry->secret;
}
/* Copies into a zeroed struct. False: out of memory. */
bool tc_upstream_copy(struct tc_upstream *to, const struct tc_upstream *from);
/* The URL as the policy spells it; owned. NULL: no upstream, or out of memory. */
char *tc_upstream_write(const struct tc_upstream *upstream);

/* Parses "host", "host:port", "host:*", "[v6]:port", "udp:host:port" or "*", optionally after
 * "allowlist:", into host and port of a zeroed entry. 0, TOOLCAGE_EPOLICY after filling the
 * complaint, or TOOLCAGE_EMEMORY. */
int tc_endpoint_read(const char *text, struct tc_net_entry *ret, struct tc_complaint *c);
/* Like tc_endpoint_read(), for exactly one TCP port: rejects "host:*" and "udp:". */
int tc_endpoint_read_one(const char *text, struct tc_net_entry *ret, struct tc_complaint *c);
/* 0, or TOOLCAGE_EPOLICY with a complaint: the host and the port cannot be combined. */
int tc_endpoint_check(const struct tc_net_entry *entry, const char *text, struct tc_complaint *c);
/* Parses a host name or an address, not a pattern, into its canonical form: lower case, addresses
 * as inet_ntop prints them. */
int tc_host_read(const char *text, size_t len, char **ret, struct tc_complaint *c);
/* Like tc_host_read(), and accepts "*", "*.example.com" and "10.0.0.0/8". */
int tc_host_pattern_read(const char *text, size_t len, char **ret, struct tc_complaint *c);
bool tc_host_is_address(const char *host);
bool tc_host_is_pattern(const char *host);
/* Does `pattern` match `host`? "*" matches names and public addresses; "*.example.com" matches
 * names with exactly one more label; an address range matches its addresses except metadata
 * services. If `host` is a pattern, `pattern` must match everything that `host` matches. */
bool tc_host_covers(const char *pattern, const char *host);
/* Is it a loopback name, whatever a resolver returns for it? */
bool tc_host_is_local_name(const char *host);
/* Is it an address that the entry "localhost" covers? */
bool tc_host_is_local(const char *host);
/* Does "*" match this host: a name that is not local, or a public address? */
bool tc_host_any(const char *host);
/* The endpoint in an entry of a secret's `hosts`. *ret_plain: its scheme permits sending without
 * TLS. */
const char *tc_secret_endpoint(const char *host, bool *ret_plain);
/* Does the entry match this host of a secret? */
bool tc_secret_goes_to(const char *host, const struct tc_net_entry *entry);
/* Does any of the entries match this host of a secret? */
bool tc_secret_reaches(const struct tc_net_entry *net, size_t count, const char *host);
/* Formats for tc_endpoint_read(), with brackets where needed; truncated to the size. */
void tc_endpoint_format(char *out, size_t size, const char *host, uint32_t port);
/* Like tc_endpoint_format(); owned. NULL: out of memory. */
char *tc_endpoint_write(const char *host, uint32_t port);
/* The entry that covers this endpoint, or NULL. An entry for exactly the host comes before a
 * pattern, and "*" comes last; for the same host, an exact port comes before any port. The address
 * that a name resolves to is checked later, when it is known. */
const struct tc_net_entry *tc_endpoint_find(const struct tc_net_entry *entries, size_t count,
                                            const char *host, uint32_t port);
/* The next entry from *at on with the host and port of `first`; advances *at past it. NULL: no
 * further entry, or `first` is NULL. */
const struct tc_net_entry *tc_endpoint_next(const struct tc_net_entry *entries, size_t count,
                                            const struct tc_net_entry *first, size_t *at);

#endif
