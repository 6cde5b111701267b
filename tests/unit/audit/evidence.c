/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The two records of a call in a log of several segments, and damage between them. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "audit/evidence.h"
#include "audit/log.h"
#include "audit/reader.h"
#include "audit/segments.h"
#include "base/fd.h"
#include "state/store.h"

/* a segment for each record, besides its "open" */
static struct tc_audit_options one = {.sync = TC_SYNC_NONE, .segment = 1};
static const char mine[] = "01JD8XKQ7PZ3T5V9WYB2C4D6E8", other[] = "01JD8XKQ7PZ3T5V9WYB2C4D6E9";
static char place[64];

static int enter(void **state)
{
    (void)state;
    tc_strcopy(place, sizeof(place), "/tmp/toolcage-evidence-XXXXXX");
    return mkdtemp(place) && setenv("XDG_STATE_HOME", place, 1) == 0 ? 0 : -1;
}

static int leave(void **state)
{
    (void)state;
    return tc_remove_tree(AT_FDCWD, place);
}

static void add(const char *kind, const char *call, const char *more)
{
    _autobuf_ struct tc_buf members = TC_BUF_INIT;
    tc_buf_addf(&members, "\"call\":\"%s\",\"more\":\"%s\"", call, more);
    assert_int_equal(tc_audit_append(&one, kind, &members, NULL), 0);
}

static int open_log(void)
{
    _autofree_ char *path = tc_audit_path();
    assert_non_null(path);
    int dir = tc_audit_open(path, true);
    assert_true(dir >= 0);
    return dir;
}

static struct tc_audit_evidence find(const char *call)
{
    struct tc_audit_evidence evidence;
    _autofd_ int dir = open_log();
    assert_int_equal(tc_audit_evidence(dir, call, &evidence), 0);
    return evidence;
}

/* A call with another one within it. */
static void write_calls(void)
{
    add("run", mine, "");
    add("run", other, mine);
    add("result", other, mine);
    add("result", mine, "");
}

static void records_are_found_across_segments(void **state)
{
    (void)state;
    write_calls();
    struct tc_audit_evidence found = find(mine);
    assert_null(found.fault);
    assert_int_equal(found.decision.seq, 1);
    assert_int_equal(found.result.seq, 7);
    assert_non_null(strstr(found.result.text, found.result.hash));
    assert_non_null(memmem(found.decision.text, found.decision.length, "\"run\"", 5));
    tc_audit_evidence_done(&found);
    assert_null(found.result.text);
}

static void id_within_other_records_is_ignored(void **state)
{
    (void)state;
    add("run", other, mine);
    add("result", other, "\\\",\\\"call\\\":\\\"01JD8XKQ7PZ3T5V9WYB2C4D6E8");
    struct tc_audit_evidence found = find(mine);
    assert_null(found.fault);
    assert_null(found.decision.text);
    assert_null(found.result.text);
    assert_false(found.refused);
    tc_audit_evidence_done(&found);
}

static void refused_and_unfinished_calls_have_no_result(void **state)
{
    (void)state;
    add("refused", mine, "");
    add("run", other, "");
    struct tc_audit_evidence found = find(mine), open = find(other);
    assert_true(found.refused);
    assert_null(found.decision.text);
    assert_non_null(open.decision.text);
    assert_null(open.result.text);
    tc_audit_evidence_done(&found);
    tc_audit_evidence_done(&open);
}

/* Expects the damage to be found for the call. */
static void expect_fault(const char *call, const char *words)
{
    struct tc_audit_evidence found = find(call);
    assert_non_null(found.fault);
    assert_non_null(strstr(found.fault, words));
    assert_int_equal(strlen(found.segment), TC_ULID_SIZE - 1);
    tc_audit_evidence_done(&found);
}

static void remove_segment(size_t at)
{
    _autofd_ int dir = open_log();
    _autostrv_ struct tc_strv names = {0};
    char file[TC_SEGMENT_FILE_SIZE];
    assert_int_equal(tc_segments_list(dir, &names), 0);
    tc_segment_file(names.items[at], file);
    assert_int_equal(unlinkat(dir, file, 0), 0);
}

static void missing_segment_between_is_found(void **state)
{
    (void)state;
    write_calls();
    remove_segment(1);
    expect_fault(mine, "does not follow");
}

static void removed_decision_leaves_the_result(void **state)
{
    (void)state;
    write_calls();
    remove_segment(0);
    struct tc_audit_evidence left = find(mine), found = find(other);
    assert_null(left.fault);
    assert_null(left.decision.text);
    assert_non_null(left.result.text);
    assert_null(found.fault); /* what is missing before a call does not concern it */
    assert_non_null(found.result.text);
    tc_audit_evidence_done(&left);
    tc_audit_evidence_done(&found);
    add("run", mine, "late");
    expect_fault(mine, "after the result");
}

static void cut_segment_between_is_found(void **state)
{
    (void)state;
    write_calls();
    _autofd_ int dir = open_log();
    _autostrv_ struct tc_strv names = {0};
    assert_int_equal(tc_segments_list(dir, &names), 0);
    _autofd_ int fd = tc_segment_open(dir, names.items[1], O_RDWR | O_APPEND);
    assert_int_equal(tc_write_all(fd, "{\"prev\"", 7), 0);
    expect_fault(mine, "was cut");
}

static void second_records_are_found(void **state)
{
    (void)state;
    write_calls();
    add("result", mine, "again");
    expect_fault(mine, "second one of its kind");
    add("run", "01JD8XKQ7PZ3T5V9WYB2C4D6EA", "");
    add("run", "01JD8XKQ7PZ3T5V9WYB2C4D6EA", "again");
    expect_fault("01JD8XKQ7PZ3T5V9WYB2C4D6EA", "second one of its kind");
}

/* A start that failed is recorded, and may be tried again. */
static void call_that_was_started_again_has_its_last_records(void **state)
{
    _autobuf_ struct tc_buf unstarted = TC_BUF_INIT;
    (void)state;
    add("run", mine, "first");
    tc_buf_addf(&unstarted, "\"call\":\"%s\",\"started\":false", mine);
    assert_int_equal(tc_audit_append(&one, "result", &unstarted, NULL), 0);
    add("run", mine, "second");
    add("result", mine, "");
    struct tc_audit_evidence found = find(mine);
    assert_null(found.fault);
    assert_non_null(memmem(found.decision.text, found.decision.length, "second", 6));
    assert_null(memmem(found.result.text, found.result.length, "started", 7));
    tc_audit_evidence_done(&found);
}

/* One segment for all records, or one for each. */
static void search_starts_at_the_end_of_an_earlier_log(void **state)
{
    static const struct tc_audit_options all = {.sync = TC_SYNC_NONE};
    const struct tc_audit_options before = one;
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct tc_audit_place since;
        struct tc_audit_evidence found;
        one = i ? all : before;
        add("run", other, "");
        _autofd_ int dir = open_log();
        assert_int_equal(tc_audit_end(dir, &since), 0);
        assert_true(since.at > 0);
        add("run", mine, "");
        add("result", other, "");
        add("result", mine, "");
        assert_int_equal(tc_audit_evidence_since(dir, mine, &since, &found), 0);
        assert_null(found.fault);
        assert_true(found.decision.text && found.result.text);
        tc_audit_evidence_done(&found);
        assert_int_equal(tc_audit_evidence_since(dir, other, &since, &found), 0);
        assert_true(!found.decision.text && found.result.text);
        tc_audit_evidence_done(&found);
        assert_int_equal(leave(NULL), 0);
        assert_int_equal(enter(NULL), 0);
    }
    one = before;
}

static void end_of_an_empty_log_is_its_beginning(void **state)
{
    struct tc_audit_place end;
    (void)state;
    _autofd_ int dir = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    assert_int_equal(tc_audit_end(dir, &end), -1);
    add("run", mine, "");
    remove_segment(0);
    _autofd_ int empty = open_log();
    assert_int_equal(tc_audit_end(empty, &end), 0);
    assert_true(!end.segment[0] && !end.at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(records_are_found_across_segments, enter, leave),
        cmocka_unit_test_setup_teardown(id_within_other_records_is_ignored, enter, leave),
        cmocka_unit_test_setup_teardown(refused_and_unfinished_calls_have_no_result, enter, leave),
        cmocka_unit_test_setup_teardown(missing_segment_between_is_found, enter, leave),
        cmocka_unit_test_setup_teardown(removed_decision_leaves_the_result, enter, leave),
        cmocka_unit_test_setup_teardown(cut_segment_between_is_found, enter, leave),
        cmocka_unit_test_setup_teardown(second_records_are_found, enter, leave),
        cmocka_unit_test_setup_teardown(call_that_was_started_again_has_its_last_records, enter,
                                        leave),
        cmocka_unit_test_setup_teardown(search_starts_at_the_end_of_an_earlier_log, enter, leave),
        cmocka_unit_test_setup_teardown(end_of_an_empty_log_is_its_beginning, enter, leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
