/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "test.h"

#include <string.h>

#include "base/cleanup.h"
#include "egress/sniff.h"

static void each_beginning_is_known(void **state)
{
    static const struct {
        const char *text;
        enum tc_sniff what;
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
        {"\x16\x02", TC_SNIFF_OTHER},
        {"\x01\x02", TC_SNIFF_OTHER},
    };
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        if (tc_sniff(rows[i].text, strlen(rows[i].text)) != rows[i].what)
            print_error("row %zu\n", i);
        assert_int_equal(tc_sniff(rows[i].text, strlen(rows[i].text)), rows[i].what);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_beginning_is_known)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
