/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "test.h"

#include <string.h>

#include "base/cleanup.h"
#include "egress/read/sniff.h"

static void protocols_are_detected_by_prefix(void **state)
{
    static const struct {
        const char *text;
        enum tc_egress_sniff what;
    } rows[] = {
        {"", TC_SNIFF_MORE},
        {"G", TC_SNIFF_MORE},
        {"GET", TC_SNIFF_MORE},
        {"GET ", TC_SNIFF_HTTP},
        {"get /", TC_SNIFF_HTTP},
        {"\r\n\r\nGET ", TC_SNIFF_HTTP},
        {"\r\n", TC_SNIFF_MORE},
        {"FOO /x", TC_SNIFF_MORE},
        {"FOO /x HTTP/1.1", TC_SNIFF_HTTP},
        {"PRI * HTTP/2.0\r\n", TC_SNIFF_HTTP},
        {"GET /\x01\r\n", TC_SNIFF_HTTP},
        {"\r\nGET /\xff\x02", TC_SNIFF_HTTP},
        {"FOO\x01 / HTTP/1.1\r\n", TC_SNIFF_OTHER},
        {"EHLO a.example\r\n", TC_SNIFF_OTHER},
        {"SSH-2.0-x\r\n", TC_SNIFF_OTHER},
        {"\x16", TC_SNIFF_MORE},
        {"\x16\x03", TC_SNIFF_TLS},
        {"\x16\x02", TC_SNIFF_TLS},
        {"\x15\x03\x01", TC_SNIFF_TLS}, /* an alert first */
        {"\x15", TC_SNIFF_MORE},
        {"\x16\x20", TC_SNIFF_OTHER},
        {"GET\t/\tHTTP/1.1", TC_SNIFF_HTTP},
        {"\fGET / HTTP/1.1", TC_SNIFF_HTTP},
        {"GET\f/", TC_SNIFF_HTTP},
        {"\x1cGET\xa0/", TC_SNIFF_HTTP},
        {"FOO /\x01\x02", TC_SNIFF_MORE},
        {"FOO /\x01 http/1.1", TC_SNIFF_HTTP},
        {"FOO\t/\tHTTP/1.1", TC_SNIFF_HTTP},
        {"T\x01", TC_SNIFF_OTHER},
        {"*1\r\n$4\r\n", TC_SNIFF_OTHER},
        {"\x01\x02", TC_SNIFF_OTHER},
    };
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        if (tc_egress_sniff(rows[i].text, strlen(rows[i].text)) != rows[i].what)
            print_error("row %zu\n", i);
        assert_int_equal(tc_egress_sniff(rows[i].text, strlen(rows[i].text)), rows[i].what);
    }
}

static void a_line_that_does_not_end_is_refused(void **state)
{
    static char line[TC_SNIFF_LINE_MAX + 2];
    memset(line, 'a', sizeof(line));
    memcpy(line, "FOO /", 5);
    assert_int_equal(tc_egress_sniff(line, sizeof(line) - 2), TC_SNIFF_MORE);
    assert_int_equal(tc_egress_sniff(line, sizeof(line)), TC_SNIFF_UNCLEAR);
    memcpy(line + sizeof(line) - 9, "HTTP/1.1\n", 9);
    assert_int_equal(tc_egress_sniff(line, sizeof(line)), TC_SNIFF_HTTP);
    assert_int_equal(tc_egress_sniff("a request\0 of git", 17), TC_SNIFF_OTHER);
    assert_int_equal(tc_egress_sniff("\0\0\0\x08\x04\xd2\x16\x2f", 8), TC_SNIFF_OTHER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(protocols_are_detected_by_prefix),
                                       cmocka_unit_test(a_line_that_does_not_end_is_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
