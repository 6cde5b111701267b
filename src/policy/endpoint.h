/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Network endpoints as text: "api.example.com:443", "[2001:db8::1]:80", "db.example.com:*",
 * "udp:ntp.example.com:123", "*". */
#ifndef TC_POLICY_ENDPOINT_H
#define TC_POLICY_ENDPOINT_H

#include "policy/grant.h"
#include "policy/parse/values.h"

/* A port together with its transport: a number, and TC_PORT_UDP where it is one of UDP. An entry
 * may have TC_PORT_ANY, which stands for each port of TCP. */
enum { TC_PORT_ANY = 0, TC_PORT_DEFAULT = 443, TC_PORT_NUMBER = 0xffff, TC_PORT_UDP = 1 << 16 };

/* Of the longest one as text, with its end. */
enum { TC_ENDPOINT_SIZE = 300 };

static inline bool tc_port_covers(uint32_t outer, uint32_t inner)
{
    return outer == inner || (outer == TC_PORT_ANY && !(inner & TC_PORT_UDP));
}

void tc_net_entry_done(struct tc_net_entry *entry);
/* Into a zeroed one, which is to be freed also when it fails; false: out of memory. */
bool tc_net_entry_copy(struct tc_net_entry *to, const struct tc_net_entry *from);
/* Does it hold requests to methods or paths? */
static inline bool tc_net_entry_rules(const struct tc_net_entry *entry)
{
    return entry->methods.count || entry->paths.count;
}
/* Are its requests read, for that or to put a secret in? */
static inline bool tc_net_entry_inspected(const struct tc_net_entry *entry)
{
    return tc_net_entry_rules(entry) || entry->secret;
}
/* Into a zeroed one; false: out of memory. */
bool tc_upstream_copy(struct tc_upstream *to, const struct tc_upstream *from);
/* A URL, as the policy writes it; owned, NULL when there is none or no memory. */
char *tc_upstream_write(const struct tc_upstream *upstream);

/* Reads "host", "host:port", "host:*", "[v6]:port", "udp:host:port" or "*", with or without
 * "allowlist:" before it, into host and port of a zeroed entry. 0, TOOLCAGE_EPOLICY after filling
 * the complaint, or TOOLCAGE_EMEMORY. */
int tc_endpoint_read(const char *text, struct tc_net_entry *ret, struct tc_complaint *c);
/* The same where one service of TCP is meant: "host:*" and "udp:" are complained about. */
int tc_endpoint_read_one(const char *text, struct tc_net_entry *ret, struct tc_complaint *c);
/* 0, or TOOLCAGE_EPOLICY after the complaint that this host has no meaning with this port. */
int tc_endpoint_check(const struct tc_net_entry *entry, const char *text, struct tc_complaint *c);
/* A host alone, in canonical form (lower case, addresses as inet_ntop writes them): a name or an
 * address, never a pattern. */
int tc_host_read(const char *text, size_t len, char **ret, struct tc_complaint *c);
/* What an entry may say in place of a host: also "*", "*.example.com" and "10.0.0.0/8". */
int tc_host_pattern_read(const char *text, size_t len, char **ret, struct tc_complaint *c);
bool tc_host_is_address(const char *host);
bool tc_host_is_pattern(const char *host);
/* Does an entry of `pattern` speak of `host`? "*" of names and public addresses; "*.example.com" of
 * names with one label more; a range of the addresses in it, but of no metadata service. `host` may
 * be a pattern itself: then of all that it speaks of. */
bool tc_host_covers(const char *pattern, const char *host);
/* Is it a name of this machine's loopback, whatever a resolver says? */
bool tc_host_is_local_name(const char *host);
/* Is it an address that the entry "localhost" means? */
bool tc_host_is_local(const char *host);
/* Does "*" speak of this host: a name that is not this machine's own, or a public address? */
bool tc_host_any(const char *host);
/* The endpoint in one of a secret's hosts; does the host say that it may go there without TLS? */
const char *tc_secret_endpoint(const char *host, bool *ret_plain);
/* Is the entry about this one of a secret's hosts? And does the network name it at all? */
bool tc_secret_goes_to(const char *host, const struct tc_net_entry *entry);
bool tc_secret_reaches(const struct tc_net_entry *net, size_t count, const char *host);
/* As tc_endpoint_read() takes it, with brackets where needed; cut off at the size. */
void tc_endpoint_format(char *out, size_t size, const char *host, uint32_t port);
/* The same; owned, NULL when out of memory. */
char *tc_endpoint_write(const char *host, uint32_t port);
/* The entry that covers this endpoint, or NULL: that of the host itself, else of a pattern that is
 * not "*", else "*"; of those, one of the port itself before one of any port. (Where a name leads
 * is judged when it is known.) */
const struct tc_net_entry *tc_endpoint_find(const struct tc_net_entry *entries, size_t count,
                                            const char *host, uint32_t port);
/* Of the entries that speak of the same host and port as `first` the next one from *at on, which
 * goes behind it; NULL: there is none, or `first` is NULL. */
const struct tc_net_entry *tc_endpoint_next(const struct tc_net_entry *entries, size_t count,
                                            const struct tc_net_entry *first, size_t *at);

#endif
