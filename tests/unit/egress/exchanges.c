/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "test.h"

#include <string.h>

#include "egress/exchanges.h"

static const struct tc_exchange_request wanted = {
    .method = "GET", .host = "a.example", .path = "/v1?a=b", .port = 443};
static const char body[] =
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

static void put_one(struct tc_buf *to)
{
    struct tc_exchange_end end = {.keeps = 1};
    memcpy(end.body, body, sizeof(end.body));
    tc_exchange_put_request(to, 7, &wanted);
    tc_exchange_put(to, TC_EXCHANGE_REPLY, 7, "reply", 5);
    tc_exchange_put(to, TC_EXCHANGE_END, 7, &end, sizeof(end));
    assert_false(to->failed);
}

static void frames_are_read_as_written(void **state)
{
    _autobuf_ struct tc_buf frames = TC_BUF_INIT;
    struct tc_exchange_request request;
    struct tc_exchange_head head;
    struct tc_exchange_end end;
    const char *bytes;
    size_t at = 0;
    put_one(&frames);
    assert_int_equal(tc_exchange_next(frames.data, frames.len, &at, &head, &bytes), 1);
    assert_int_equal(head.number, 7);
    assert_true(tc_exchange_read_request(bytes, head.length, &request));
    assert_string_equal(request.method, wanted.method);
    assert_string_equal(request.host, wanted.host);
    assert_string_equal(request.path, wanted.path);
    assert_int_equal(request.port, wanted.port);
    assert_int_equal(tc_exchange_next(frames.data, frames.len, &at, &head, &bytes), 1);
    assert_memory_equal(bytes, "reply", head.length);
    assert_int_equal(tc_exchange_next(frames.data, frames.len, &at, &head, &bytes), 1);
    assert_true(tc_exchange_read_end(bytes, head.length, &end));
    assert_string_equal(end.body, body);
    assert_int_equal(tc_exchange_next(frames.data, frames.len, &at, &head, &bytes), 0);
}

/* Every prefix, and every change of one byte: it is refused, or its content is within bounds. */
static void damaged_frames_stay_within_bounds(void **state)
{
    _autobuf_ struct tc_buf frames = TC_BUF_INIT;
    put_one(&frames);
    for (size_t i = 0; i < 2 * frames.len; i++) {
        size_t size = i < frames.len ? i : frames.len, at = 0;
        _autofree_ char *copy = malloc(size + 1);
        memcpy(copy, frames.data, size);
        if (i >= frames.len)
            copy[i - frames.len] = (char)(copy[i - frames.len] + 0x81);
        struct tc_exchange_head head;
        struct tc_exchange_request request;
        struct tc_exchange_end end;
        const char *bytes;
        while (tc_exchange_next(copy, size, &at, &head, &bytes) > 0) {
            assert_true(bytes >= copy && bytes + head.length <= copy + size && at <= size);
            (void)tc_exchange_read_request(bytes, head.length, &request);
            (void)tc_exchange_read_end(bytes, head.length, &end);
        }
    }
}

static void malformed_requests_are_refused(void **state)
{
    struct tc_exchange_request request;
    static const struct {
        uint32_t port;
        const char *texts; /* with their NULs */
        size_t length;
    } rows[] = {{0, "GET\0a\0/", 8},      {65536, "GET\0a\0/", 8}, {80, "GET\0a\0/", 7},
                {80, "GET\0a\0/\0x", 10}, {80, "\0a\0/", 5},       {80, "G T\0a\0/", 8},
                {80, "GET\0a\0/\n", 9},   {80, "GET\0a", 6}};
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        char content[32];
        memcpy(content, &rows[i].port, sizeof(rows[i].port));
        memcpy(content + sizeof(rows[i].port), rows[i].texts, rows[i].length);
        assert_false(
            tc_exchange_read_request(content, sizeof(rows[i].port) + rows[i].length, &request));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(frames_are_read_as_written),
                                       cmocka_unit_test(damaged_frames_stay_within_bounds),
                                       cmocka_unit_test(malformed_requests_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
