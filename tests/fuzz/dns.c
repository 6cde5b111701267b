/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Reaches src/egress/read/dns.c. Input: a datagram. Every answer is whole, within its bounds, and
 * repeats the question. */
#include "fuzz.h"

#include <string.h>

#include "egress/read/dns.h"

static void must_answer(const struct tc_egress_dns_query *query, enum tc_egress_dns_code code,
                        const struct tc_egress_dns_record *record)
{
    unsigned char out[TC_EGRESS_DNS_MESSAGE_MAX];
    size_t len = tc_egress_dns_write(query, code, record, out);
    INVARIANT(len >= 12 && len <= TC_EGRESS_DNS_MESSAGE_MAX);
    INVARIANT((out[2] & 0x80) && (out[3] & 15) == code && memcmp(out, query->head, 2) == 0);
    INVARIANT(!query->question || memcmp(out + 12, query->question, query->question_len) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tc_egress_dns_query query;
    enum tc_egress_dns_code code;
    struct tc_egress_dns_record record = {.type = TC_EGRESS_DNS_AAAA, .len = 16};
    struct in_addr v4;
    struct in6_addr v6;
    enum tc_egress_dns_read got = tc_egress_dns_read(data, size, &query, &code);
    if (got == TC_EGRESS_DNS_DROP)
        return 0;
    must_answer(&query, code, NULL);
    if (got == TC_EGRESS_DNS_ANSWER)
        return 0;
    INVARIANT(query.question && strlen(query.name) < sizeof(query.name));
    must_answer(&query, TC_EGRESS_DNS_FINE, &record);
    (void)tc_egress_dns_reverse(query.name, &v4, &v6);
    tc_egress_dns_pointer(query.name, &record);
    INVARIANT(record.len <= sizeof(record.data));
    must_answer(&query, TC_EGRESS_DNS_FINE, &record);
    return 0;
}
