/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What is remembered of a runtime's program, and of which file. */
#include "backend/gvisor/runsc.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "linux/mounts.h"
#include "state/store.h"
#include "test.h"
#include "workspace/state.h"

#define OLD "fe00.1234.10.5.7"

static char state_place[] = "/tmp/toolcage-notes-XXXXXX";

static void expect(const char *name, const char *stamp, const char *word)
{
    char note[TC_GVISOR_NOTE_SIZE];
    bool any = tc_gvisor_note_read(name, stamp, 0, note);
    assert_int_equal(any, word != NULL);
    if (word)
        assert_string_equal(tc_gvisor_note_value(note, stamp), word);
}

static void a_note_is_about_one_state_of_a_file(void **state)
{
    (void)state;
    expect("a", OLD, NULL);
    tc_gvisor_note_write("a", OLD, "word");
    expect("a", OLD, "word");
    expect("b", OLD, NULL);
    expect("a", "fe00.1234.10.5.70", NULL); /* written to since */
    expect("a", "fe00.1234.10.5", NULL);
    expect("a", "", NULL);
    tc_gvisor_note_write("a", "fe00.1235.10.5.7", "other"); /* another file's is beside it */
    expect("a", OLD, "word");
    tc_gvisor_note_write("a", "fe00.9934.10.5.7", "third"); /* or takes its place */
    expect("a", OLD, NULL);
    tc_gvisor_note_drop("a", "fe00.9934.10.5.7");
    expect("a", "fe00.9934.10.5.7", NULL);
    expect("a", "fe00.1235.10.5.7", "other");
}

static void expired_note_is_not_read(void **state)
{
    char note[TC_GVISOR_NOTE_SIZE];
    const struct timespec hour_ago[2] = {{.tv_sec = time(NULL) - 3600},
                                         {.tv_sec = time(NULL) - 3600}};
    (void)state;
    tc_gvisor_note_write("c", OLD, "word");
    _autofd_ int dir = tc_state_look("gvisor");
    assert_int_equal(utimensat(dir, "c-34", hour_ago, AT_SYMLINK_NOFOLLOW), 0);
    assert_true(tc_gvisor_note_read("c", OLD, 0, note));
    assert_true(tc_gvisor_note_read("c", OLD, 7200, note));
    assert_false(tc_gvisor_note_read("c", OLD, 3600, note));
}

/* A stamp that is equal before and after does not say that nobody has written: not this soon. */
static void just_written_file_has_no_stamp(void **state)
{
    char stamp[TC_STAMP_SIZE], path[64];
    (void)state;
    (void)snprintf(path, sizeof(path), "%s/runtime", state_place);
    assert_int_equal(tc_put_file(AT_FDCWD, path, "x", 1, 0700), 0);
    assert_false(tc_gvisor_stamp(path, stamp));
    assert_false(tc_gvisor_stamp("/nonexistent/runsc", stamp));
    assert_true(tc_gvisor_stamp("/proc/self/exe", stamp));
}

/* From the bundle comes no other word, and none about another file. */
static void only_counts_are_learnt(void **state)
{
    static const char *const bad[] = {"3", "-1", "02", "x", "", "2 ", NULL};
    char stamp[TC_STAMP_SIZE], text[TC_GVISOR_NOTE_SIZE + 8];
    (void)state;
    _autofd_ int bundle = open(state_place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(bundle >= 0 && tc_gvisor_stamp("/proc/self/exe", stamp));
    for (const char *const *word = bad; *word; word++) {
        (void)snprintf(text, sizeof(text), "%s %s", stamp, *word);
        assert_int_equal(tc_put_file(bundle, "heard", text, strlen(text), 0600), 0);
        tc_gvisor_options_learn("/proc/self/exe", bundle);
        expect("options", stamp, NULL);
        assert_int_equal(unlinkat(bundle, "heard", 0), 0);
    }
    assert_int_equal(tc_put_file(bundle, "heard", OLD " 0", strlen(OLD " 0"), 0600), 0);
    tc_gvisor_options_learn("/proc/self/exe", bundle);
    expect("options", OLD, NULL);
    assert_int_equal(unlinkat(bundle, "heard", 0), 0);
    (void)snprintf(text, sizeof(text), "%s 2", stamp);
    assert_int_equal(tc_put_file(bundle, "heard", text, strlen(text), 0600), 0);
    tc_gvisor_options_learn("/proc/self/exe", bundle);
    expect("options", stamp, "2");
    _autofree_ char *note = tc_gvisor_options_note("/proc/self/exe");
    assert_string_equal(note, text);
    _autofree_ char *none = tc_gvisor_options_note(NULL); /* the doctor's */
    assert_null(tc_gvisor_note_value(none, stamp));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_note_is_about_one_state_of_a_file),
        cmocka_unit_test(expired_note_is_not_read),
        cmocka_unit_test(just_written_file_has_no_stamp),
        cmocka_unit_test(only_counts_are_learnt),
    };
    if (geteuid() == 0 && setresuid(65533, 65533, 65533) < 0) /* root's state has one place */
        return 1;
    if (!mkdtemp(state_place))
        return 1;
    tc_state_set(state_place);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    (void)tc_remove_tree(AT_FDCWD, state_place);
    return failed;
}
