/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "test.h"

#include "base/arena.h"

#include <string.h>

#define _autoarena_ _auto_(tc_arena_done)

static void pieces_are_zeroed_apart_and_aligned(void **state)
{
    _autoarena_ struct tc_arena arena = {0};
    unsigned char *pieces[2000];
    for (size_t i = 0; i < TC_COUNT(pieces); i++) {
        size_t size = i % 61 + 1;
        pieces[i] = tc_arena_alloc(&arena, size);
        assert_non_null(pieces[i]);
        assert_int_equal((uintptr_t)pieces[i] % 16, 0);
        for (size_t at = 0; at < size; at++)
            assert_int_equal(pieces[i][at], 0);
        memset(pieces[i], (int)(i & 255), size);
    }
    for (size_t i = 0; i < TC_COUNT(pieces); i++)
        for (size_t at = 0; at < i % 61 + 1; at++)
            assert_int_equal(pieces[i][at], i & 255);
}

static void large_pieces_have_room(void **state)
{
    _autoarena_ struct tc_arena arena = {0};
    char *small = tc_arena_alloc(&arena, 8);
    char *large = tc_arena_alloc(&arena, 1000000);
    assert_true(small && large);
    memset(large, 'x', 1000000);
    assert_int_equal(small[0], 0);
}

static void impossible_sizes_fail(void **state)
{
    _autoarena_ struct tc_arena arena = {0};
    assert_null(tc_arena_alloc(&arena, SIZE_MAX));
    assert_null(tc_arena_alloc(&arena, SIZE_MAX / 2 + 1));
    assert_non_null(tc_arena_alloc(&arena, 0));
}

static void formatted_strings_are_kept(void **state)
{
    _autoarena_ struct tc_arena arena = {0};
    char *first = tc_arena_format(&arena, "%s-%d", "a", 7);
    char *second = tc_arena_format(&arena, "%05d", 42);
    assert_string_equal(first, "a-7");
    assert_string_equal(second, "00042");
}

static void done_twice_is_fine(void **state)
{
    struct tc_arena arena = {0};
    assert_non_null(tc_arena_alloc(&arena, 1));
    tc_arena_done(&arena);
    assert_null(arena.blocks);
    tc_arena_done(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_zeroed_apart_and_aligned),
        cmocka_unit_test(large_pieces_have_room),
        cmocka_unit_test(impossible_sizes_fail),
        cmocka_unit_test(formatted_strings_are_kept),
        cmocka_unit_test(done_twice_is_fine),
    };
    return cmocka_run_group_tests_name("base/arena", tests, NULL, NULL);
}
