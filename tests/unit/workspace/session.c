/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The names and the record of sessions: what was written is read, and nothing else is. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "workspace/session.h"

static void session_names_are_validated(void **state)
{
    static const char *const good[] = {"a", "A.b_c-9", "_", "x.y..z"};
    static const char *const bad[] = {"",      ".",   "..",  ".a",  "-a",
                                      "--all", "a/b", "a b", "a\n", "\xc3\xa4"};
    char longest[66];
    (void)state;
    for (size_t i = 0; i < TC_COUNT(good); i++)
        assert_true(tc_session_name(good[i]));
    for (size_t i = 0; i < TC_COUNT(bad); i++)
        assert_false(tc_session_name(bad[i]));
    memset(longest, 'a', sizeof(longest));
    longest[65] = '\0';
    assert_false(tc_session_name(longest));
    longest[64] = '\0';
    assert_true(tc_session_name(longest));
}

static struct tc_session_record sample(void)
{
    struct tc_session_record r = {.name = strdup("work"),
                                  .tool = strdup("t"),
                                  .bounds = strdup("sha256:00"),
                                  .generation = 7,
                                  .calls = 6,
                                  .bytes = 5,
                                  .made = 4,
                                  .used = 3};
    struct tc_held_tree *tree = TC_PUSH(r.list.trees, r.list.tree_count);
    assert_non_null(tree);
    *tree = (struct tc_held_tree){
        .path = strdup("/workspace"), .from = strdup("."), .root = strdup("/home/me"), .inode = 9};
    struct tc_held_row *row = TC_PUSH(r.list.rows, r.list.row_count);
    assert_non_null(row);
    *row = (struct tc_held_row){.relative = strdup("a\n\xff"),
                                .kind = strdup("modified"),
                                .held = strdup("conflict"),
                                .was = true,
                                .host = {.inode = 11, .size = 12, .mode = 0100644}};
    return r;
}

static struct tc_wire written(struct tc_session_record *r)
{
    struct tc_wire w = TC_WIRE_PUT_INIT;
    tc_session_visit(&w, r);
    return w;
}

static void record_survives_a_round_trip(void **state)
{
    struct tc_session_record r = sample(), read = {0};
    struct tc_wire out = written(&r);
    (void)state;
    assert_false(out.failed);
    struct tc_wire in = TC_WIRE_GET_INIT(out.out.data, out.out.len);
    tc_session_visit(&in, &read);
    assert_false(in.failed);
    assert_int_equal(in.left, 0);
    assert_string_equal(read.name, "work");
    assert_int_equal(read.generation, 7);
    assert_int_equal(read.calls, 6);
    assert_string_equal(read.list.rows[0].relative, "a\n\xff");
    assert_int_equal(read.list.rows[0].host.inode, 11);
    tc_session_record_done(&read);
    tc_session_record_done(&r);
    tc_buf_done(&out.out);
}

/* Cut anywhere, or with any byte another: refused, or read as what it then says; never worse. */
static void damaged_record_is_refused_or_valid(void **state)
{
    struct tc_session_record r = sample();
    struct tc_wire out = written(&r);
    (void)state;
    for (size_t n = 0; n < out.out.len; n++) {
        struct tc_session_record read = {0};
        struct tc_wire in = TC_WIRE_GET_INIT(out.out.data, n);
        tc_session_visit(&in, &read);
        assert_true(in.failed);
        tc_session_record_done(&read);
    }
    for (size_t i = 0; i < out.out.len; i++) {
        struct tc_session_record read = {0};
        out.out.data[i] = (char)~out.out.data[i];
        struct tc_wire in = TC_WIRE_GET_INIT(out.out.data, out.out.len);
        tc_session_visit(&in, &read);
        if (!in.failed) {
            assert_true(tc_session_name(read.name));
            assert_true(read.generation > 0 && read.calls > 0);
            for (size_t k = 0; k < read.list.row_count; k++)
                assert_true((size_t)read.list.rows[k].tree < read.list.tree_count);
        }
        tc_session_record_done(&read);
        out.out.data[i] = (char)~out.out.data[i];
    }
    tc_session_record_done(&r);
    tc_buf_done(&out.out);
}

static void invalid_record_is_not_written(void **state)
{
    struct tc_session_record r = sample();
    (void)state;
    int64_t *numbers[] = {&r.generation, &r.calls, &r.bytes, &r.made, &r.used};
    for (size_t i = 0; i < TC_COUNT(numbers); i++) {
        int64_t kept = *numbers[i];
        *numbers[i] = -1;
        struct tc_wire out = written(&r);
        assert_true(out.failed);
        tc_buf_done(&out.out);
        *numbers[i] = kept;
    }
    r.name[0] = '/';
    struct tc_wire out = written(&r);
    assert_true(out.failed);
    tc_buf_done(&out.out);
    tc_session_record_done(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(session_names_are_validated),
        cmocka_unit_test(record_survives_a_round_trip),
        cmocka_unit_test(damaged_record_is_refused_or_valid),
        cmocka_unit_test(invalid_record_is_not_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
