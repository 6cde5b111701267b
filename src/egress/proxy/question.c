/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The cage's DNS resolver: replies with the synthetic addresses of the grant's names, and with "no
 * such name" for all others. No query leaves the host. */
#include <string.h>

#include "egress/proxy/flow.h"
#include "egress/proxy/loop.h"
#include "egress/read/dns.h"
#include "egress/read/stats.h"

static const char *name_of_reverse(struct tc_egress_proxy *p, const char *name)
{
    struct in_addr v4;
    struct in6_addr v6;
    int family = tc_egress_dns_reverse(name, &v4, &v6);
    uint32_t number = 0;
    if (family == AF_INET)
        number = tc_synthetic_of_v4(v4);
    else if (family == AF_INET6)
        number = tc_synthetic_of_v6(&v6);
    return tc_egress_names_name(&p->names, number);
}

static size_t answer_reverse(struct tc_egress_proxy *p, const struct tc_egress_dns_query *query,
                             unsigned char *out)
{
    struct tc_egress_dns_record record;
    const char *name = name_of_reverse(p, query->name);
    if (!name)
        return tc_egress_dns_write(query, TC_EGRESS_DNS_NO_NAME, NULL, out);
    tc_egress_dns_pointer(name, &record);
    return tc_egress_dns_write(query, TC_EGRESS_DNS_FINE,
                               query->type == TC_EGRESS_DNS_PTR ? &record : NULL, out);
}

static size_t refuse_name(struct tc_egress_proxy *p, const struct tc_egress_dns_query *query,
                          unsigned char *out)
{
    char target[TC_EGRESS_TARGET_MAX];
    tc_egress_target(query->name[0] ? query->name : ".", 0, target);
    tc_egress_deny(p->stats, target, TC_EGRESS_NOT_NAMED, NULL, true);
    return tc_egress_dns_write(query, TC_EGRESS_DNS_NO_NAME, NULL, out);
}

/* "localhost." is not in /etc/hosts, which has the name without the dot (RFC 6761, 6.3). */
static void answer_local(struct tc_egress_dns_record *record)
{
    struct in_addr v4 = {.s_addr = htonl(INADDR_LOOPBACK)};
    record->len = record->type == TC_EGRESS_DNS_A      ? sizeof(v4)
                  : record->type == TC_EGRESS_DNS_AAAA ? sizeof(in6addr_loopback)
                                                       : 0;
    memcpy(record->data,
           record->type == TC_EGRESS_DNS_A ? (const void *)&v4 : (const void *)&in6addr_loopback,
           record->len);
}

static size_t answer_name(struct tc_egress_proxy *p, const struct tc_egress_dns_query *query,
                          unsigned char *out)
{
    struct tc_egress_host host;
    struct tc_egress_dns_record record = {.type = query->type};
    bool fine = !query->odd && tc_egress_host_read(query->name, strlen(query->name), &host) &&
                strcmp(host.name, query->name) == 0;
    bool local = fine && strcmp(host.name, "localhost") == 0;
    uint32_t number = fine && !local ? tc_egress_names_number(&p->names, host.name) : 0;
    if (!number && !local)
        return refuse_name(p, query, out);
    if (local) {
        answer_local(&record);
    } else if (query->type == TC_EGRESS_DNS_A) {
        struct in_addr v4 = tc_synthetic_v4(number);
        record.len = sizeof(v4);
        memcpy(record.data, &v4, sizeof(v4));
    } else if (query->type == TC_EGRESS_DNS_AAAA && p->config.ipv6) {
        struct in6_addr v6 = tc_synthetic_v6(number);
        record.len = sizeof(v6);
        memcpy(record.data, &v6, sizeof(v6));
    }
    return tc_egress_dns_write(query, TC_EGRESS_DNS_FINE, record.len ? &record : NULL, out);
}

size_t tc_egress_answer(struct tc_egress_proxy *p, const unsigned char *bytes, size_t len,
                        unsigned char out[TC_EGRESS_DNS_MESSAGE_MAX])
{
    struct tc_egress_dns_query query;
    enum tc_egress_dns_code code;
    switch (tc_egress_dns_read(bytes, len, &query, &code)) {
    case TC_EGRESS_DNS_DROP:
        return 0;
    case TC_EGRESS_DNS_ANSWER:
        return tc_egress_dns_write(&query, code, NULL, out);
    case TC_EGRESS_DNS_QUERY:
        break;
    }
    return tc_egress_dns_is_reverse(query.name) ? answer_reverse(p, &query, out)
                                                : answer_name(p, &query, out);
}

/* ---- DNS over TCP ---- */

/* Answers one query; 0: incomplete, -1: the connection is unusable. */
static int take_question(struct tc_egress_proxy *p, struct tc_egress_flow *f)
{
    unsigned char out[2 + TC_EGRESS_DNS_MESSAGE_MAX];
    const unsigned char *at = (const unsigned char *)f->in.data;
    size_t size = f->in.len < 2 ? 0 : (size_t)at[0] << 8 | at[1];
    if (f->in.len < 2 || (size <= TC_EGRESS_DNS_MESSAGE_MAX && f->in.len < 2 + size))
        return 0;
    if (size > TC_EGRESS_DNS_MESSAGE_MAX)
        return -1;
    size_t answer = tc_egress_answer(p, at + 2, size, out + 2);
    out[0] = (unsigned char)(answer >> 8);
    out[1] = (unsigned char)answer;
    memmove(f->in.data, f->in.data + 2 + size, f->in.len - 2 - size);
    f->in.len -= 2 + size;
    /* a client that sends queries without reading replies is disconnected */
    bool fine = answer && !f->client.len &&
                tc_egress_side_send(p, &f->client, (const char *)out, 2 + answer);
    return fine ? 1 : -1;
}

void tc_egress_question(struct tc_egress_proxy *p, struct tc_egress_flow *f)
{
    int got;
    while ((got = take_question(p, f)) > 0)
        tc_egress_flow_deadline(p, f, TC_EGRESS_HEAD_US);
    if (got < 0)
        tc_egress_flow_close(p, f, true);
}
