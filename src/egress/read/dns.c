/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "egress/read/dns.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "base/strv.h"

enum {
    HEAD = 12,
    LABEL_MAX = 63,
    WIRE_NAME_MAX = 255,
    CLASS_IN = 1,
    TYPE_OPT = 41,
    EDNS_SIZE = 1232,
};

static uint16_t get16(const unsigned char *at)
{
    return (uint16_t)(at[0] << 8 | at[1]);
}

static void put16(unsigned char *at, unsigned value)
{
    at[0] = (unsigned char)(value >> 8);
    at[1] = (unsigned char)value;
}

/* ---- reading ---- */

static char host_char(unsigned char c, bool *odd)
{
    if (c >= 'A' && c <= 'Z')
        return (char)(c - 'A' + 'a');
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_')
        return (char)c;
    *odd = true;
    return '?';
}

/* The length of the name at offset HEAD; 0: invalid. A question needs no compression. */
static size_t read_name(const unsigned char *bytes, size_t len, struct tc_egress_dns_query *ret)
{
    size_t at = HEAD, out = 0;
    for (;;) {
        if (at >= len)
            return 0;
        size_t label = bytes[at++];
        if (!label)
            break;
        if (label > LABEL_MAX || label > len - at || at - HEAD + label >= WIRE_NAME_MAX)
            return 0;
        if (out)
            ret->name[out++] = '.';
        for (size_t i = 0; i < label; i++)
            ret->name[out++] = host_char(bytes[at + i], &ret->odd);
        at += label;
    }
    ret->name[out] = '\0';
    return at - HEAD;
}

/* After the question only one OPT record of the root may follow. */
static bool read_extra(const unsigned char *at, size_t left, unsigned count,
                       struct tc_egress_dns_query *ret)
{
    enum { OPT_HEAD = 11 };
    if (!count)
        return left == 0;
    if (count > 1 || left < OPT_HEAD || at[0] != 0 || get16(at + 1) != TYPE_OPT)
        return false;
    ret->edns = true;
    return left - OPT_HEAD == get16(at + 9);
}

static bool read_question(const unsigned char *bytes, size_t len, struct tc_egress_dns_query *ret,
                          unsigned *ret_class)
{
    bool counts = get16(bytes + 4) == 1 && !get16(bytes + 6) && !get16(bytes + 8);
    size_t name = counts ? read_name(bytes, len, ret) : 0;
    if (!name || len - HEAD - name < 4)
        return false;
    const unsigned char *behind = bytes + HEAD + name;
    ret->type = get16(behind);
    *ret_class = get16(behind + 2);
    size_t question_len = name + 4;
    if (!read_extra(bytes + HEAD + question_len, len - HEAD - question_len, get16(bytes + 10), ret))
        return false;
    ret->question = bytes + HEAD;
    ret->question_len = question_len;
    return true;
}

enum tc_egress_dns_read tc_egress_dns_read(const unsigned char *bytes, size_t len,
                                           struct tc_egress_dns_query *ret,
                                           enum tc_egress_dns_code *ret_code)
{
    enum { RESPONSE = 0x80, OPCODE = 0x78 };
    unsigned class = 0;
    memset(ret, 0, sizeof(*ret));
    if (len < HEAD || (bytes[2] & RESPONSE))
        return TC_EGRESS_DNS_DROP;
    memcpy(ret->head, bytes, sizeof(ret->head));
    *ret_code = TC_EGRESS_DNS_NOT_DONE;
    if (bytes[2] & OPCODE)
        return TC_EGRESS_DNS_ANSWER;
    *ret_code = TC_EGRESS_DNS_FORMAT;
    if (!read_question(bytes, len, ret, &class))
        return TC_EGRESS_DNS_ANSWER;
    *ret_code = class == CLASS_IN ? TC_EGRESS_DNS_FINE : TC_EGRESS_DNS_REFUSED;
    return class == CLASS_IN ? TC_EGRESS_DNS_QUERY : TC_EGRESS_DNS_ANSWER;
}

/* ---- writing ---- */

void tc_egress_dns_pointer(const char *name, struct tc_egress_dns_record *ret)
{
    size_t out = 0;
    ret->type = TC_EGRESS_DNS_PTR;
    while (*name && out < TC_EGRESS_DNS_NAME_SIZE) {
        size_t label = strcspn(name, ".");
        if (!label || label > LABEL_MAX || out + 1 + label >= TC_EGRESS_DNS_NAME_SIZE)
            break;
        ret->data[out++] = (unsigned char)label;
        memcpy(ret->data + out, name, label);
        out += label;
        name += label + (name[label] == '.');
    }
    ret->data[out++] = 0;
    ret->len = (uint16_t)out;
}

static size_t put_record(unsigned char *at, const struct tc_egress_dns_record *record)
{
    enum { RECORD_HEAD = 12, NAME_OF_QUESTION = 0xc000 | HEAD };
    put16(at, NAME_OF_QUESTION);
    put16(at + 2, record->type);
    put16(at + 4, CLASS_IN);
    put16(at + 6, 0);
    put16(at + 8, TC_EGRESS_DNS_TTL);
    put16(at + 10, record->len);
    memcpy(at + RECORD_HEAD, record->data, record->len);
    return RECORD_HEAD + (size_t)record->len;
}

static size_t put_opt(unsigned char *at)
{
    enum { OPT_HEAD = 11 };
    memset(at, 0, OPT_HEAD);
    put16(at + 1, TYPE_OPT);
    put16(at + 3, EDNS_SIZE);
    return OPT_HEAD;
}

/* A question takes at most 259 bytes. A record with a name may not fit after it: it is then
 * omitted, and the TC bit is set. */
size_t tc_egress_dns_write(const struct tc_egress_dns_query *query, enum tc_egress_dns_code code,
                           const struct tc_egress_dns_record *record,
                           unsigned char out[TC_EGRESS_DNS_MESSAGE_MAX])
{
    enum { RESPONSE = 0x80, TRUNCATED = 0x02, WANTS_RECURSION = 0x01, RECURSION = 0x80, MORE = 23 };
    size_t len = HEAD;
    memset(out, 0, HEAD);
    memcpy(out, query->head, 2);
    out[2] = (unsigned char)(RESPONSE | (query->head[2] & (0x78 | WANTS_RECURSION)));
    out[3] = (unsigned char)(RECURSION | (code & 0xf));
    if (query->question) {
        put16(out + 4, 1);
        memcpy(out + len, query->question, query->question_len);
        len += query->question_len;
    }
    if (record && query->question) {
        if (len + record->len + MORE <= TC_EGRESS_DNS_MESSAGE_MAX) {
            put16(out + 6, 1);
            len += put_record(out + len, record);
        } else {
            out[2] |= TRUNCATED;
        }
    }
    if (query->edns && query->question) {
        put16(out + 10, 1);
        len += put_opt(out + len);
    }
    return len;
}

/* ---- names of addresses ---- */

static const char v4_suffix[] = ".in-addr.arpa", v6_suffix[] = ".ip6.arpa";

bool tc_egress_dns_is_reverse(const char *name)
{
    return tc_endswith(name, v4_suffix) || tc_endswith(name, v6_suffix);
}

static bool reverse_v4(const char *name, struct in_addr *ret)
{
    char text[INET_ADDRSTRLEN];
    unsigned part[4];
    int used = 0;
    if (sscanf(name, "%3u.%3u.%3u.%3u%n", &part[0], &part[1], &part[2], &part[3], &used) != 4 ||
        strcmp(name + used, v4_suffix) != 0)
        return false;
    (void)snprintf(text, sizeof(text), "%u.%u.%u.%u", part[3] % 1000, part[2] % 1000,
                   part[1] % 1000, part[0] % 1000);
    return inet_pton(AF_INET, text, ret) == 1;
}

static bool reverse_v6(const char *name, struct in6_addr *ret)
{
    enum { DIGITS = 32 };
    static const char digits[] = "0123456789abcdef";
    memset(ret, 0, sizeof(*ret));
    for (size_t i = 0; i < DIGITS; i++) {
        const char *digit = name[2 * i] ? strchr(digits, name[2 * i]) : NULL;
        if (!digit || name[2 * i + 1] != '.')
            return false;
        ret->s6_addr[15 - i / 2] |= (unsigned char)((digit - digits) << (i % 2 ? 4 : 0));
    }
    return strcmp(name + 2 * DIGITS - 1, v6_suffix) == 0;
}

int tc_egress_dns_reverse(const char *name, struct in_addr *ret_v4, struct in6_addr *ret_v6)
{
    if (tc_endswith(name, v4_suffix))
        return reverse_v4(name, ret_v4) ? AF_INET : 0;
    return tc_endswith(name, v6_suffix) && reverse_v6(name, ret_v6) ? AF_INET6 : 0;
}
