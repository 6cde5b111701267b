/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "test.h"

#include <string.h>

#include "egress/read/http.h"

/* The bytes of the body among these, taken in steps; -1: it is refused. */
static ssize_t take(enum tc_egress_http_body body, uint64_t length, const char *text, size_t step,
                    bool *ret_done)
{
    struct tc_egress_http_head head = {.body = body, .length = length};
    struct tc_egress_http_rest rest;
    size_t len = strlen(text), used = 0;
    tc_egress_http_rest_start(&rest, &head);
    for (size_t at = 0; at < len; at += step) {
        size_t n = len - at < step ? len - at : step;
        ssize_t got = tc_egress_http_rest_take(&rest, text + at, n);
        if (got < 0)
            return -1;
        used += (size_t)got;
    }
    *ret_done = rest.done;
    return (ssize_t)used;
}

static const struct {
    enum tc_egress_http_body body;
    uint64_t length;
    const char *text;
    ssize_t used;
    bool done;
} rows[] = {
    {TC_EGRESS_HTTP_NO_BODY, 0, "GET / HTTP/1.1", 0, true},
    {TC_EGRESS_HTTP_LENGTH, 3, "abcdef", 3, true},
    {TC_EGRESS_HTTP_LENGTH, 10, "abc", 3, false},
    {TC_EGRESS_HTTP_CHUNKED, 0, "3\r\nabc\r\n0\r\n\r\nGET / HTTP/1.1", 13, true},
    {TC_EGRESS_HTTP_CHUNKED, 0, "0A\r\n0123456789\r\n00\r\n\r\nx", 22, true},
    {TC_EGRESS_HTTP_CHUNKED, 0, "0\r\n\r\n", 5, true},
    {TC_EGRESS_HTTP_CHUNKED, 0, "3\r\na", 4, false},
    {TC_EGRESS_HTTP_CHUNKED, 0, "3;a=b\r\nabc\r\n", -1, false},
    {TC_EGRESS_HTTP_CHUNKED, 0, "3 \r\nabc\r\n", -1, false},
    {TC_EGRESS_HTTP_CHUNKED, 0, "0x3\r\nabc\r\n", -1, false},
    {TC_EGRESS_HTTP_CHUNKED, 0, "+3\r\nabc\r\n", -1, false},
    {TC_EGRESS_HTTP_CHUNKED, 0, "\r\nabc\r\n", -1, false},
    {TC_EGRESS_HTTP_CHUNKED, 0, "3\nabc\r\n", -1, false},
    {TC_EGRESS_HTTP_CHUNKED, 0, "3\rxabc\r\n", -1, false},
    {TC_EGRESS_HTTP_CHUNKED, 0, "3\r\nabcd\r\n", -1, false},
    {TC_EGRESS_HTTP_CHUNKED, 0, "3\r\nabc\n0\r\n\r\n", -1, false},
    {TC_EGRESS_HTTP_CHUNKED, 0, "0\r\nX: y\r\n\r\n", -1, false},
    {TC_EGRESS_HTTP_CHUNKED, 0, "ffffffffffffffff1\r\n", -1, false},
};

static void bodies_end_where_their_framing_says(void **state)
{
    for (size_t i = 0; i < TC_COUNT(rows); i++)
        for (size_t step = 1; step < 30; step++) {
            bool done = false;
            ssize_t used = take(rows[i].body, rows[i].length, rows[i].text, step, &done);
            if (used != rows[i].used || done != rows[i].done)
                print_error("row %zu in steps of %zu: %zd\n", i, step, used);
            assert_int_equal(used, rows[i].used);
            assert_true(used < 0 || done == rows[i].done);
        }
}

/* The pieces of the content together. */
static void read_content(const struct tc_egress_http_head *head, const char *text, size_t step,
                         char *ret, size_t size)
{
    struct tc_egress_http_rest rest;
    struct tc_egress_http_text piece;
    size_t len = strlen(text), used = 0;
    tc_egress_http_rest_start(&rest, head);
    for (size_t i = 0; i < len; i += step) {
        const char *at = text + i, *end = text + (len - i < step ? len : i + step);
        while (tc_egress_http_rest_piece(&rest, &at, end, &piece)) {
            assert_true(used + piece.len < size);
            memcpy(ret + used, piece.at, piece.len);
            used += piece.len;
        }
    }
    ret[used] = '\0';
}

static void content_is_read_without_its_framing(void **state)
{
    const struct tc_egress_http_head none = {.body = TC_EGRESS_HTTP_NO_BODY},
                                     five = {.body = TC_EGRESS_HTTP_LENGTH, .length = 5},
                                     chunked = {.body = TC_EGRESS_HTTP_CHUNKED};
    char content[32];
    for (size_t step = 1; step < 40; step++) {
        read_content(&none, "GET /", step, content, sizeof(content));
        assert_string_equal(content, "");
        read_content(&five, "abcdefg", step, content, sizeof(content));
        assert_string_equal(content, "abcde");
        read_content(&chunked, "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\nGET /", step, content,
                     sizeof(content));
        assert_string_equal(content, "abcde");
        read_content(&chunked, "3\r\nabc\r\nx\r\nde", step, content, sizeof(content));
        assert_string_equal(content, "abc");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(bodies_end_where_their_framing_says),
                                       cmocka_unit_test(content_is_read_without_its_framing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
