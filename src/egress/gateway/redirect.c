/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The packet filter that redirects connections to one listener, as nf_tables netlink messages: no
 * socket can listen on all ports, and running nft would take longer than creating the rest of the
 * cage. */
#include "egress/gateway/gateway.h"

#include <arpa/inet.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <string.h>

#include "egress/gateway/synthetic.h"

enum { REGISTER = NFT_REG_1, PRIORITY_DNAT = -100 };

static const char table[] = "toolcage", chain[] = "out";

/* ---- attributes ---- */

static void put_attribute(struct tc_buf *out, uint16_t type, const void *data, size_t len)
{
    static const char pad[NLA_ALIGNTO];
    struct nlattr head = {.nla_len = (uint16_t)(NLA_HDRLEN + len), .nla_type = type};
    tc_buf_add(out, (const char *)&head, sizeof(head));
    tc_buf_add(out, data, len);
    tc_buf_add(out, pad, NLA_ALIGN(len) - len);
}

static void put_number(struct tc_buf *out, uint16_t type, uint32_t number)
{
    uint32_t wire = htonl(number);
    put_attribute(out, type, &wire, sizeof(wire));
}

static void put_all(struct tc_buf *out, uint16_t type, const struct tc_buf *inner)
{
    put_attribute(out, type | NLA_F_NESTED, inner->data, inner->len);
    out->failed |= inner->failed;
}

static void put_value(struct tc_buf *out, uint16_t type, const void *data, size_t len)
{
    _autobuf_ struct tc_buf value = TC_BUF_INIT;
    put_attribute(&value, NFTA_DATA_VALUE, data, len);
    put_all(out, type, &value);
}

/* ---- the rule ---- */

static void add_expression(struct tc_buf *rule, const char *name, const struct tc_buf *data)
{
    _autobuf_ struct tc_buf element = TC_BUF_INIT;
    put_attribute(&element, NFTA_EXPR_NAME, name, strlen(name) + 1);
    put_all(&element, NFTA_EXPR_DATA, data);
    put_all(rule, NFTA_LIST_ELEM, &element);
}

static void add_compare(struct tc_buf *rule, enum nft_cmp_ops op, const void *value, size_t len)
{
    _autobuf_ struct tc_buf data = TC_BUF_INIT;
    put_number(&data, NFTA_CMP_SREG, REGISTER);
    put_number(&data, NFTA_CMP_OP, op);
    put_value(&data, NFTA_CMP_DATA, value, len);
    add_expression(rule, "cmp", &data);
}

static void add_is_tcp(struct tc_buf *rule)
{
    static const uint8_t tcp = IPPROTO_TCP;
    _autobuf_ struct tc_buf data = TC_BUF_INIT;
    put_number(&data, NFTA_META_DREG, REGISTER);
    put_number(&data, NFTA_META_KEY, NFT_META_L4PROTO);
    add_expression(rule, "meta", &data);
    add_compare(rule, NFT_CMP_EQ, &tcp, sizeof(tcp));
}

/* Matches packets whose masked destination is not this address. */
static void add_is_not(struct tc_buf *rule, const void *address, const void *mask, size_t len)
{
    enum { DESTINATION_V4 = 16, DESTINATION_V6 = 24 };
    static const char zero[16];
    _autobuf_ struct tc_buf load = TC_BUF_INIT, bits = TC_BUF_INIT;
    put_number(&load, NFTA_PAYLOAD_DREG, REGISTER);
    put_number(&load, NFTA_PAYLOAD_BASE, NFT_PAYLOAD_NETWORK_HEADER);
    put_number(&load, NFTA_PAYLOAD_OFFSET, len == 4 ? DESTINATION_V4 : DESTINATION_V6);
    put_number(&load, NFTA_PAYLOAD_LEN, (uint32_t)len);
    add_expression(rule, "payload", &load);
    put_number(&bits, NFTA_BITWISE_SREG, REGISTER);
    put_number(&bits, NFTA_BITWISE_DREG, REGISTER);
    put_number(&bits, NFTA_BITWISE_LEN, (uint32_t)len);
    put_value(&bits, NFTA_BITWISE_MASK, mask, len);
    put_value(&bits, NFTA_BITWISE_XOR, zero, len);
    add_expression(rule, "bitwise", &bits);
    add_compare(rule, NFT_CMP_NEQ, address, len);
}

static void add_redirect(struct tc_buf *rule, unsigned port)
{
    uint16_t wire = htons((uint16_t)port);
    _autobuf_ struct tc_buf load = TC_BUF_INIT, redirect = TC_BUF_INIT;
    put_number(&load, NFTA_IMMEDIATE_DREG, REGISTER);
    put_value(&load, NFTA_IMMEDIATE_DATA, &wire, sizeof(wire));
    add_expression(rule, "immediate", &load);
    put_number(&redirect, NFTA_REDIR_REG_PROTO_MIN, REGISTER);
    add_expression(rule, "redir", &redirect);
}

static void add_addresses(struct tc_buf *rule, int family)
{
    static const unsigned char loopback[] = {127, 0, 0, 0}, eight[] = {255, 0, 0, 0};
    unsigned char all[16];
    memset(all, 0xff, sizeof(all));
    struct in_addr own = tc_synthetic_v4(TC_SYNTHETIC_OWN);
    if (family == AF_INET6) {
        add_is_not(rule, &in6addr_loopback, all, sizeof(in6addr_loopback));
        return;
    }
    add_is_not(rule, loopback, eight, sizeof(loopback));
    add_is_not(rule, &own, all, sizeof(own));
}

/* ---- the batch ---- */

static void add_request(struct tc_buf *out, uint16_t type, uint16_t flags, uint8_t family,
                        uint16_t subsystem, const struct tc_buf *attributes)
{
    struct nfgenmsg body = {
        .nfgen_family = family, .version = NFNETLINK_V0, .res_id = htons(subsystem)};
    struct nlmsghdr head = {.nlmsg_len = (uint32_t)(NLMSG_LENGTH(sizeof(body)) + attributes->len),
                            .nlmsg_type = type,
                            .nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags)};
    tc_buf_add(out, (const char *)&head, sizeof(head));
    tc_buf_add(out, (const char *)&body, sizeof(body));
    tc_buf_add(out, attributes->data, attributes->len);
    out->failed |= attributes->failed;
}

static void add_message(struct tc_buf *out, int message, uint16_t flags, int family,
                        const struct tc_buf *attributes)
{
    add_request(out, (uint16_t)(NFNL_SUBSYS_NFTABLES << 8 | message), NLM_F_CREATE | flags,
                family == AF_INET6 ? NFPROTO_IPV6 : NFPROTO_IPV4, 0, attributes);
}

static void add_chain(struct tc_buf *out, int family)
{
    static const char type[] = "nat";
    _autobuf_ struct tc_buf hook = TC_BUF_INIT, attributes = TC_BUF_INIT;
    put_number(&hook, NFTA_HOOK_HOOKNUM, NF_INET_LOCAL_OUT);
    put_number(&hook, NFTA_HOOK_PRIORITY, (uint32_t)PRIORITY_DNAT);
    put_attribute(&attributes, NFTA_CHAIN_TABLE, table, sizeof(table));
    put_attribute(&attributes, NFTA_CHAIN_NAME, chain, sizeof(chain));
    put_all(&attributes, NFTA_CHAIN_HOOK, &hook);
    put_attribute(&attributes, NFTA_CHAIN_TYPE, type, sizeof(type));
    add_message(out, NFT_MSG_NEWCHAIN, 0, family, &attributes);
}

static void add_rule(struct tc_buf *out, int family, unsigned port)
{
    _autobuf_ struct tc_buf rule = TC_BUF_INIT, attributes = TC_BUF_INIT;
    add_is_tcp(&rule);
    add_addresses(&rule, family);
    add_redirect(&rule, port);
    put_attribute(&attributes, NFTA_RULE_TABLE, table, sizeof(table));
    put_attribute(&attributes, NFTA_RULE_CHAIN, chain, sizeof(chain));
    put_all(&attributes, NFTA_RULE_EXPRESSIONS, &rule);
    add_message(out, NFT_MSG_NEWRULE, NLM_F_APPEND | NLM_F_ACK, family, &attributes);
}

void tc_redirect_make(struct tc_buf *out, int family, unsigned port)
{
    static const struct tc_buf none = {0};
    _autobuf_ struct tc_buf name = TC_BUF_INIT;
    put_attribute(&name, NFTA_TABLE_NAME, table, sizeof(table));
    add_request(out, NFNL_MSG_BATCH_BEGIN, 0, AF_UNSPEC, NFNL_SUBSYS_NFTABLES, &none);
    add_message(out, NFT_MSG_NEWTABLE, 0, family, &name);
    add_chain(out, family);
    add_rule(out, family, port);
    add_request(out, NFNL_MSG_BATCH_END, 0, AF_UNSPEC, NFNL_SUBSYS_NFTABLES, &none);
}
