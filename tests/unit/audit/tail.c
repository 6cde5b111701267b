/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Reads the end of an audit log, and times. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "audit/log.h"
#include "audit/reader.h"
#include "audit/when.h"
#include "base/fd.h"
#include "base/path.h"
#include "state/store.h"

enum { RECORDS = 40, SEGMENT = 1000 };

static char place[64];

static int enter(void **state)
{
    (void)state;
    tc_strcopy(place, sizeof(place), "/tmp/toolcage-tail-XXXXXX");
    return mkdtemp(place) && setenv("XDG_STATE_HOME", place, 1) == 0 ? 0 : -1;
}

static int leave(void **state)
{
    (void)state;
    return tc_remove_tree(AT_FDCWD, place);
}

static void write_records(int count)
{
    static const struct tc_audit_options options = {.sync = TC_SYNC_NONE, .segment = SEGMENT};
    for (int i = 0; i < count; i++) {
        _autobuf_ struct tc_buf members = TC_BUF_INIT;
        tc_buf_adds(&members, "\"call\":\"x\"");
        assert_int_equal(tc_audit_append(&options, "run", &members, NULL), 0);
    }
}

struct seen {
    int runs, others;
    size_t bytes;
};

static bool count_record(void *context, const char *record, size_t length)
{
    struct seen *seen = context;
    bool run = length > 8 && !strncmp(record, "{\"prev\"", 7) &&
               memmem(record, length, "\"kind\":\"run\"", 12);
    seen->runs += run;
    seen->others += !run;
    seen->bytes += length + 1;
    return true;
}

static struct seen read_tail(int64_t most, int later, bool *ret_cut)
{
    struct seen seen = {0};
    _autofree_ char *path = tc_audit_path();
    struct tc_audit_cursor cursor = {.dir = tc_audit_open(path, true)};
    assert_true(cursor.dir >= 0);
    assert_int_equal(tc_audit_tail(&cursor, most, ret_cut), 0);
    write_records(later);
    assert_int_equal(tc_audit_read(&cursor, count_record, &seen), 0);
    tc_audit_cursor_done(&cursor);
    (void)close(cursor.dir);
    return seen;
}

static void short_log_is_read_whole(void **state)
{
    bool cut = true;
    (void)state;
    write_records(RECORDS);
    assert_int_equal(read_tail(1 << 20, 0, &cut).runs, RECORDS);
    assert_false(cut);
}

static void long_log_is_read_from_its_end(void **state)
{
    bool cut = false;
    (void)state;
    write_records(RECORDS);
    struct seen seen = read_tail(3 * SEGMENT, 0, &cut);
    assert_true(cut);
    assert_true(seen.runs > 5 && seen.runs < RECORDS / 2);
    assert_int_equal(seen.bytes, 3 * SEGMENT);
}

static void later_records_are_read_in_any_case(void **state)
{
    bool cut = false;
    (void)state;
    write_records(RECORDS);
    assert_int_equal(read_tail(0, 7, &cut).runs, 7);
    assert_true(cut);
}

static void times_are_read(void **state)
{
    static const char *const good[] = {"2026", "2026-01-31", "2026-01-31T12:00", "0s", "30m", "7d"};
    static const char *const bad[] = {"", "soon", "-1h", "2h ", "20260131", "1y", "100001s"};
    char text[32];
    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        assert_true(tc_audit_when(good[i], text, sizeof(text)));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_false(tc_audit_when(bad[i], text, sizeof(text)));
    assert_true(tc_audit_when("2026-01-31", text, sizeof(text)));
    assert_string_equal(text, "2026-01-31");
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, enter, leave)
    const struct CMUnitTest tests[] = {
        CASE(short_log_is_read_whole),
        CASE(long_log_is_read_from_its_end),
        CASE(later_records_are_read_in_any_case),
        CASE(times_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
