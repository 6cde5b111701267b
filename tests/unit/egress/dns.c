/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "test.h"

#include <arpa/inet.h>
#include <string.h>

#include "base/cleanup.h"
#include "egress/read/dns.h"

#define HEAD "\x12\x34\x01\0\0\1\0\0\0\0\0\0"
#define NAME "\3WWW\7example\0"
#define QUESTION HEAD NAME "\0\1\0\1"

static enum tc_egress_dns_read read_bytes(const char *bytes, size_t len,
                                          struct tc_egress_dns_query *q,
                                          enum tc_egress_dns_code *code)
{
    return tc_egress_dns_read((const unsigned char *)bytes, len, q, code);
}

#define READ(text) read_bytes(text, sizeof(text) - 1, &q, &code)

static void a_question_is_read(void **state)
{
    struct tc_egress_dns_query q;
    enum tc_egress_dns_code code;
    assert_int_equal(READ(QUESTION), TC_EGRESS_DNS_QUERY);
    assert_string_equal(q.name, "www.example");
    assert_int_equal(q.type, TC_EGRESS_DNS_A);
    assert_false(q.edns || q.odd);
    assert_int_equal(READ("\0\0\1\0\0\1\0\0\0\0\0\1\1a\0\0\x1c\0\1\0\0\x29\4\xd0\0\0\0\0\0\0"),
                     TC_EGRESS_DNS_QUERY);
    assert_true(q.edns);
    assert_int_equal(q.type, TC_EGRESS_DNS_AAAA);
    assert_int_equal(READ(HEAD "\3a.b\0\0\1\0\1"), TC_EGRESS_DNS_QUERY);
    assert_true(q.odd);
    assert_int_equal(READ(HEAD "\0\0\1\0\1"), TC_EGRESS_DNS_QUERY);
    assert_string_equal(q.name, "");
}

static void malformed_queries_get_an_error(void **state)
{
    struct tc_egress_dns_query q;
    enum tc_egress_dns_code code;
    static const char text[] = QUESTION;
    for (size_t len = 0; len < 12; len++)
        assert_int_equal(read_bytes(text, len, &q, &code), TC_EGRESS_DNS_DROP);
    for (size_t len = 12; len < sizeof(text) - 1; len++) {
        assert_int_equal(read_bytes(text, len, &q, &code), TC_EGRESS_DNS_ANSWER);
        assert_int_equal(code, TC_EGRESS_DNS_FORMAT);
        assert_null(q.question);
    }
    assert_int_equal(READ(QUESTION "x"), TC_EGRESS_DNS_ANSWER);
    assert_int_equal(READ("\0\0\x81\0\0\1\0\0\0\0\0\0" NAME "\0\1\0\1"), TC_EGRESS_DNS_DROP);
    assert_int_equal(READ("\0\0\x28\0\0\1\0\0\0\0\0\0" NAME "\0\1\0\1"), TC_EGRESS_DNS_ANSWER);
    assert_int_equal(code, TC_EGRESS_DNS_NOT_DONE);
    assert_int_equal(READ("\0\0\1\0\0\2\0\0\0\0\0\0" NAME "\0\1\0\1" NAME "\0\1\0\1"),
                     TC_EGRESS_DNS_ANSWER);
    assert_int_equal(READ(HEAD "\xc0\x0c\0\1\0\1"), TC_EGRESS_DNS_ANSWER);
    assert_int_equal(READ(HEAD NAME "\0\1\0\3"), TC_EGRESS_DNS_ANSWER);
    assert_int_equal(code, TC_EGRESS_DNS_REFUSED);
}

static void answers_have_their_form(void **state)
{
    struct tc_egress_dns_query q;
    enum tc_egress_dns_code code;
    unsigned char out[TC_EGRESS_DNS_MESSAGE_MAX];
    const struct tc_egress_dns_record record = {
        .type = TC_EGRESS_DNS_A, .len = 4, .data = {198, 18, 0, 2}};
    static const char wanted[] = "\x12\x34\x81\x80\0\1\0\1\0\0\0\0" NAME "\0\1\0\1"
                                 "\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\xc6\x12\0\2";
    assert_int_equal(READ(QUESTION), TC_EGRESS_DNS_QUERY);
    assert_int_equal(tc_egress_dns_write(&q, TC_EGRESS_DNS_FINE, &record, out), sizeof(wanted) - 1);
    assert_memory_equal(out, wanted, sizeof(wanted) - 1);
    assert_int_equal(tc_egress_dns_write(&q, TC_EGRESS_DNS_NO_NAME, NULL, out),
                     sizeof(QUESTION) - 1);
    assert_int_equal(out[3], 0x83);
    assert_int_equal(out[7], 0);
}

static void names_of_addresses(void **state)
{
    struct in_addr v4;
    struct in6_addr v6, same;
    assert_int_equal(tc_egress_dns_reverse("2.0.18.198.in-addr.arpa", &v4, &v6), AF_INET);
    assert_int_equal(ntohl(v4.s_addr), 0xc6120002);
    assert_int_equal(tc_egress_dns_reverse("999.0.18.198.in-addr.arpa", &v4, &v6), 0);
    assert_int_equal(tc_egress_dns_reverse("18.198.in-addr.arpa", &v4, &v6), 0);
    assert_int_equal(
        tc_egress_dns_reverse("3.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.2.0.0.0.1.0.0."
                              "2.ip6.arpa",
                              &v4, &v6),
        AF_INET6);
    assert_int_equal(inet_pton(AF_INET6, "2001:2::3", &same), 1);
    assert_memory_equal(&same, &v6, sizeof(v6));
    assert_int_equal(tc_egress_dns_reverse("x.ip6.arpa", &v4, &v6), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_question_is_read),
        cmocka_unit_test(malformed_queries_get_an_error),
        cmocka_unit_test(answers_have_their_form),
        cmocka_unit_test(names_of_addresses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
