/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Each way in which two readers could read one request differently has a row here. */
#include "test.h"

#include <string.h>

#include "egress/read/http.h"

static enum tc_egress_http_read read_text(const char *text, struct tc_egress_http_head *head)
{
    return tc_egress_http_read(text, strlen(text), head);
}

#define ONE "GET http://a.example/ HTTP/1.1\r\n"
#define HOST "Host: a.example\r\n"

static void ambiguous_heads_are_refused(void **state)
{
    static const char *const rows[] = {
        "GET http://a.example/ HTTP/1.1\nHost: a.example\r\n\r\n",
        ONE "Host: a.example\n\r\n",
        ONE "Host: a.example\r\r\n\r\n",
        ONE HOST "X: a\rb\r\n\r\n",
        ONE HOST "X: a\x01\r\n\r\n",
        ONE HOST "X: a\x7f\r\n\r\n",
        ONE HOST " folded: x\r\n\r\n",
        ONE HOST "\tfolded\r\n\r\n",
        ONE HOST "X : a\r\n\r\n",
        ONE HOST "X\r\n\r\n",
        ONE HOST ": a\r\n\r\n",
        ONE HOST "X(y): a\r\n\r\n",
        ONE " Host: a.example\r\n\r\n",
        ONE HOST HOST "\r\n",
        ONE "\r\n",
        ONE "Host: b.example\r\n\r\n",
        ONE "Host: a.example:81\r\n\r\n",
        ONE "Host: \r\n\r\n",
        ONE "Host: u@a.example\r\n\r\n",
        ONE "Host: a.example, b.example\r\n\r\n",
        ONE HOST "Content-Length: 1\r\nContent-Length: 2\r\n\r\n",
        ONE HOST "Content-Length: 1\r\nContent-Length: 1\r\n\r\n",
        ONE HOST "Content-Length: 1, 1\r\n\r\n",
        ONE HOST "Content-Length: +1\r\n\r\n",
        ONE HOST "Content-Length: -1\r\n\r\n",
        ONE HOST "Content-Length: 0x1\r\n\r\n",
        ONE HOST "Content-Length: 1 2\r\n\r\n",
        ONE HOST "Content-Length:\r\n\r\n",
        ONE HOST "Content-Length: 99999999999999999999\r\n\r\n",
        ONE HOST "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        ONE HOST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
        ONE HOST "Transfer-Encoding: gzip, chunked\r\n\r\n",
        ONE HOST "Transfer-Encoding: chunked, identity\r\n\r\n",
        ONE HOST "Transfer-Encoding: xchunked\r\n\r\n",
        ONE HOST "Transfer-Encoding: identity\r\n\r\n",
        ONE HOST "Transfer-Encoding: \x0b"
                 "chunked\r\n\r\n",
        ONE HOST "Connection: content-length\r\n\r\n",
        ONE HOST "Connection: close, Host\r\n\r\n",
        "GET http://a.example/ HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
        "GET /\r\n\r\n",
        "GET / HTTP/2.0\r\nHost: a.example\r\n\r\n",
        "GET / HTTP/1.2\r\nHost: a.example\r\n\r\n",
        "GET / http/1.1\r\nHost: a.example\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\n",
        "\r\nGET / HTTP/1.1\r\nHost: a.example\r\n\r\n",
        "GET  / HTTP/1.1\r\nHost: a.example\r\n\r\n",
        "GET / HTTP/1.1 \r\nHost: a.example\r\n\r\n",
        "GET\t/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
        "G(T / HTTP/1.1\r\nHost: a.example\r\n\r\n",
        "GET /# HTTP/1.1\r\nHost: a.example\r\n\r\n",
        "GET /\xc3\xa4 HTTP/1.1\r\nHost: a.example\r\n\r\n",
        "GET /a\\b HTTP/1.1\r\nHost: a.example\r\n\r\n",
        "GET http:/"
        "/u:p@a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
        "GET http://a.example@b.example/ HTTP/1.1\r\nHost: b.example\r\n\r\n",
        "GET http:///x HTTP/1.1\r\nHost: a.example\r\n\r\n",
        "GET http://a.example:0/ HTTP/1.1\r\nHost: a.example:0\r\n\r\n",
        "GET http://a.example:65536/ HTTP/1.1\r\nHost: a.example:65536\r\n\r\n",
        "GET http://a.example:/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
        "GET http://a.example:080/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
        "GET http://a.example?q HTTP/1.1\r\nHost: a.example\r\n\r\n",
        "GET http://2130706433/ HTTP/1.1\r\nHost: 2130706433\r\n\r\n",
        "GET http:/"
        "/0x7f.1/ HTTP/1.1\r\nHost: 0x7f.1\r\n\r\n",
        "GET http://0177.0.0.1/ HTTP/1.1\r\nHost: 0177.0.0.1\r\n\r\n",
        "GET http:/"
        "/a.example../ HTTP/1.1\r\nHost: a.example..\r\n\r\n",
        "GET http:/"
        "/93.184.216.34./ HTTP/1.1\r\nHost: 93.184.216.34.\r\n\r\n",
        "GET http:/"
        "/[::1]./ HTTP/1.1\r\nHost: [::1].\r\n\r\n",
        "GET http:/"
        "/./ HTTP/1.1\r\nHost: .\r\n\r\n",
        "GET http://*/ HTTP/1.1\r\nHost: *\r\n\r\n",
        "GET http://[::1/ HTTP/1.1\r\nHost: [::1\r\n\r\n",
        "GET http://[fe80::1%25lo]/ HTTP/1.1\r\nHost: [fe80::1%25lo]\r\n\r\n",
        "GET https://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
        "GET ftp://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
        "GET a.example HTTP/1.1\r\nHost: a.example\r\n\r\n",
        "CONNECT a.example HTTP/1.1\r\nHost: a.example\r\n\r\n",
        "CONNECT http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
        "CONNECT u@a.example:443 HTTP/1.1\r\nHost: a.example\r\n\r\n",
        "CONNECT a.example:443 HTTP/1.1\r\nHost: b.example:443\r\n\r\n",
        "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:444\r\n\r\n",
        "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example\r\nContent-Length: 3\r\n\r\n",
        "connect a.example:443 HTTP/1.1\r\nHost: a.example\r\n\r\n",
    };
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        struct tc_egress_http_head head;
        enum tc_egress_http_read got = read_text(rows[i], &head);
        if (got != TC_EGRESS_HTTP_BAD)
            print_error("row %zu: %d: %s\n", i, (int)got, rows[i]);
        assert_int_equal(got, TC_EGRESS_HTTP_BAD);
        assert_non_null(head.why);
    }
    static const char nul[] = ONE HOST "X: a\0b\r\n\r\n";
    struct tc_egress_http_head head;
    assert_int_equal(tc_egress_http_read(nul, sizeof(nul) - 1, &head), TC_EGRESS_HTTP_BAD);
}

static void every_cut_waits_for_more(void **state)
{
    static const char text[] = "POST http:/"
                               "/A.Example:8080/p?q=1 HTTP/1.1\r\nHost: a.example:8080\r\n"
                               "Content-Length: 5\r\nX-One:  two \t\r\n\r\nhello";
    struct tc_egress_http_head head;
    size_t size = sizeof(text) - 1 - 5;
    for (size_t len = 0; len < size; len++)
        assert_int_equal(tc_egress_http_read(text, len, &head), TC_EGRESS_HTTP_MORE);
    for (size_t len = size; len < sizeof(text); len++)
        assert_int_equal(tc_egress_http_read(text, len, &head), TC_EGRESS_HTTP_DONE);
    assert_int_equal(head.size, size);
    assert_int_equal(head.form, TC_EGRESS_HTTP_ABSOLUTE);
    assert_string_equal(head.host.name, "a.example");
    assert_int_equal(head.host.port, 8080);
    assert_int_equal(head.body, TC_EGRESS_HTTP_LENGTH);
    assert_int_equal(head.length, 5);
    assert_memory_equal(head.path.at, "/p?q=1", head.path.len);
    assert_int_equal(head.field_count, 3);
    assert_int_equal(head.fields[2].value.len, 3);
}

static void request_forms_are_parsed(void **state)
{
    struct tc_egress_http_head head;
    assert_int_equal(read_text("CONNECT [2606:4700::1]:443 HTTP/1.1\r\nHost: x\r\n\r\n", &head),
                     TC_EGRESS_HTTP_BAD);
    assert_int_equal(
        read_text("CONNECT [2606:4700::1]:443 HTTP/1.1\r\nHost: [2606:4700:0::1]:443\r\n\r\n",
                  &head),
        TC_EGRESS_HTTP_DONE);
    assert_int_equal(head.form, TC_EGRESS_HTTP_AUTHORITY);
    assert_string_equal(head.host.name, "2606:4700::1");
    assert_int_equal(read_text("GET / HTTP/1.1\r\nhost: b.example:81\r\n\r\n", &head),
                     TC_EGRESS_HTTP_DONE);
    assert_int_equal(head.form, TC_EGRESS_HTTP_ORIGIN);
    assert_int_equal(head.host.port, 81);
    assert_int_equal(read_text("OPTIONS * HTTP/1.1\r\nHost: b.example\r\n\r\n", &head),
                     TC_EGRESS_HTTP_DONE);
    assert_int_equal(head.form, TC_EGRESS_HTTP_ASTERISK);
    assert_int_equal(read_text("GET http://b.example HTTP/1.0\r\n\r\n", &head),
                     TC_EGRESS_HTTP_DONE);
    assert_false(head.one_one);
    assert_memory_equal(head.path.at, "/", 1);
    assert_int_equal(
        read_text(ONE "Host: A.EXAMPLE:80\r\nTransfer-Encoding: Chunked\r\n\r\n", &head),
        TC_EGRESS_HTTP_DONE);
    assert_int_equal(head.body, TC_EGRESS_HTTP_CHUNKED);
    assert_int_equal(read_text("GET http:/"
                               "/a.example./ HTTP/1.1\r\nHost: A.example\r\n\r\n",
                               &head),
                     TC_EGRESS_HTTP_DONE);
    assert_string_equal(head.host.name, "a.example");
}

static bool keeps(const char *text)
{
    struct tc_egress_http_head head;
    assert_int_equal(read_text(text, &head), TC_EGRESS_HTTP_DONE);
    return head.keep;
}

static void client_says_whether_it_goes_on(void **state)
{
    assert_true(keeps(ONE HOST "\r\n"));
    assert_true(keeps(ONE HOST "Connection: keep-alive\r\n\r\n"));
    assert_false(keeps(ONE HOST "Connection: x, Close\r\n\r\n"));
    assert_false(keeps(ONE HOST "Proxy-Connection: close\r\n\r\n"));
    assert_false(keeps("GET http:/"
                       "/a.example/ HTTP/1.0\r\n\r\n"));
    assert_true(keeps("GET http:/"
                      "/a.example/ HTTP/1.0\r\nProxy-Connection: Keep-Alive\r\n\r\n"));
    assert_false(keeps("GET http:/"
                       "/a.example/ HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n"));
}

static void forwards(const char *from, const char *to)
{
    struct tc_egress_http_head head, again;
    _autobuf_ struct tc_buf out = TC_BUF_INIT;
    assert_int_equal(read_text(from, &head), TC_EGRESS_HTTP_DONE);
    tc_egress_http_forward(&head, NULL, 0, true, &out);
    assert_string_equal(out.data, to);
    assert_int_equal(read_text(out.data, &again), TC_EGRESS_HTTP_DONE);
}

static void hop_by_hop_headers_are_removed(void **state)
{
    forwards("GET http://a.example/x?y HTTP/1.1\r\nHost: a.example\r\nProxy-Authorization: b\r\n"
             "Connection: keep-alive, X-Hop\r\nKeep-Alive: 5\r\nX-Hop: 1\r\nTE: trailers\r\n"
             "Upgrade: h2c\r\nProxy-Connection: x\r\nAccept:  */* \r\nTrailer: z\r\n\r\n",
             "GET /x?y HTTP/1.1\r\nHost: a.example\r\nAccept: */*\r\n"
             "Connection: close\r\n\r\n");
    forwards("GET http://a.example:8080 HTTP/1.1\r\nHost: a.example:8080\r\n"
             "Connection: Upgrade\r\nUpgrade: WebSocket\r\nSec-WebSocket-Key: k\r\n\r\n",
             "GET / HTTP/1.1\r\nHost: a.example:8080\r\nSec-WebSocket-Key: k\r\n"
             "Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n");
    /* one that has a body becomes none */
    forwards("POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\nContent-Length: 1\r\n"
             "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
             "POST / HTTP/1.1\r\nHost: a.example\r\nContent-Length: 1\r\n"
             "Connection: close\r\n\r\n");
    forwards("GET http://[2606:4700::1]/ HTTP/1.1\r\nHost: [2606:4700::1]\r\n\r\n",
             "GET / HTTP/1.1\r\nHost: [2606:4700::1]\r\nConnection: close\r\n\r\n");
}

static void oversized_heads_are_refused(void **state)
{
    struct tc_egress_http_head head;
    _autobuf_ struct tc_buf many = TC_BUF_INIT, large = TC_BUF_INIT;
    tc_buf_adds(&many, ONE HOST);
    for (int i = 0; i < TC_EGRESS_HTTP_FIELDS_MAX - 1; i++)
        tc_buf_adds(&many, "X: y\r\n");
    tc_buf_adds(&many, "\r\n");
    assert_int_equal(tc_egress_http_read(many.data, many.len, &head), TC_EGRESS_HTTP_DONE);
    many.len -= 2;
    tc_buf_adds(&many, "X: y\r\n\r\n");
    assert_int_equal(tc_egress_http_read(many.data, many.len, &head), TC_EGRESS_HTTP_BAD);
    tc_buf_adds(&large, ONE HOST "X: ");
    while (large.len < TC_EGRESS_HTTP_HEAD_MAX - 1)
        tc_buf_addc(&large, 'x');
    assert_int_equal(tc_egress_http_read(large.data, large.len, &head), TC_EGRESS_HTTP_MORE);
    tc_buf_addc(&large, 'x');
    assert_int_equal(tc_egress_http_read(large.data, large.len, &head), TC_EGRESS_HTTP_BAD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ambiguous_heads_are_refused),
        cmocka_unit_test(every_cut_waits_for_more),
        cmocka_unit_test(request_forms_are_parsed),
        cmocka_unit_test(client_says_whether_it_goes_on),
        cmocka_unit_test(hop_by_hop_headers_are_removed),
        cmocka_unit_test(oversized_heads_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
