/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "test.h"

#include <string.h>

#include "base/cleanup.h"
#include "egress/read/socks.h"

static const struct {
    const char *bytes;
    size_t len;
    const char *host;
    unsigned port;
    int code;
} rows[] = {
    {"\5\1\0\3\13A.Example.x\1\xbb", 18, "a.example.x", 443, 0},
    {"\5\1\0\1\x5d\xb8\xd8\x22\0\x50", 10, "93.184.216.34", 80, 0},
    {"\5\1\0\4\x26\6\x47\0\0\0\0\0\0\0\0\0\0\0\0\1\0\x50", 22, "2606:4700::1", 80, 0},
    {"\5\2\0\1\1\2\3\4\0\x50", 10, NULL, 0, TC_EGRESS_SOCKS_NO_COMMAND},
    {"\5\3\0\1\1\2\3\4\0\x50", 10, NULL, 0, TC_EGRESS_SOCKS_NO_COMMAND},
    {"\5\1\0\2\1\2\3\4\0\x50", 10, NULL, 0, TC_EGRESS_SOCKS_NO_ADDRESS},
    {"\5\1\1\1\1\2\3\4\0\x50", 10, NULL, 0, TC_EGRESS_SOCKS_FAILED},
    {"\5\1\0\1\1\2\3\4\0\0", 10, NULL, 0, TC_EGRESS_SOCKS_DENIED},
    {"\5\1\0\3\0\1\xbb", 7, NULL, 0, TC_EGRESS_SOCKS_DENIED},
    {"\5\1\0\3\5"
     "127.1\1\xbb",
     12, NULL, 0, TC_EGRESS_SOCKS_DENIED},
    {"\5\1\0\3\3a\0b\1\xbb", 10, NULL, 0, TC_EGRESS_SOCKS_DENIED},
    {"\5\1\0\3\1*\1\xbb", 8, NULL, 0, TC_EGRESS_SOCKS_DENIED},
};

static void socks_requests_are_parsed(void **state)
{
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        struct tc_egress_host host = {0};
        enum tc_egress_socks_code code = TC_EGRESS_SOCKS_FINE;
        size_t used = 0;
        enum tc_egress_socks got = tc_egress_socks_request((const unsigned char *)rows[i].bytes,
                                                           rows[i].len, &used, &host, &code);
        if (got != (rows[i].host ? TC_EGRESS_SOCKS_DONE : TC_EGRESS_SOCKS_BAD))
            print_error("row %zu: %d\n", i, (int)got);
        assert_int_equal(got, rows[i].host ? TC_EGRESS_SOCKS_DONE : TC_EGRESS_SOCKS_BAD);
        if (!rows[i].host) {
            assert_int_equal(code, rows[i].code);
            continue;
        }
        assert_string_equal(host.name, rows[i].host);
        assert_int_equal(host.port, rows[i].port);
        assert_int_equal(used, rows[i].len);
        for (size_t len = 0; len < rows[i].len; len++)
            assert_int_equal(tc_egress_socks_request((const unsigned char *)rows[i].bytes, len,
                                                     &used, &host, &code),
                             TC_EGRESS_SOCKS_MORE);
    }
}

static void socks_greetings_are_parsed(void **state)
{
    size_t used = 0;
    assert_int_equal(tc_egress_socks_greeting((const unsigned char *)"\5\2\2\0x", 5, &used),
                     TC_EGRESS_SOCKS_DONE);
    assert_int_equal(used, 4);
    assert_int_equal(tc_egress_socks_greeting((const unsigned char *)"\5\2\2", 3, &used),
                     TC_EGRESS_SOCKS_MORE);
    assert_int_equal(tc_egress_socks_greeting((const unsigned char *)"\5\1\2", 3, &used),
                     TC_EGRESS_SOCKS_BAD);
    assert_int_equal(tc_egress_socks_greeting((const unsigned char *)"\5\0", 2, &used),
                     TC_EGRESS_SOCKS_BAD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(socks_requests_are_parsed),
                                       cmocka_unit_test(socks_greetings_are_parsed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
