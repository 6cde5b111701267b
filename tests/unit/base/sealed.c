/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/strv.h"
#include "state/seal.h"
#include "state/store.h"

static char dir[] = "/tmp/toolcage-sealed-XXXXXX";

static char *path_of(const char *name)
{
    return tc_format("%s/below/%s", dir, name);
}

static bool put(const char *path, const char *text, unsigned most)
{
    _autofd_ int fd = tc_sealed_open(path);
    return fd >= 0 && tc_write_all(fd, text, strlen(text)) == 0 && tc_sealed_put(fd, path, most);
}

static void holds_while_nobody_writes(void **state)
{
    _autofree_ char *path = path_of("a");
    (void)state;
    assert_false(tc_sealed_holds(path));
    assert_true(put(path, "machine", 8));
    assert_true(tc_sealed_holds(path));
    assert_true(tc_sealed_holds(path));
    assert_true(put(path, "another", 8));
    assert_true(tc_sealed_holds(path));
}

static void changed_byte_breaks_the_seal(void **state)
{
    _autofree_ char *path = path_of("a");
    struct stat st;
    (void)state;
    assert_true(put(path, "machine", 8));
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(chmod(path, 0600), 0);
    {
        _autofd_ int fd = open(path, O_WRONLY | O_CLOEXEC);
        assert_true(pwrite(fd, "M", 1, 0) == 1);
    }
    const struct timespec times[2] = {st.st_atim, st.st_mtim};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    assert_false(tc_sealed_holds(path));
}

static void replaced_file_breaks_the_seal(void **state)
{
    _autofree_ char *path = path_of("a"), *other = path_of("b"), *record = path_of("b.record");
    (void)state;
    assert_true(put(path, "machine", 8));
    assert_true(put(other, "machine", 8));
    assert_int_equal(rename(path, other), 0);
    assert_false(tc_sealed_holds(other));
    assert_false(tc_sealed_holds(path));
    assert_int_equal(unlink(record), 0);
    assert_false(tc_sealed_holds(other));
}

/* Neither is a record that somebody wrote who does not know the key. */
static void changed_key_breaks_the_seal(void **state)
{
    _autofree_ char *path = path_of("a"), *key = path_of("key");
    (void)state;
    assert_true(put(path, "machine", 8));
    assert_int_equal(unlink(key), 0);
    assert_false(tc_sealed_holds(path));
    assert_true(put(path, "machine", 8));
    assert_true(tc_sealed_holds(path));
    assert_int_equal(chmod(key, 0622), 0);
    assert_false(tc_sealed_holds(path));
}

static void oldest_sealed_files_are_removed(void **state)
{
    _autofree_ char *a = path_of("a"), *b = path_of("b"), *c = path_of("c");
    (void)state;
    assert_true(put(a, "1", 2));
    assert_true(put(b, "2", 2));
    assert_true(put(c, "3", 2));
    assert_int_equal(access(a, F_OK), -1);
    assert_true(tc_sealed_holds(b) && tc_sealed_holds(c));
    tc_sealed_drop(b);
    assert_int_equal(access(b, F_OK), -1);
    assert_false(tc_sealed_holds(b));
}

static int begin(void **state)
{
    (void)state;
    return mkdtemp(dir) ? 0 : -1;
}

static int clear(void **state)
{
    _autofree_ char *below = tc_format("%s/below", dir);
    (void)state;
    (void)tc_remove_tree(AT_FDCWD, below);
    return 0;
}

static int end(void **state)
{
    (void)state;
    return tc_remove_tree(AT_FDCWD, dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(holds_while_nobody_writes, clear),
        cmocka_unit_test_teardown(changed_byte_breaks_the_seal, clear),
        cmocka_unit_test_teardown(replaced_file_breaks_the_seal, clear),
        cmocka_unit_test_teardown(changed_key_breaks_the_seal, clear),
        cmocka_unit_test_teardown(oldest_sealed_files_are_removed, clear),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
