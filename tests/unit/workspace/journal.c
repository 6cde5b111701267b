/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The file that serves commit after commit, and when it must not. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "workspace/copy.h"
#include "workspace/journal.h"

static char place[] = "/tmp/toolcage-test-journal-XXXXXX";
static int dir = -1;

static int make_place(void **state)
{
    (void)state;
    dir = mkdtemp(place) ? open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    return dir < 0 ? -1 : 0;
}

static int remove_place(void **state)
{
    (void)state;
    (void)close(dir);
    return rmdir(place);
}

static off_t size_of(const char *name)
{
    struct stat st;
    return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ? -1 : st.st_size;
}

static void begin(struct tc_journal *j, bool lasting)
{
    assert_int_equal(tc_journal_begin(j, dir, "tool", lasting), 0);
}

static void persistent_journal_is_reused_empty(void **state)
{
    (void)state;
    struct tc_step_root root = {.path = place};
    const struct tc_steps steps = {.roots = &root, .root_count = 1};
    const struct tc_step_place staged = {.above = (char *)(uintptr_t) "a"};
    struct tc_journal first, second;
    begin(&first, true);
    assert_int_equal(tc_journal_stage(&first, &steps, &staged), 0);
    assert_true(size_of(first.name) > (off_t)sizeof(place));
    tc_journal_end(&first);
    assert_int_equal(size_of(first.name), 0);
    begin(&second, true);
    assert_string_equal(first.name, second.name);
    assert_string_not_equal(first.temporary, second.temporary);
    tc_journal_end(&second);
    assert_int_equal(unlinkat(dir, first.name, 0), 0);
}

/* What nobody would find tells nobody. */
static void removed_journal_gets_a_new_name(void **state)
{
    (void)state;
    struct tc_journal first, second;
    begin(&first, true);
    tc_journal_end(&first);
    (void)unlinkat(dir, first.name, 0);
    begin(&second, true);
    assert_string_not_equal(first.name, second.name);
    assert_int_equal(size_of(second.name), 0);
    tc_journal_end(&second);
    assert_int_equal(renameat(dir, second.name, dir, "elsewhere"), 0);
    begin(&first, true);
    assert_string_not_equal(first.name, second.name);
    tc_journal_end(&first);
    assert_int_equal(unlinkat(dir, "elsewhere", 0), 0);
    assert_int_equal(unlinkat(dir, first.name, 0), 0);
}

static void concurrent_journals_have_different_names(void **state)
{
    (void)state;
    struct tc_journal first, second;
    begin(&first, true);
    begin(&second, true);
    assert_string_not_equal(first.name, second.name);
    tc_journal_end(&first);
    tc_journal_end(&second);
    assert_int_equal(size_of(second.name), -1);
    assert_int_equal(unlinkat(dir, first.name, 0), 0);
}

static void single_use_journal_is_removed(void **state)
{
    (void)state;
    struct tc_journal j;
    begin(&j, false);
    assert_int_equal(size_of(j.name), 0);
    tc_journal_end(&j);
    assert_int_equal(size_of(j.name), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(persistent_journal_is_reused_empty),
        cmocka_unit_test(removed_journal_gets_a_new_name),
        cmocka_unit_test(concurrent_journals_have_different_names),
        cmocka_unit_test(single_use_journal_is_removed),
    };
    return cmocka_run_group_tests(tests, make_place, remove_place);
}
