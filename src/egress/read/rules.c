/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "egress/read/rules.h"

#include <arpa/inet.h>
#include <string.h>

#include "policy/address.h"
#include "policy/endpoint.h"
#include "policy/http_path.h"

bool tc_egress_may_some(const struct tc_egress_config *config, const char *host, uint32_t port)
{
    return tc_endpoint_find(config->net, config->net_count, host, port) != NULL;
}

bool tc_egress_may_stream(const struct tc_egress_config *config, const char *host, uint32_t port)
{
    const struct tc_net_entry *entry,
        *first = tc_endpoint_find(config->net, config->net_count, host, port);
    size_t at = 0;
    while ((entry = tc_endpoint_next(config->net, config->net_count, first, &at)))
        if (!tc_net_entry_inspected(entry))
            return true;
    return false;
}

static bool method_fits(const struct tc_strv *methods, struct tc_egress_http_text method)
{
    for (size_t i = 0; i < methods->count; i++)
        if (strlen(methods->items[i]) == method.len &&
            memcmp(methods->items[i], method.at, method.len) == 0)
            return true;
    return !methods->count;
}

static bool path_fits(const struct tc_strv *paths, const char *path)
{
    for (size_t i = 0; i < paths->count; i++) {
        _autobuf_ struct tc_buf rule = TC_BUF_INIT;
        if (!tc_http_path_read(paths->items[i], strlen(paths->items[i]), &rule) && !rule.failed &&
            tc_http_path_within(rule.data, path))
            return true;
    }
    return false;
}

static int judge_request(const struct tc_net_entry *entry, const struct tc_egress_http_head *head,
                         const char **ret_why)
{
    _autobuf_ struct tc_buf path = TC_BUF_INIT;
    bool bare = !tc_net_entry_rules(entry);
    if (bare || !method_fits(&entry->methods, head->method))
        return bare ? 0 : TC_EGRESS_NOT_REQUEST;
    if (head->websocket) {
        *ret_why = "websocket messages have no method and no path";
        return TC_EGRESS_NOT_REQUEST;
    }
    if (!entry->paths.count)
        return 0;
    const char *why = tc_http_path_read(head->path.at, head->path.len, &path);
    if (why) {
        *ret_why = why;
        return TC_EGRESS_UNCLEAR;
    }
    return !path.failed && path_fits(&entry->paths, path.data) ? 0 : TC_EGRESS_NOT_REQUEST;
}

int tc_egress_judge_request(const struct tc_egress_config *config, const char *host, uint32_t port,
                            const struct tc_egress_http_head *head, const char **ret_why)
{
    const struct tc_net_entry *entry,
        *first = tc_endpoint_find(config->net, config->net_count, host, port);
    int reason = first ? TC_EGRESS_NOT_REQUEST : TC_EGRESS_NOT_NAMED;
    size_t at = 0;
    *ret_why = NULL;
    while ((entry = tc_endpoint_next(config->net, config->net_count, first, &at))) {
        int got = judge_request(entry, head, ret_why);
        if (!got)
            return 0;
        reason = got == TC_EGRESS_UNCLEAR ? got : reason;
    }
    return reason;
}

static bool is_named(const struct tc_egress_config *config, const char *host, uint32_t port)
{
    for (size_t i = 0; i < config->net_count; i++)
        if (tc_port_covers(config->net[i].port, port) && !tc_streq(config->net[i].host, "*") &&
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

bool tc_egress_is_public(const struct sockaddr *address)
{
    return class_of(address) == TC_ADDRESS_PUBLIC;
}

static const void *bytes_of(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET)
        return &((const struct sockaddr_in *)(const void *)address)->sin_addr;
    return &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;
}

bool tc_egress_may_reach(const struct tc_egress_config *config, const char *host, uint32_t port,
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
