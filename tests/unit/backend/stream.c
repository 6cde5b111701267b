/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * One output stream against a model that keeps everything and cuts at the end. */
#include "plan/stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

static char pattern(size_t i)
{
    return (char)('!' + i % 89);
}

/* What a limit leaves of `total` bytes; owned. */
static char *model(size_t limit, size_t total, size_t *ret_len)
{
    size_t tail = limit / 2, head = limit - tail;
    char *text = malloc(total + 128);
    *ret_len = 0;
    assert_non_null(text);
    for (size_t i = 0; i < total && (total <= limit || i < head); i++)
        text[(*ret_len)++] = pattern(i);
    if (total <= limit)
        return text;
    *ret_len +=
        (size_t)snprintf(text + *ret_len, 128, "\n[... %zu bytes left out ...]\n", total - limit);
    for (size_t i = total - tail; i < total; i++)
        text[(*ret_len)++] = pattern(i);
    return text;
}

static void feed(struct tc_output *o, size_t total, size_t chunk)
{
    char *bytes = malloc(total + 1);
    assert_non_null(bytes);
    for (size_t i = 0; i < total; i++)
        bytes[i] = pattern(i);
    for (size_t at = 0; at < total; at += chunk)
        tc_output_add(o, bytes + at, chunk < total - at ? chunk : total - at);
    free(bytes);
}

static void compare(size_t limit, size_t total, size_t chunk)
{
    struct tc_output o = {.limit = limit};
    struct tc_stream got = {0};
    size_t len;
    char *want = model(limit, total, &len);
    feed(&o, total, chunk);
    assert_int_equal(tc_output_over(&o), total > limit);
    tc_output_finish(&o, 0, &got);
    if (got.bytes != (int64_t)total || got.truncated != (total > limit) || got.head_len != len ||
        !got.head || memcmp(got.head, want, len) != 0)
        fail_msg("limit %zu, %zu bytes by %zu: \"%.*s\" in place of \"%.*s\", %lld bytes, cut %d",
                 limit, total, chunk, (int)got.head_len, got.head ? got.head : "", (int)len, want,
                 (long long)got.bytes, got.truncated);
    free(got.head);
    free(want);
    tc_output_done(&o);
}

static void small_outputs_are_cut_at_every_boundary(void **state)
{
    for (size_t limit = 0; limit < 10; limit++)
        for (size_t total = 0; total < 4 * limit + 4; total++)
            for (size_t chunk = 1; chunk <= total + 1; chunk++)
                compare(limit, total, chunk);
}

static void large_outputs_are_cut_at_their_limits(void **state)
{
    static const size_t limits[] = {4095, 4096, 4097, 8192, 65536, 65537, 1000003};
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
        for (int off = -1; off <= 1; off++) {
            compare(limits[i], limits[i] + (size_t)off, 4096);
            compare(limits[i], limits[i] / 2 + (size_t)(off + 1), 777);
            compare(limits[i], 3 * limits[i] + (size_t)(off + 1), 65536);
        }
}

static void one_add_larger_than_everything(void **state)
{
    compare(1024, 5 << 20, 5 << 20);
}

static void delivered_bytes_are_cut_from_the_result(void **state)
{
    struct tc_output o = {.limit = 10};
    struct tc_stream got = {0};
    feed(&o, 30, 7);
    assert_int_equal(o.head_len, 5);
    tc_output_finish(&o, o.head_len, &got);
    assert_int_equal(got.bytes, 30);
    assert_true(got.truncated);
    assert_memory_equal(got.head, "\n[... 20 bytes left out ...]\n", 29);
    assert_int_equal(got.head_len, 29 + 5);
    assert_int_equal(got.head[29], pattern(25));
    free(got.head);
    tc_output_done(&o);
}

static void binary_bytes_pass(void **state)
{
    struct tc_output o = {.limit = 8};
    struct tc_stream got = {0};
    tc_output_add(&o, "\0\xff\0\n", 4);
    tc_output_finish(&o, 0, &got);
    assert_int_equal(got.head_len, 4);
    assert_memory_equal(got.head, "\0\xff\0\n", 4);
    assert_false(got.truncated);
    free(got.head);
    tc_output_done(&o);
}

/* Where all is wanted nothing is cut, and what was delivered is gone. */
static void queue_drops_delivered_bytes_only(void **state)
{
    struct tc_output o = {.limit = 10, .all = true};
    struct tc_stream got = {0};
    tc_output_add(&o, "0123456789", 10);
    tc_output_add(&o, "abcdefghij", 10);
    assert_int_equal(o.head_len, 20);
    tc_output_drop(&o, 13);
    assert_int_equal(o.head_len, 7);
    assert_memory_equal(o.head, "defghij", 7);
    tc_output_drop(&o, 0);
    assert_true(tc_output_over(&o));
    tc_output_finish(&o, 0, &got);
    assert_int_equal(got.bytes, 20);
    assert_false(got.truncated);
    assert_int_equal(got.head_len, 7);
    assert_memory_equal(got.head, "defghij", 7);
    free(got.head);
    tc_output_drop(&o, 7);
    assert_int_equal(o.head_len, 0);
    tc_output_done(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_outputs_are_cut_at_every_boundary),
        cmocka_unit_test(large_outputs_are_cut_at_their_limits),
        cmocka_unit_test(one_add_larger_than_everything),
        cmocka_unit_test(delivered_bytes_are_cut_from_the_result),
        cmocka_unit_test(binary_bytes_pass),
        cmocka_unit_test(queue_drops_delivered_bytes_only),
    };
    return cmocka_run_group_tests_name("stream", tests, NULL, NULL);
}
