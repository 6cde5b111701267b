/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "policy/endpoint.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <toolcage/error.h>

#include "base/buf.h"
#include "policy/address.h"

enum { DNS_PORT = 53 };

static int refuse_endpoint(struct tc_complaint *c, const char *text, size_t len, const char *hint,
                           const char *why)
{
    tc_complain(c, hint, "\"%.*s\" %s", (int)(len > 80 ? 80 : len), text, why);
    return TOOLCAGE_EPOLICY;
}

static bool label_fine(const char *label, size_t len)
{
    if (!len || len > 63 || label[0] == '-' || label[len - 1] == '-')
        return false;
    for (size_t i = 0; i < len; i++)
        if (!strchr("abcdefghijklmnopqrstuvwxyz0123456789-_", label[i]))
            return false;
    return true;
}

/* Refuses a name whose last label looks like a number: some programs parse it as an address. */
static bool name_fine(const char *host)
{
    const char *last = host;
    for (const char *label = host; label;
         label = strchr(label, '.') ? strchr(label, '.') + 1 : NULL) {
        if (!label_fine(label, strcspn(label, ".")))
            return false;
        last = label;
    }
    bool hex = last[0] == '0' && last[1] == 'x';
    return strlen(host) <= 253 && !hex && strspn(last, "0123456789") != strlen(last);
}

bool tc_host_is_address(const char *host)
{
    struct in_addr v4;
    struct in6_addr v6;
    return inet_pton(AF_INET, host, &v4) == 1 || inet_pton(AF_INET6, host, &v6) == 1;
}

bool tc_host_is_local_name(const char *host)
{
    return tc_streq(host, "localhost") || tc_endswith(host, ".localhost");
}

bool tc_host_is_local(const char *host)
{
    return tc_streq(host, "127.0.0.1") || tc_streq(host, "::1");
}

bool tc_host_any(const char *host)
{
    enum tc_address_class class;
    return !strchr(host, '/') && !tc_host_is_local_name(host) &&
           (!tc_address_class_of(host, &class) || class == TC_ADDRESS_PUBLIC);
}

/* An IPv4-mapped address becomes IPv4, because the kernel connects to the IPv4 address. */
static char *canonical_v6(const char *host)
{
    struct in6_addr v6;
    char text[INET6_ADDRSTRLEN];
    if (inet_pton(AF_INET6, host, &v6) != 1)
        return NULL;
    const char *shown = IN6_IS_ADDR_V4MAPPED(&v6)
                            ? inet_ntop(AF_INET, v6.s6_addr + 12, text, sizeof(text))
                            : inet_ntop(AF_INET6, &v6, text, sizeof(text));
    return shown ? strdup(text) : NULL;
}

/* A connection to the unspecified address reaches this host. */
static bool is_nowhere(const char *host)
{
    return tc_streq(host, "0.0.0.0") || tc_streq(host, "::");
}

int tc_host_read(const char *text, size_t len, char **ret, struct tc_complaint *c)
{
    struct in_addr v4;
    char host[256];
    if (memchr(text, '*', len) || memchr(text, '?', len))
        return refuse_endpoint(
            c, text, len,
            "name each host; \"*.example.com\" means any one label before it, \"*\" alone "
            "all public addresses",
            "is a pattern");
    if (!len || len >= sizeof(host))
        return refuse_endpoint(c, text, len, "write it as in \"api.example.com:443\"",
                               len ? "is too long for a host" : "has no host");
    for (size_t i = 0; i < len; i++) {
        if (!text[i]) /* the rest would not be checked */
            return refuse_endpoint(c, text, len, "write it as in \"api.example.com:443\"",
                                   "holds a NUL");
        if ((unsigned char)text[i] >= 0x80)
            return refuse_endpoint(c, text, len,
                                   "write the name in its ASCII form, as in \"xn--...\"",
                                   "is not ASCII");
        host[i] = (char)(text[i] >= 'A' && text[i] <= 'Z' ? text[i] - 'A' + 'a' : text[i]);
    }
    host[len] = '\0';
    bool v6 = strchr(host, ':');
    if (!v6 && inet_pton(AF_INET, host, &v4) != 1 && !name_fine(host))
        return refuse_endpoint(c, text, len, "write it as in \"api.example.com:443\"",
                               "is not a host name or address");
    _autofree_ char *canonical = v6 ? canonical_v6(host) : strdup(host);
    if (!canonical)
        return v6 ? refuse_endpoint(c, text, len, "write it as in \"[2001:db8::1]:443\"",
                                    "is not an IPv6 address")
                  : TOOLCAGE_EMEMORY;
    if (is_nowhere(canonical))
        return refuse_endpoint(c, text, len, "for this host's loopback write 127.0.0.1",
                               "is not the address of a host");
    *ret = TAKE(canonical);
    return 0;
}

/* ---- patterns ---- */

bool tc_host_is_pattern(const char *host)
{
    return host[0] == '*' || strchr(host, '/');
}

/* The suffix of a wildcard needs two labels: anyone can register a name under a single label. */
static int read_wildcard(const char *text, size_t len, char **ret, struct tc_complaint *c)
{
    _autofree_ char *suffix = NULL;
    int rc = tc_host_read(text + 2, len - 2, &suffix, c);
    if (rc)
        return rc;
    if (tc_host_is_address(suffix) || !strchr(suffix, '.'))
        return refuse_endpoint(c, text, len, "write it as in \"*.example.com:443\"",
                               "covers names of more than one owner");
    return (*ret = tc_format("*.%s", suffix)) ? 0 : TOOLCAGE_EMEMORY;
}

struct range {
    int family;
    unsigned bits;
    unsigned char bytes[16];
};

static unsigned width(const struct range *r)
{
    return r->family == AF_INET ? 32 : 128;
}

/* The range of an address has its full width. */
static bool range_of(const char *host, struct range *ret)
{
    char address[INET6_ADDRSTRLEN];
    const char *slash = strchr(host, '/');
    size_t len = slash ? (size_t)(slash - host) : strlen(host);
    if (len >= sizeof(address))
        return false;
    memcpy(address, host, len);
    address[len] = '\0';
    ret->family = strchr(address, ':') ? AF_INET6 : AF_INET;
    if (inet_pton(ret->family, address, ret->bytes) != 1)
        return false;
    ret->bits = width(ret);
    size_t digits = slash ? strspn(slash + 1, "0123456789") : 0;
    if (!slash)
        return true;
    if (digits < 1 || digits > 3 || slash[1 + digits])
        return false;
    ret->bits = (unsigned)strtoul(slash + 1, NULL, 10);
    return ret->bits <= width(ret);
}

static bool bit(const struct range *r, unsigned at)
{
    return r->bytes[at / 8] >> (7 - at % 8) & 1;
}

static bool is_base(const struct range *r)
{
    for (unsigned i = r->bits; i < width(r); i++)
        if (bit(r, i))
            return false;
    return true;
}

static bool range_holds(const struct range *outer, const struct range *inner)
{
    if (outer->family != inner->family || outer->bits > inner->bits)
        return false;
    for (unsigned i = 0; i < outer->bits; i++)
        if (bit(outer, i) != bit(inner, i))
            return false;
    return true;
}

static int read_range(const char *text, size_t len, char **ret, struct tc_complaint *c)
{
    enum { WIDEST_V4 = 8, WIDEST_V6 = 16 };
    struct range r;
    char shown[INET6_ADDRSTRLEN];
    _autofree_ char *host = strndup(text, len);
    if (!host)
        return TOOLCAGE_EMEMORY;
    if (!range_of(host, &r))
        return refuse_endpoint(c, text, len, "write it as in \"10.0.0.0/8:5432\"",
                               "is not a range of addresses");
    if (r.bits < (r.family == AF_INET ? WIDEST_V4 : WIDEST_V6))
        return refuse_endpoint(c, text, len, "\"*\" means all public addresses",
                               "is too wide a range");
    if (!is_base(&r))
        return refuse_endpoint(c, text, len, "set the bits behind its prefix to zero",
                               "has host bits set");
    (void)inet_ntop(r.family, r.bytes, shown, sizeof(shown));
    return (*ret = tc_format("%s/%u", shown, r.bits)) ? 0 : TOOLCAGE_EMEMORY;
}

static bool in_range(const char *range, const char *host)
{
    struct range outer, inner;
    enum tc_address_class class;
    if (tc_address_class_of(host, &class) && class == TC_ADDRESS_METADATA)
        return false;
    return range_of(range, &outer) && range_of(host, &inner) && range_holds(&outer, &inner);
}

/* The cage's resolver answers with these addresses (egress/gateway/synthetic.h), so granting one
 * would be ambiguous. */
static bool is_synthetic(const char *host)
{
    static const char *const ranges[] = {"198.18.0.0/15", "2001:2::/48"};
    return in_range(ranges[0], host) || in_range(ranges[1], host);
}

int tc_host_pattern_read(const char *text, size_t len, char **ret, struct tc_complaint *c)
{
    if (len == 1 && text[0] == '*')
        return (*ret = strdup("*")) ? 0 : TOOLCAGE_EMEMORY;
    if (len > 2 && text[0] == '*' && text[1] == '.')
        return read_wildcard(text, len, ret, c);
    int rc =
        memchr(text, '/', len) ? read_range(text, len, ret, c) : tc_host_read(text, len, ret, c);
    if (rc || !is_synthetic(*ret))
        return rc;
    free(TAKE(*ret));
    return refuse_endpoint(c, text, len, "name the host", "represents a name inside a cage");
}

bool tc_host_covers(const char *pattern, const char *host)
{
    const char *dot = strchr(host, '.');
    if (tc_streq(pattern, host))
        return true;
    if (tc_streq(pattern, "*"))
        return tc_host_any(host);
    if (tc_streq(pattern, "localhost"))
        return tc_host_is_local(host);
    if (pattern[0] == '*')
        return dot && dot > host && host[0] != '*' && tc_streq(dot, pattern + 1);
    return strchr(pattern, '/') && in_range(pattern, host);
}

/* ---- endpoints ---- */

/* Reads the text after the colon. */
static int read_port(const char *text, const char *whole, uint32_t *ret, struct tc_complaint *c)
{
    size_t n = strspn(text, "0123456789");
    if (tc_streq(text, "*")) {
        *ret = TC_PORT_ANY;
        return 0;
    }
    long port = 0;
    for (size_t i = 0; i < n && i < 6; i++)
        port = port * 10 + (text[i] - '0');
    if (!n || text[n] || n > 5 || port < 1 || port > 65535)
        return refuse_endpoint(
            c, whole, strlen(whole),
            "ports are 1 to 65535, one in each entry, as in \"api.example.com:443\"",
            "has no valid port");
    *ret = (uint32_t)port;
    return 0;
}

/* The prefix length of "10.0.0.0/8:443": digits, optionally followed by a port. */
static bool is_length(const char *text)
{
    size_t digits = strspn(text, "0123456789");
    return digits && (!text[digits] || text[digits] == ':');
}

/* "[2001:db8::]/32:443": `address` is the text in brackets, `rest` the text after them. */
static int read_v6_range(const char *text, const char *address, const char *rest,
                         struct tc_net_entry *ret, struct tc_complaint *c)
{
    size_t len = strcspn(rest, ":");
    _autofree_ char *range =
        tc_format("%.*s%.*s", (int)(rest - 1 - address), address, (int)len, rest);
    ret->port = TC_PORT_DEFAULT;
    int rc = rest[len] ? read_port(rest + len + 1, text, &ret->port, c) : 0;
    if (!range)
        return TOOLCAGE_EMEMORY;
    return rc ? rc : tc_host_pattern_read(range, strlen(range), &ret->host, c);
}

/* Reads a TCP endpoint; complaints quote `text`, the whole entry. */
static int read_stream(const char *text, const char *host, struct tc_net_entry *ret,
                       struct tc_complaint *c)
{
    if (strstr(host, "://"))
        return refuse_endpoint(c, text, strlen(text),
                               "write only host and port, as in \"api.example.com:443\"",
                               "is a URL");
    const char *slash = strchr(host, '/');
    if (slash && !is_length(slash + 1))
        return refuse_endpoint(c, text, strlen(text),
                               "use { host = \"...\", paths = [\"/...\"] } to name paths",
                               "contains a path");
    size_t len = strcspn(host, ":");
    const char *rest = host + len;
    if (host[0] == '[') {
        const char *close = strchr(host, ']');
        if (!close || !memchr(host, ':', (size_t)(close - host)))
            return refuse_endpoint(c, text, strlen(text), "write it as in \"[2001:db8::1]:443\"",
                                   "is not an IPv6 address");
        host++;
        len = (size_t)(close - host);
        rest = close + 1;
        if (*rest == '/')
            return read_v6_range(text, host, rest, ret, c);
    } else if (strchr(rest + (*rest != '\0'), ':')) {
        return refuse_endpoint(c, text, strlen(text),
                               "put IPv6 addresses in brackets, as in \"[2001:db8::1]:443\"",
                               "has more than one colon");
    }
    uint32_t port = TC_PORT_DEFAULT;
    if (*rest && *rest != ':')
        return refuse_endpoint(c, text, strlen(text), "write it as in \"api.example.com:443\"",
                               "has extra text after its host");
    int rc = *rest ? read_port(rest + 1, text, &port, c) : 0;
    if (!rc)
        rc = tc_host_pattern_read(host, len, &ret->host, c);
    ret->port = port;
    return rc;
}

static bool names_loopback(const char *host)
{
    return tc_host_is_local_name(host) || in_range("127.0.0.0/8", host) || in_range(host, "::1");
}

int tc_endpoint_check(const struct tc_net_entry *entry, const char *text, struct tc_complaint *c)
{
    if (entry->port == TC_PORT_ANY && names_loopback(entry->host))
        return refuse_endpoint(c, text, strlen(text),
                               "name the ports that the tool needs, as in \"localhost:5432\"",
                               "would use every port of the tool's private loopback");
    if (entry->port == (TC_PORT_UDP | DNS_PORT))
        return refuse_endpoint(c, text, strlen(text),
                               "remove it: granted names are resolved without an entry",
                               "is the port of the cage's resolver");
    return 0;
}

/* UDP has no default port. */
static int read_datagrams(const char *text, const char *host, struct tc_net_entry *ret,
                          struct tc_complaint *c)
{
    const char *colon = strrchr(host, ':');
    int rc = read_stream(text, host, ret, c);
    if (!rc && (!colon || strchr(colon, ']') || ret->port == TC_PORT_ANY))
        return refuse_endpoint(c, text, strlen(text), "write it as in \"udp:ntp.example.com:123\"",
                               "is UDP without one port");
    ret->port |= TC_PORT_UDP;
    return rc;
}

int tc_endpoint_read(const char *text, struct tc_net_entry *ret, struct tc_complaint *c)
{
    static const char list[] = "allowlist:", udp[] = "udp:";
    const char *host = tc_startswith(text, list) ? text + sizeof(list) - 1 : text;
    if (tc_endswith(host, "/udp"))
        return refuse_endpoint(c, text, strlen(text), "write it as in \"udp:ntp.example.com:123\"",
                               "names its transport at the end");
    int rc = tc_startswith(host, udp) ? read_datagrams(text, host + sizeof(udp) - 1, ret, c)
                                      : read_stream(text, host, ret, c);
    return rc ? rc : tc_endpoint_check(ret, text, c);
}

int tc_endpoint_read_one(const char *text, struct tc_net_entry *ret, struct tc_complaint *c)
{
    int rc = tc_endpoint_read(text, ret, c);
    if (!rc && (ret->port == TC_PORT_ANY || ret->port & TC_PORT_UDP))
        return refuse_endpoint(c, text, strlen(text), "write it as in \"api.example.com:443\"",
                               "is not one service over TCP");
    return rc;
}

void tc_endpoint_format(char *out, size_t size, const char *host, uint32_t port)
{
    bool v6 = strchr(host, ':');
    int len = (int)strcspn(host, "/");
    char number[8] = "*";
    if (port != TC_PORT_ANY)
        (void)snprintf(number, sizeof(number), "%u", port & TC_PORT_NUMBER);
    (void)snprintf(out, size, "%s%s%.*s%s%s:%s", port & TC_PORT_UDP ? "udp:" : "", v6 ? "[" : "",
                   len, host, v6 ? "]" : "", host + len, number);
}

char *tc_endpoint_write(const char *host, uint32_t port)
{
    enum { AROUND = sizeof("udp:[]:65535") };
    size_t size = strlen(host) + AROUND;
    char *out = malloc(size);
    if (out)
        tc_endpoint_format(out, size, host, port);
    return out;
}

/* Both entries cover the same endpoint: is `e` more specific? */
static bool is_nearer(const struct tc_net_entry *e, const struct tc_net_entry *than,
                      const char *host)
{
    int host_e = tc_streq(e->host, host) ? 2 : !tc_streq(e->host, "*");
    int host_than = tc_streq(than->host, host) ? 2 : !tc_streq(than->host, "*");
    if (host_e != host_than)
        return host_e > host_than;
    return e->port != TC_PORT_ANY && than->port == TC_PORT_ANY;
}

const struct tc_net_entry *tc_endpoint_find(const struct tc_net_entry *entries, size_t count,
                                            const char *host, uint32_t port)
{
    const struct tc_net_entry *found = NULL;
    for (size_t i = 0; i < count; i++) {
        const struct tc_net_entry *e = &entries[i];
        if (tc_port_covers(e->port, port) && tc_host_covers(e->host, host) &&
            (!found || is_nearer(e, found, host)))
            found = e;
    }
    return found;
}

const struct tc_net_entry *tc_endpoint_next(const struct tc_net_entry *entries, size_t count,
                                            const struct tc_net_entry *first, size_t *at)
{
    while (first && *at < count) {
        const struct tc_net_entry *e = &entries[(*at)++];
        if (e->port == first->port && tc_streq(e->host, first->host))
            return e;
    }
    return NULL;
}

void tc_net_entry_done(struct tc_net_entry *entry)
{
    tc_fields_done(&tc_net_entry_fields, entry);
}

bool tc_net_entry_copy(struct tc_net_entry *to, const struct tc_net_entry *from)
{
    to->host = strdup(from->host);
    to->port = from->port;
    to->secret = from->secret;
    to->origin.line = from->origin.line;
    to->origin.key = from->origin.key ? strdup(from->origin.key) : NULL;
    return to->host && (to->origin.key || !from->origin.key) &&
           tc_strv_copy(&to->methods, &from->methods) && tc_strv_copy(&to->paths, &from->paths);
}

const char *tc_secret_endpoint(const char *host, bool *ret_plain)
{
    static const char scheme[] = "http://";
    *ret_plain = tc_startswith(host, scheme);
    return *ret_plain ? host + sizeof(scheme) - 1 : host;
}

/* Only an entry with exactly this host matches: for a pattern, the proxy would have to inspect the
 * traffic of hosts that no one listed. */
bool tc_secret_goes_to(const char *host, const struct tc_net_entry *entry)
{
    struct tc_complaint c;
    bool plain;
    _auto_(tc_net_entry_done) struct tc_net_entry to = {0};
    return tc_endpoint_read_one(tc_secret_endpoint(host, &plain), &to, &c) == 0 &&
           to.port == entry->port && tc_streq(to.host, entry->host);
}

bool tc_secret_reaches(const struct tc_net_entry *net, size_t count, const char *host)
{
    for (size_t i = 0; i < count; i++)
        if (tc_secret_goes_to(host, &net[i]))
            return true;
    return false;
}

bool tc_upstream_copy(struct tc_upstream *to, const struct tc_upstream *from)
{
    *to = *from;
    to->host = from->host ? strdup(from->host) : NULL;
    return to->host || !from->host;
}

char *tc_upstream_write(const struct tc_upstream *upstream)
{
    _autofree_ char *endpoint =
        upstream->host ? tc_endpoint_write(upstream->host, upstream->port) : NULL;
    return endpoint ? tc_format("%s://%s", upstream->socks ? "socks5" : "http", endpoint) : NULL;
}
