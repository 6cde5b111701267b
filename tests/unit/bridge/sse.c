/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "bridge/sse.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void take(void *userdata, const char *data, size_t length)
{
    struct tc_buf *out = userdata;
    tc_buf_addc(out, '<');
    tc_buf_add(out, data, length);
    tc_buf_addc(out, '>');
}

/* The messages of a stream that arrives in pieces of `step` bytes; owned. */
static char *read_stream(struct tc_sse *events, const char *text, size_t step)
{
    struct tc_buf out = TC_BUF_INIT;
    for (size_t length = strlen(text); length;) {
        size_t n = step < length ? step : length;
        assert_true(tc_sse_add(events, text, n, take, &out));
        text += n;
        length -= n;
    }
    tc_buf_addc(&out, '.');
    return tc_buf_steal(&out);
}

static void messages_are_read_in_any_pieces(void **state)
{
    static const struct {
        const char *text, *want;
    } rows[] = {
        {"data: a\n\n", "<a>."},
        {"data:a\r\n\r\ndata: b\r\rdata: c\n\n", "<a><b><c>."},
        {"\xef\xbb\xbf"
         "data: a\n\n",
         "<a>."},
        {"data: a\ndata: b\n\n", "<a\nb>."},
        {"data: a\n", "."},
        {"data\ndata\n\n", "<\n>."},
        {"data:\n\n", "."},
        {": data: a\n\nevent: ping\ndata: x\n\nevent: message\ndata: y\n\n", "<y>."},
        {"event: ping\n\ndata: x\n\n", "<x>."},
        {"dat: a\nData: b\n\ndata:  c\n\n", "< c>."},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        for (size_t step = 1; step < 9; step++) {
            struct tc_sse events = {0};
            char *got = read_stream(&events, rows[i].text, step);
            assert_string_equal(got, rows[i].want);
            free(got);
            tc_sse_done(&events);
        }
}

static void ids_that_no_header_carries_are_dropped(void **state)
{
    static const struct {
        const char *text, *want;
    } rows[] = {
        {"id: 7\n", "7"},           {"id: 7\nid\n", ""},    {"id: 7\nid: a b\n", ""},
        {"id: 7\nid: a\x01\n", ""}, {"id: \xc3\xa4\n", ""}, {"id:a:b\n\ndata: x\n\n", "a:b"},
    };
    char large[TC_SSE_ID_SIZE + 8] = "id: ";
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct tc_sse events = {0};
        free(read_stream(&events, rows[i].text, 3));
        assert_string_equal(events.id, rows[i].want);
        tc_sse_done(&events);
    }
    struct tc_sse events = {0};
    memset(large + 4, 'x', TC_SSE_ID_SIZE);
    large[TC_SSE_ID_SIZE + 4] = '\n';
    free(read_stream(&events, large, 3));
    assert_string_equal(events.id, "");
    tc_sse_done(&events);
}

static void retry_has_bounds(void **state)
{
    static const struct {
        const char *text;
        int64_t want;
    } rows[] = {
        {"retry: 2000\n", 2000},
        {"retry: 0\n", TC_SSE_RETRY_MIN_MS},
        {"retry: 99999999999999999999999999\n", TC_SSE_RETRY_MAX_MS},
        {"retry: -1\n", 0},
        {"retry: 1s\n", 0},
        {"retry:\n", 0},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct tc_sse events = {0};
        free(read_stream(&events, rows[i].text, 4));
        assert_int_equal(events.retry_ms, rows[i].want);
        tc_sse_done(&events);
    }
}

static void next_part_keeps_only_the_id(void **state)
{
    struct tc_sse events = {0};
    (void)state;
    free(read_stream(&events, "id: 7\nevent: ping\ndata: half", 5));
    tc_sse_again(&events);
    char *got = read_stream(&events, "data: whole\n\n", 5);
    assert_string_equal(got, "<whole>.");
    assert_string_equal(events.id, "7");
    free(got);
    tc_sse_done(&events);
}

static void events_without_end_are_refused(void **state)
{
    static const char *const pieces[] = {"x", "data: x\n"};
    (void)state;
    for (size_t i = 0; i < COUNT(pieces); i++) {
        struct tc_sse events = {0};
        struct tc_buf out = TC_BUF_INIT, piece = TC_BUF_INIT;
        size_t sent = 0;
        while (piece.len < 65536)
            tc_buf_adds(&piece, pieces[i]);
        while (tc_sse_add(&events, piece.data, piece.len, take, &out) &&
               sent < (size_t)8 * TC_SSE_MAX)
            sent += piece.len;
        assert_in_range(sent, TC_SSE_MAX / 4, 5 * (size_t)TC_SSE_MAX);
        assert_int_equal(out.len, 0);
        tc_buf_done(&piece);
        tc_buf_done(&out);
        tc_sse_done(&events);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_are_read_in_any_pieces),
        cmocka_unit_test(ids_that_no_header_carries_are_dropped),
        cmocka_unit_test(retry_has_bounds),
        cmocka_unit_test(next_part_keeps_only_the_id),
        cmocka_unit_test(events_without_end_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
