/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "test.h"

#include <string.h>

#include "egress/read/reply.h"

#define GET "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
#define OLD "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"
#define HEAD "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n"
#define LAST "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
#define UPGRADE "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"

struct relayed {
    struct tc_egress_reply reply;
    struct tc_buf text; /* what the client gets */
    size_t more;        /* bytes after the response */
};

static void take_bytes(struct relayed *r, struct tc_buf *held, const char *bytes, size_t len)
{
    size_t size;
    tc_buf_add(held, bytes, len);
    while (held->len && r->reply.stage == TC_REPLY_HEAD) {
        if (tc_egress_reply_head(&r->reply, held->data, held->len, true, &r->text, &size) !=
            TC_EGRESS_HTTP_DONE)
            break;
        memmove(held->data, held->data + size, held->len - size);
        held->len -= size;
    }
    if (r->reply.stage == TC_REPLY_HEAD)
        return;
    size_t n = tc_egress_reply_body(&r->reply, held->data, held->len);
    tc_buf_add(&r->text, held->data, n);
    r->more += held->len - n;
    held->len = 0;
}

static struct relayed relay(const char *request, const char *response, bool last, size_t step)
{
    struct tc_egress_http_head head;
    struct relayed r = {.text = TC_BUF_INIT};
    _autobuf_ struct tc_buf held = TC_BUF_INIT;
    size_t len = strlen(response);
    assert_int_equal(tc_egress_http_read(request, strlen(request), &head), TC_EGRESS_HTTP_DONE);
    tc_egress_reply_start(&r.reply, &head, last);
    for (size_t at = 0; at < len; at += step)
        take_bytes(&r, &held, response + at, len - at < step ? len - at : step);
    return r;
}

enum { CLOSES, CLIENT, BOTH }; /* which connections serve another request */

static const struct {
    const char *request, *response;
    bool last;
    int stage, stays;
    size_t more;
} rows[] = {
    {GET, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", false, TC_REPLY_DONE, BOTH, 0},
    {GET, "HTTP/1.1 200\r\nContent-Length: 0\r\n\r\nmore", false, TC_REPLY_DONE, BOTH, 4},
    {GET, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", true, TC_REPLY_DONE, CLIENT, 0},
    {LAST, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", true, TC_REPLY_DONE, CLOSES, 0},
    {GET, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok", false,
     TC_REPLY_DONE, CLOSES, 0},
    {GET, "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", false, TC_REPLY_DONE, CLOSES, 0},
    {OLD, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", false, TC_REPLY_DONE, CLOSES, 0},
    {OLD, "HTTP/1.0 200 OK\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\nok", false,
     TC_REPLY_DONE, BOTH, 0},
    {GET, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nok", false, TC_REPLY_BODY, BOTH, 0},
    {GET, "HTTP/1.1 200 OK\r\n\r\nok", false, TC_REPLY_OPEN, CLOSES, 0},
    {GET, "HTTP/1.1 204 No\r\n\r\n", false, TC_REPLY_DONE, BOTH, 0},
    {GET, "HTTP/1.1 304 No\r\nContent-Length: 5\r\n\r\n", false, TC_REPLY_DONE, BOTH, 0},
    {HEAD, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", false, TC_REPLY_DONE, BOTH, 0},
    {HEAD, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", false, TC_REPLY_DONE, BOTH, 0},
    {GET,
     "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nLink: x\r\n\r\nHTTP/1.1 204 No\r\n\r\n",
     false, TC_REPLY_DONE, BOTH, 0},
    {GET, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;a=b\r\nabc\r\n0\r\nX: y\r\n\r\nx",
     false, TC_REPLY_DONE, BOTH, 1},
    {GET, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", false, TC_REPLY_OPEN,
     CLOSES, 0},
    /* what two parsers may end differently ends with the connection */
    {GET, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\nok", false,
     TC_REPLY_OPEN, CLOSES, 0},
    {GET, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok", false,
     TC_REPLY_OPEN, CLOSES, 0},
    {GET, "HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\n\r\nok", false, TC_REPLY_OPEN, CLOSES, 0},
    {GET, "HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\nok", false, TC_REPLY_OPEN, CLOSES, 0},
    {GET, "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\nok", false, TC_REPLY_OPEN,
     CLOSES, 0},
    {GET, "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nok", false, TC_REPLY_OPEN, CLOSES,
     0},
    {GET, "HTTP/1.1 200 OK\nContent-Length: 2\n\nok", false, TC_REPLY_OPEN, CLOSES, 0},
    {GET, "HTTP/1.1 200 OK\r\nX: y\r\n folded\r\n\r\nok", false, TC_REPLY_OPEN, CLOSES, 0},
    {GET, "ICY 200 OK\r\n\r\nmusic", false, TC_REPLY_OPEN, CLOSES, 0},
    {GET, "HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\nx", false, TC_REPLY_OPEN, CLOSES, 0},
    {UPGRADE, "HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\n\r\nx", true, TC_REPLY_SWITCHED,
     CLOSES, 0},
};

static void responses_end_where_their_framing_says(void **state)
{
    for (size_t i = 0; i < TC_COUNT(rows); i++)
        for (size_t step = 1; step < 200; step += step < 4 ? 1 : 13) {
            struct relayed r = relay(rows[i].request, rows[i].response, rows[i].last, step);
            int stays = r.reply.server_stays ? BOTH : r.reply.client_stays ? CLIENT : CLOSES;
            if (r.reply.stage != (enum tc_egress_reply_stage)rows[i].stage ||
                stays != rows[i].stays || r.more != rows[i].more)
                print_error("row %zu in steps of %zu: %d %d %zu\n", i, step, (int)r.reply.stage,
                            stays, r.more);
            assert_int_equal(r.reply.stage, rows[i].stage);
            assert_int_equal(stays, rows[i].stays);
            assert_int_equal(r.more, rows[i].more);
            tc_buf_done(&r.text);
        }
}

static void becomes(const char *request, const char *response, bool last, const char *text)
{
    struct relayed r = relay(request, response, last, 1000);
    assert_string_equal(r.text.data, text);
    tc_buf_done(&r.text);
}

static void connection_fields_are_rewritten(void **state)
{
    becomes(GET,
            "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive, X-Hop\r\n"
            "Keep-Alive: timeout=5\r\nX-Hop: 1\r\nSet-Cookie:  a \r\n\r\n",
            false,
            "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nKeep-Alive: timeout=5\r\nSet-Cookie:  a \r\n"
            "Connection: keep-alive\r\n\r\n");
    becomes(GET, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", true,
            "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive\r\n\r\n");
    becomes(GET, "HTTP/1.1 200 OK\r\n\r\nall", false,
            "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nall");
    becomes(GET, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No\r\n\r\n", false,
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No\r\nConnection: keep-alive\r\n\r\n");
}

static void early_response_ends_the_connection(void **state)
{
    static const char response[] = "HTTP/1.1 413 Large\r\nContent-Length: 0\r\n\r\n";
    struct tc_egress_http_head head;
    struct tc_egress_reply reply;
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    size_t size;
    assert_int_equal(tc_egress_http_read(GET, strlen(GET), &head), TC_EGRESS_HTTP_DONE);
    tc_egress_reply_start(&reply, &head, false);
    assert_int_equal(
        tc_egress_reply_head(&reply, response, sizeof(response) - 1, false, &text, &size),
        TC_EGRESS_HTTP_DONE);
    assert_false(reply.client_stays);
    assert_non_null(strstr(text.data, "Connection: close\r\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(responses_end_where_their_framing_says),
        cmocka_unit_test(connection_fields_are_rewritten),
        cmocka_unit_test(early_response_ends_the_connection),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
