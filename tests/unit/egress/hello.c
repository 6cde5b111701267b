/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "test.h"

#include <string.h>

#include "base/buf.h"
#include "egress/read/sniff.h"

static void add16(struct tc_buf *to, size_t value)
{
    tc_buf_addc(to, (char)(value >> 8));
    tc_buf_addc(to, (char)value);
}

static void add_name(struct tc_buf *to, const char *name, int names)
{
    size_t len = strlen(name);
    add16(to, 0);
    add16(to, 2 + (size_t)names * (len + 3));
    add16(to, (size_t)names * (len + 3));
    for (int i = 0; i < names; i++) {
        tc_buf_addc(to, 0);
        add16(to, len);
        tc_buf_adds(to, name);
    }
}

/* A message with these extensions, in records of so many bytes. */
static void make(struct tc_buf *to, const struct tc_buf *extensions, size_t record)
{
    _autobuf_ struct tc_buf m = TC_BUF_INIT;
    static const char head[] = "\x03\x03"
                               "0123456789abcdef0123456789abcdef"
                               "\0"
                               "\0\x02\x13\x01"
                               "\x01";
    size_t body = sizeof(head) - 1 + 1 + 2 + extensions->len;
    tc_buf_addc(&m, 1);
    tc_buf_addc(&m, 0);
    add16(&m, body);
    tc_buf_add(&m, head, sizeof(head) - 1);
    tc_buf_addc(&m, 0);
    add16(&m, extensions->len);
    tc_buf_add(&m, extensions->data, extensions->len);
    for (size_t at = 0; at < m.len; at += record) {
        size_t n = m.len - at < record ? m.len - at : record;
        tc_buf_add(to, "\x16\x03\x01", 3);
        add16(to, n);
        tc_buf_add(to, m.data + at, n);
    }
}

static enum tc_egress_hello read_buf(const struct tc_buf *bytes, struct tc_egress_host *host)
{
    return tc_egress_hello_read((const unsigned char *)bytes->data, bytes->len, host);
}

static void the_name_is_found_whatever_the_records(void **state)
{
    static const size_t records[] = {1, 2, 7, 60, 16384};
    for (size_t i = 0; i < TC_COUNT(records); i++) {
        _autobuf_ struct tc_buf extensions = TC_BUF_INIT, bytes = TC_BUF_INIT;
        struct tc_egress_host host;
        add16(&extensions, 0xfe0d); /* noise of a browser */
        add16(&extensions, 3);
        tc_buf_add(&extensions, "abc", 3);
        add_name(&extensions, "API.Example.com", 1);
        make(&bytes, &extensions, records[i]);
        for (size_t len = 0; len < bytes.len; len++)
            assert_int_equal(tc_egress_hello_read((unsigned char *)bytes.data, len, &host),
                             TC_HELLO_MORE);
        assert_int_equal(read_buf(&bytes, &host), TC_HELLO_DONE);
        assert_string_equal(host.name, "api.example.com");
    }
}

static void hello_without_a_name_has_none(void **state)
{
    _autobuf_ struct tc_buf extensions = TC_BUF_INIT, bytes = TC_BUF_INIT;
    struct tc_egress_host host;
    add16(&extensions, 10);
    add16(&extensions, 0);
    make(&bytes, &extensions, 16384);
    assert_int_equal(read_buf(&bytes, &host), TC_HELLO_DONE);
    assert_string_equal(host.name, "");
}

static void refused(const struct tc_buf *extensions)
{
    _autobuf_ struct tc_buf bytes = TC_BUF_INIT;
    struct tc_egress_host host;
    make(&bytes, extensions, 16384);
    assert_int_equal(read_buf(&bytes, &host), TC_HELLO_UNCLEAR);
}

static void ambiguous_names_are_refused(void **state)
{
    static const char *const names[] = {"", "a b", "a.example.", "*", "a\xff", "..", "127.1", "-a"};
    for (size_t i = 0; i < TC_COUNT(names); i++) {
        _autobuf_ struct tc_buf extensions = TC_BUF_INIT;
        add_name(&extensions, names[i], 1);
        refused(&extensions);
    }
    _autobuf_ struct tc_buf two = TC_BUF_INIT, twice = TC_BUF_INIT, none = TC_BUF_INIT,
                            cut = TC_BUF_INIT;
    add_name(&two, "a.example", 2);
    refused(&two);
    add_name(&twice, "a.example", 1);
    add_name(&twice, "b.example", 1);
    refused(&twice);
    add_name(&none, "a.example", 0);
    refused(&none);
    add_name(&cut, "a.example", 1);
    cut.len--;
    refused(&cut);
}

static void other_records_are_refused(void **state)
{
    static const struct {
        const char *bytes;
        size_t len;
    } rows[] = {{"\x15\x03\x01\0\x02", 5},         {"\x16\x02\x01\0\x02", 5},
                {"\x16\x03\x01\0\0", 5},           {"\x16\x03\x01\xff\xff", 5},
                {"\x16\x03\x09\0\x05", 5},         {"\x16\x03\x01\0\x05\x02", 6},
                {"\x16\x03\x01\0\x01\x01\x17", 7}, {"\x16\x03\x01\0\x05\x01\xff\xff\xff", 9}};
    struct tc_egress_host host;
    for (size_t i = 0; i < TC_COUNT(rows); i++)
        assert_int_equal(
            tc_egress_hello_read((const unsigned char *)rows[i].bytes, rows[i].len, &host),
            TC_HELLO_UNCLEAR);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_name_is_found_whatever_the_records),
        cmocka_unit_test(hello_without_a_name_has_none),
        cmocka_unit_test(ambiguous_names_are_refused),
        cmocka_unit_test(other_records_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
