/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The codec's GET side reads what another process wrote: every hostile length has a row here, and
 * every cut of a good message must fail without a leak (the sanitizer build watches). */
#include "test.h"

#include "base/wire.h"

#include <string.h>

struct row {
    int64_t number;
    char *text;
};

struct sample {
    int64_t big;
    bool flag;
    uint8_t small;
    char *text, *none, *bytes;
    size_t bytes_len;
    struct tc_strv list;
    struct row *rows;
    size_t row_count;
};

enum { ROWS_MAX = 8 };

static void visit_row(struct tc_wire *w, struct row *row)
{
    tc_wire_i64(w, &row->number);
    tc_wire_str(w, &row->text);
}

static void visit(struct tc_wire *w, struct sample *s)
{
    tc_wire_i64(w, &s->big);
    TC_WIRE_INT(w, s->flag);
    TC_WIRE_INT(w, s->small);
    tc_wire_str(w, &s->text);
    tc_wire_str(w, &s->none);
    tc_wire_bytes(w, &s->bytes, &s->bytes_len);
    tc_wire_strv(w, &s->list);
    TC_WIRE_EACH(w, s->rows, s->row_count, ROWS_MAX, visit_row);
}

static void sample_done(struct sample *s)
{
    free(s->text);
    free(s->none);
    free(s->bytes);
    tc_strv_done(&s->list);
    for (size_t i = 0; i < s->row_count; i++)
        free(s->rows[i].text);
    free(s->rows);
}
#define _autosample_ _auto_(sample_done)

static void put_sample(struct tc_wire *w)
{
    struct row rows[] = {{-1, (char *)"first"}, {2, NULL}};
    struct sample s = {.big = INT64_MIN,
                       .flag = true,
                       .small = 255,
                       .text = (char *)"",
                       .bytes = (char *)"a\0b",
                       .bytes_len = 3,
                       .rows = rows,
                       .row_count = 2};
    assert_true(tc_strv_add(&s.list, "x"));
    assert_true(tc_strv_add(&s.list, ""));
    visit(w, &s);
    assert_false(w->failed);
    tc_strv_done(&s.list);
}

static void round_trip(void **state)
{
    struct tc_wire put = TC_WIRE_PUT_INIT;
    put_sample(&put);
    struct tc_wire get = TC_WIRE_GET_INIT(put.out.data, put.out.len);
    _autosample_ struct sample s = {0};
    visit(&get, &s);
    assert_false(get.failed);
    assert_int_equal(get.left, 0);
    assert_true(s.big == INT64_MIN && s.flag && s.small == 255);
    assert_string_equal(s.text, "");
    assert_null(s.none);
    assert_int_equal(s.bytes_len, 3);
    assert_memory_equal(s.bytes, "a\0b", 4);
    assert_int_equal(s.list.count, 2);
    assert_string_equal(s.list.items[0], "x");
    assert_int_equal(s.row_count, 2);
    assert_string_equal(s.rows[0].text, "first");
    assert_null(s.rows[1].text);
    tc_buf_done(&put.out);
}

static void every_cut_fails(void **state)
{
    struct tc_wire put = TC_WIRE_PUT_INIT;
    put_sample(&put);
    for (size_t len = 0; len < put.out.len; len++) {
        /* an exact copy, so that the sanitizer sees a read past the end */
        char *cut = malloc(len ? len : 1);
        assert_non_null(cut);
        memcpy(cut, put.out.data, len);
        struct tc_wire get = TC_WIRE_GET_INIT(cut, len);
        _autosample_ struct sample s = {0};
        visit(&get, &s);
        assert_true(get.failed);
        free(cut);
    }
    tc_buf_done(&put.out);
}

/* Any single byte may be anything: decoding must end, in success or failure, and free what it took.
 */
static void every_flipped_byte_is_survived(void **state)
{
    struct tc_wire put = TC_WIRE_PUT_INIT;
    put_sample(&put);
    size_t failures = 0;
    for (size_t at = 0; at < put.out.len; at++) {
        char kept = put.out.data[at];
        for (int flip = 1; flip < 256; flip <<= 1) {
            put.out.data[at] = (char)(kept ^ flip);
            struct tc_wire get = TC_WIRE_GET_INIT(put.out.data, put.out.len);
            _autosample_ struct sample s = {0};
            visit(&get, &s);
            failures += get.failed;
        }
        put.out.data[at] = kept;
    }
    assert_true(failures > 0);
    tc_buf_done(&put.out);
}

/* A message of numbers and raw bytes, as a hostile peer would write it. */
struct hostile {
    const char *what;
    int64_t numbers[3];
    size_t number_count;
    const char *bytes;
    size_t byte_count;
};

static void put_hostile(struct tc_buf *buf, const struct hostile *h)
{
    for (size_t i = 0; i < h->number_count; i++)
        tc_buf_add(buf, &h->numbers[i], sizeof(h->numbers[i]));
    if (h->byte_count)
        tc_buf_add(buf, h->bytes, h->byte_count);
}

static void hostile_texts_fail(void **state)
{
    static const struct hostile rows[] = {
        {"longer than the message", {5}, 1, "abcd", 4},
        {"largest length", {INT64_MAX}, 1, "abcd", 4},
        {"negative length of no text", {-2}, 1, NULL, 0},
        {"length that wraps with its NUL", {-1 & INT64_MAX}, 1, NULL, 0},
        {"a NUL inside", {3}, 1, "a\0b", 3},
        {"half a length", {0}, 0, "\x01\x00\x00", 3},
    };
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        _autobuf_ struct tc_buf buf = TC_BUF_INIT;
        put_hostile(&buf, &rows[i]);
        struct tc_wire get = TC_WIRE_GET_INIT(buf.data, buf.len);
        _autofree_ char *text = NULL;
        tc_wire_str(&get, &text);
        if (!get.failed)
            fail_msg("accepted: %s", rows[i].what);
    }
}

static void hostile_lists_fail(void **state)
{
    static const struct hostile rows[] = {
        {"negative count", {-1}, 1, NULL, 0},
        {"count without elements", {INT64_MAX}, 1, NULL, 0},
        {"element without text", {1, -1}, 2, NULL, 0},
        {"second element missing", {2, 0}, 2, NULL, 0},
    };
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        _autobuf_ struct tc_buf buf = TC_BUF_INIT;
        put_hostile(&buf, &rows[i]);
        struct tc_wire get = TC_WIRE_GET_INIT(buf.data, buf.len);
        _autostrv_ struct tc_strv v = {0};
        tc_wire_strv(&get, &v);
        if (!get.failed)
            fail_msg("accepted: %s", rows[i].what);
    }
}

static void hostile_arrays_fail(void **state)
{
    static const struct hostile rows[] = {
        {"negative count", {-1}, 1, "0123456789", 10},
        {"more than allowed", {ROWS_MAX + 1}, 1, "0123456789012345", 16},
        {"more than there are bytes", {ROWS_MAX}, 1, "1", 1},
        {"count that overflows the size", {INT64_MAX / 8}, 1, "0123456789", 10},
    };
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        _autobuf_ struct tc_buf buf = TC_BUF_INIT;
        put_hostile(&buf, &rows[i]);
        struct tc_wire get = TC_WIRE_GET_INIT(buf.data, buf.len);
        void *items = NULL;
        size_t count = 0;
        tc_wire_array(&get, &items, &count, sizeof(struct row), ROWS_MAX);
        if (!get.failed || items || count)
            fail_msg("accepted: %s", rows[i].what);
    }
}

static void numbers_must_fit(void **state)
{
    static const struct {
        int64_t value;
        bool fits_bool, fits_u8;
    } rows[] = {{0, true, true},          {1, true, true},     {2, false, true},
                {255, false, true},       {256, false, false}, {-1, false, false},
                {INT64_MIN, false, false}};
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        int64_t value = rows[i].value;
        struct tc_wire one = TC_WIRE_GET_INIT((const char *)&value, sizeof(value)), two = one;
        bool flag = false;
        uint8_t small = 0;
        TC_WIRE_INT(&one, flag);
        TC_WIRE_INT(&two, small);
        assert_int_equal(!one.failed, rows[i].fits_bool);
        assert_int_equal(!two.failed, rows[i].fits_u8);
    }
}

static void failure_is_sticky(void **state)
{
    int64_t value = 7, more = 9;
    struct tc_wire get = TC_WIRE_GET_INIT((const char *)&value, sizeof(value));
    get.failed = true;
    tc_wire_i64(&get, &more);
    assert_int_equal(more, 9);
    assert_int_equal(get.left, sizeof(value));
}

static void a_full_buffer_fails_the_put(void **state)
{
    struct tc_wire put = {.mode = TC_WIRE_PUT, .out = {.max = 12}};
    int64_t value = 1;
    tc_wire_i64(&put, &value);
    assert_false(put.failed);
    tc_wire_i64(&put, &value);
    assert_true(put.failed);
    tc_buf_done(&put.out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trip),
        cmocka_unit_test(every_cut_fails),
        cmocka_unit_test(every_flipped_byte_is_survived),
        cmocka_unit_test(hostile_texts_fail),
        cmocka_unit_test(hostile_lists_fail),
        cmocka_unit_test(hostile_arrays_fail),
        cmocka_unit_test(numbers_must_fit),
        cmocka_unit_test(failure_is_sticky),
        cmocka_unit_test(a_full_buffer_fails_the_put),
    };
    return cmocka_run_group_tests_name("base/wire", tests, NULL, NULL);
}
