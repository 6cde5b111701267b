/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Plans and outcomes across the wire: there and back unchanged, and nothing but a clean failure for
 * texts that were cut or damaged. */
#include <stdlib.h>
#include <string.h>

#include "plan/outcome.h"
#include "plan/plan.h"
#include "test.h"

#include "../fields.h"

enum { ROOM = 4096 };
#define ALIGNED __attribute__((aligned(16)))

/* One of the two structs with its functions. */
struct kind {
    const struct tc_fields *fields;
    size_t size;
    void (*visit)(struct tc_wire *w, void *it);
    void (*done)(void *it);
};

static void visit_plan(struct tc_wire *w, void *it)
{
    tc_plan_visit(w, it);
}

static void visit_outcome(struct tc_wire *w, void *it)
{
    tc_outcome_visit(w, it);
}

static void done_plan(void *it)
{
    tc_plan_done(it);
}

static void done_outcome(void *it)
{
    tc_outcome_done(it);
}

_Static_assert(sizeof(struct tc_plan) <= ROOM && sizeof(struct tc_outcome) <= ROOM, "room");
static const struct kind plans = {&tc_plan_fields, sizeof(struct tc_plan), visit_plan, done_plan};
static const struct kind outcomes = {&tc_outcome_fields, sizeof(struct tc_outcome), visit_outcome,
                                     done_outcome};

static char *own(const char *text)
{
    char *copy = strdup(text);
    assert_non_null(copy);
    return copy;
}

static void fill_plan(struct tc_plan *p)
{
    *p = (struct tc_plan){0};
    (void)filled(&tc_plan_fields, p, -1, 0);
    free(TAKE(p->tool));
}

static void fill_outcome(struct tc_outcome *o)
{
    *o = (struct tc_outcome){.status = 3,
                             .exit_code = -1,
                             .signal = 9,
                             .limit = own("memory"),
                             .notice = own("calls before it"),
                             .note = own("more of it"),
                             .failure = {.code = -7,
                                         .stage = own("s"),
                                         .subject = own("it"),
                                         .message = own("m"),
                                         .hint = own("h"),
                                         .errnum = 2,
                                         .line = 4,
                                         .clause = -1},
                             .wall_us = INT64_MAX,
                             .cpu_us = INT64_MIN,
                             .memory_peak = 1,
                             .pids_peak = -1,
                             .omitted_changes = 5};
    o->out = (struct tc_stream){.head = own("a?b"), .head_len = 3, .bytes = 12, .truncated = true};
    o->out.head[1] = '\0';
    *TC_PUSH(o->denials, o->denial_count) =
        (struct tc_denial){.kind = TC_DENIAL_CONNECT, .count = 3, .probe = true};
    for (int i = 0; i < 3; i++)
        *TC_PUSH(o->changes, o->change_count) = (struct tc_change){.path = own("/w/\xff\n"),
                                                                   .kind = own("added"),
                                                                   .bytes = i,
                                                                   .sha256 = i ? own("00") : NULL,
                                                                   .steers_host = i == 2,
                                                                   .links = i,
                                                                   .target = i ? own("../b") : NULL,
                                                                   .mode = 0120777,
                                                                   .was_mode = i};
    /* left out, empty, and bytes that are no text */
    for (size_t i = 0; i < 3; i++)
        *TC_PUSH(o->files, o->file_count) = (struct tc_file){.path = own("/w/f"),
                                                             .bytes = 1 << i,
                                                             .sha256 = i ? own("00") : NULL,
                                                             .content = i ? own("b?\xff") : NULL,
                                                             .content_len = i == 2 ? 3 : 0};
    o->files[2].content[1] = '\0';
    *TC_PUSH(o->enforced, o->enforced_count) =
        (struct tc_enforced){.clause = TC_CLAUSE_COUNT - 1, .mechanism = own("by hand")};
    *TC_PUSH(o->timings, o->timing_count) = (struct tc_timing){.step = own("walls"), .us = 7};
    *TC_PUSH(o->probes, o->probe_count) =
        (struct tc_probe){.clause = 0, .works = true, .mechanism = own("m"), .fix = own("f")};
}

static struct tc_buf encode(const struct kind *k, void *it)
{
    struct tc_wire w = TC_WIRE_PUT_INIT;
    k->visit(&w, it);
    assert_false(w.failed);
    assert_true(w.out.len > 100);
    return w.out;
}

/* Decodes; whether all of it was understood and nothing was left. */
static bool decode(const struct kind *k, const char *bytes, size_t len, void *it)
{
    /* a copy of exactly this size, so that a sanitizer sees reads beyond it */
    char *exact = malloc(len ? len : 1);
    assert_non_null(exact);
    memcpy(exact, bytes, len);
    struct tc_wire w = TC_WIRE_GET_INIT(exact, len);
    memset(it, 0, k->size);
    k->visit(&w, it);
    free(exact);
    return !w.failed && !w.left;
}

static void there_and_back(const struct kind *k, void *filled)
{
    char it[ROOM] ALIGNED;
    struct tc_buf first = encode(k, filled);
    assert_true(decode(k, first.data, first.len, it));
    struct tc_buf second = encode(k, it);
    assert_int_equal(first.len, second.len);
    assert_memory_equal(first.data, second.data, first.len);
    k->done(it);
    tc_buf_done(&second);
    tc_buf_done(&first);
    k->done(filled);
}

static void cut_and_damaged(const struct kind *k, void *filled)
{
    static const unsigned char wrong[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
    char it[ROOM] ALIGNED;
    struct tc_buf text = encode(k, filled);
    for (size_t len = 0; len < text.len; len++) {
        if (decode(k, text.data, len, it))
            fail_msg("%zu of %zu bytes were understood", len, text.len);
        k->done(it);
    }
    for (size_t at = 0; at < text.len; at++) {
        char kept = text.data[at];
        for (size_t i = 0; i < TC_COUNT(wrong); i++) {
            text.data[at] = (char)wrong[i];
            (void)decode(k, text.data, text.len, it);
            k->done(it);
        }
        text.data[at] = kept;
    }
    tc_buf_done(&text);
    k->done(filled);
}

/* Each field for itself: what comes back has it, and nothing else that is new. */
static void every_field_crosses(const struct kind *k)
{
    char plain[ROOM] ALIGNED = {0};
    int places = filled(k->fields, plain, -1, 0).places;
    for (int i = 0; i < places; i++) {
        char sent[ROOM] ALIGNED = {0}, got[ROOM] ALIGNED;
        struct filling f = filled(k->fields, sent, i, 2);
        struct tc_buf text = encode(k, sent);
        assert_true(decode(k, text.data, text.len, got));
        if (differing(k->fields, sent, got) || differing(k->fields, plain, got) != 1)
            fail_msg("%s does not cross", f.name);
        tc_buf_done(&text);
        k->done(sent);
        k->done(got);
    }
    k->done(plain);
    for (size_t i = 0; i < k->size; i++)
        assert_int_equal(plain[i], 0);
}

static void every_field_of_a_plan_crosses(void **state)
{
    every_field_crosses(&plans);
}

static void every_field_of_an_outcome_crosses(void **state)
{
    every_field_crosses(&outcomes);
}

/* What the wire brings fits, or is refused. */
static void numbers_keep_their_width(void **state)
{
    static const struct {
        size_t offset;
        int64_t most;
    } rows[] = {{offsetof(struct tc_plan, rows), UINT16_MAX},
                {offsetof(struct tc_plan, terminal), 1},
                {offsetof(struct tc_plan, commit), INT64_MAX}};
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        struct tc_plan plan = {0};
        const struct tc_field *field = tc_plan_fields.rows;
        while (field->offset != rows[i].offset)
            field++;
        assert_true(tc_field_set(field, &plan, rows[i].most));
        assert_int_equal(tc_field_number(field, &plan), rows[i].most);
        if (rows[i].most == INT64_MAX)
            continue;
        assert_false(tc_field_set(field, &plan, rows[i].most + 1));
        assert_false(tc_field_set(field, &plan, -1));
        assert_int_equal(tc_field_number(field, &plan), rows[i].most);
    }
}

static void numbers_out_of_range_fail(void **state)
{
    struct tc_plan no = {0}, yes = {.terminal = true}, got;
    struct tc_buf plain = encode(&plans, &no), text = encode(&plans, &yes);
    size_t at = 0;
    while (plain.data[at] == text.data[at])
        at++;
    assert_true(decode(&plans, text.data, text.len, &got));
    assert_true(got.terminal);
    text.data[at] = 2;
    assert_false(decode(&plans, text.data, text.len, &got));
    tc_plan_done(&got);
    tc_buf_done(&plain);
    tc_buf_done(&text);
}

static void arrays_have_a_most(void **state)
{
    struct tc_plan plan = {0}, got;
    for (size_t most = 4096; plan.deny_count < most;)
        assert_non_null(TC_PUSH(plan.denies, plan.deny_count));
    struct tc_buf text = encode(&plans, &plan);
    assert_true(decode(&plans, text.data, text.len, &got));
    tc_buf_done(&text);
    tc_plan_done(&got);
    assert_non_null(TC_PUSH(plan.denies, plan.deny_count));
    text = encode(&plans, &plan);
    assert_false(decode(&plans, text.data, text.len, &got));
    tc_buf_done(&text);
    tc_plan_done(&got);
    tc_plan_done(&plan);
}

static void outcomes_cross_unchanged(void **state)
{
    struct tc_outcome o;
    fill_outcome(&o);
    there_and_back(&outcomes, &o);
}

static void damaged_plans_fail(void **state)
{
    struct tc_plan p;
    fill_plan(&p);
    cut_and_damaged(&plans, &p);
}

static void damaged_outcomes_fail(void **state)
{
    struct tc_outcome o;
    fill_outcome(&o);
    cut_and_damaged(&outcomes, &o);
}

static void empty_ones_cross(void **state)
{
    struct tc_plan p = {0}, plan = {0};
    struct tc_outcome o = {0}, outcome = {0};
    struct tc_buf text = encode(&plans, &p);
    assert_true(decode(&plans, text.data, text.len, &plan));
    assert_null(plan.backend);
    tc_buf_done(&text);
    text = encode(&outcomes, &o);
    assert_true(decode(&outcomes, text.data, text.len, &outcome));
    assert_null(outcome.limit);
    tc_buf_done(&text);
    tc_plan_done(&plan);
    tc_outcome_done(&outcome);
}

static void clauses_out_of_range_fail(void **state)
{
    static const int64_t wrong[] = {-1, TC_CLAUSE_COUNT, INT64_MAX};
    for (size_t i = 0; i < TC_COUNT(wrong); i++) {
        struct tc_outcome o = {0}, got = {0};
        struct tc_wire put = TC_WIRE_PUT_INIT;
        *TC_PUSH(o.enforced, o.enforced_count) = (struct tc_enforced){.clause = wrong[i]};
        tc_outcome_visit(&put, &o);
        assert_true(put.failed);
        assert_false(decode(&outcomes, put.out.data, put.out.len, &got));
        tc_buf_done(&put.out);
        tc_outcome_done(&got);
        tc_outcome_done(&o);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_field_of_a_plan_crosses),
        cmocka_unit_test(every_field_of_an_outcome_crosses),
        cmocka_unit_test(numbers_keep_their_width),
        cmocka_unit_test(numbers_out_of_range_fail),
        cmocka_unit_test(arrays_have_a_most),
        cmocka_unit_test(outcomes_cross_unchanged),
        cmocka_unit_test(damaged_plans_fail),
        cmocka_unit_test(damaged_outcomes_fail),
        cmocka_unit_test(empty_ones_cross),
        cmocka_unit_test(clauses_out_of_range_fail),
    };
    return cmocka_run_group_tests_name("visit", tests, NULL, NULL);
}
