/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "egress/rules.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

#include "policy/address.h"
#include "policy/endpoint.h"

/* Where an entry of the host itself stands, "*" adds nothing to it. */
static const struct tc_net_entry *next_entry(const struct tc_egress_config *config,
                                             const struct tc_net_entry *first, size_t *at)
{
    for (; first && *at < config->net_count; ++*at) {
        const struct tc_net_entry *entry = &config->net[*at];
        if (entry->port == first->port && tc_streq(entry->host, first->host)) {
            ++*at;
            return entry;
        }
    }
    return NULL;
}

bool tc_egress_may_some(const struct tc_egress_config *config, const char *host, unsigned port)
{
    return tc_endpoint_find(config->net, config->net_count, host, port) != NULL;
}

bool tc_egress_may_stream(const struct tc_egress_config *config, const char *host, unsigned port)
{
    const struct tc_net_entry *entry,
        *first = tc_endpoint_find(config->net, config->net_count, host, port);
    size_t at = 0;
    while ((entry = next_entry(config, first, &at)))
        if (!entry->methods.count && !entry->paths.count)
            return true;
    return false;
}

static bool method_fits(const struct tc_strv *methods, struct tc_http_text method)
{
    for (size_t i = 0; i < methods->count; i++)
        if (strlen(methods->items[i]) == method.len &&
            memcmp(methods->items[i], method.at, method.len) == 0)
            return true;
    return !methods->count;
}

/* Servers disagree about what these mean, so that a rule cannot. */
static bool path_is_clear(struct tc_http_text path)
{
    static const char *const unclear[] = {"//", "/./", "/../", "%2e", "%2f", "%5c", "%00", ";"};
    char text[TC_HTTP_HEAD_MAX + 2];
    const char *query = memchr(path.at, '?', path.len);
    size_t len = query ? (size_t)(query - path.at) : path.len;
    if (len >= sizeof(text) - 1)
        return false;
    memcpy(text, path.at, len);
    memcpy(text + len, "/", 2); /* "/.." at the end is one, too */
    for (size_t i = 0; i < TC_COUNT(unclear); i++)
        if (strcasestr(text, unclear[i]) && !(i == 0 && strstr(text, "//") == text + len - 1))
            return false;
    return true;
}

static bool path_fits(const struct tc_strv *paths, struct tc_http_text path)
{
    if (!paths->count)
        return true;
    for (size_t i = 0; i < paths->count; i++) {
        size_t len = strlen(paths->items[i]);
        if (path.len < len || memcmp(path.at, paths->items[i], len) != 0)
            continue;
        if (path.len == len || path.at[len - 1] == '/' || strchr("/?", path.at[len]))
            return path_is_clear(path);
    }
    return false;
}

bool tc_egress_may_request(const struct tc_egress_config *config, const char *host, unsigned port,
                           const struct tc_http_head *head)
{
    const struct tc_net_entry *entry,
        *first = tc_endpoint_find(config->net, config->net_count, host, port);
    size_t at = 0;
    while ((entry = next_entry(config, first, &at)))
        if (method_fits(&entry->methods, head->method) && path_fits(&entry->paths, head->path))
            return true;
    return false;
}

static bool is_named(const struct tc_egress_config *config, const char *host, unsigned port)
{
    for (size_t i = 0; i < config->net_count; i++)
        if (config->net[i].port == port && !tc_streq(config->net[i].host, "*") &&
            tc_host_covers(config->net[i].host, host))
            return true;
    return false;
}

static enum tc_address_class class_of(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET)
        return tc_address_class_v4(((const struct sockaddr_in *)(const void *)address)->sin_addr);
    if (address->sa_family == AF_INET6)
        return tc_address_class_v6(
            &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr);
    return TC_ADDRESS_RESERVED;
}

static const void *bytes_of(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET)
        return &((const struct sockaddr_in *)(const void *)address)->sin_addr;
    return &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;
}

bool tc_egress_may_reach(const struct tc_egress_config *config, const char *host, unsigned port,
                         const struct sockaddr *address)
{
    char text[INET6_ADDRSTRLEN];
    enum tc_address_class class = class_of(address);
    if (class == TC_ADDRESS_PUBLIC)
        return true;
    if (class == TC_ADDRESS_LOOPBACK && tc_host_is_local_name(host))
        return is_named(config, host, port);
    if (!inet_ntop(address->sa_family, bytes_of(address), text, sizeof(text)))
        return false;
    return is_named(config, text, port);
}
