/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What tells that something was left. A memory file stands for the private file system where all
 * has to be as it was: the space of a real one is others' to change. */
#include "test.h"

#include "state/untouched.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* Longer than any tick of the clock by which files are dated. */
static void rest(void)
{
    (void)nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
}

static int file_at_rest(struct tc_untouched *u)
{
    int fd = memfd_create("untouched", MFD_CLOEXEC);
    assert_true(fd >= 0 && tc_untouched_take(u, fd) == 0);
    rest();
    tc_untouched_note(u);
    return fd;
}

static void untouched_file_stays_untouched(void **state)
{
    struct tc_untouched u;
    int fd = file_at_rest(&u);
    assert_true(tc_untouched_still(&u, fd));
    (void)close(fd);
    assert_false(tc_untouched_still(&u, fd));
    assert_int_equal(tc_untouched_take(&u, -1), -1);
}

static void every_change_is_noticed(void **state)
{
    enum { GROWN, WRITTEN, MODE, BACK, TRACES };
    for (int i = 0; i < TRACES; i++) {
        struct tc_untouched u;
        int fd = file_at_rest(&u);
        if (i == GROWN)
            assert_int_equal(ftruncate(fd, 1), 0);
        else if (i == WRITTEN)
            assert_int_equal(pwrite(fd, "x", 1, 0), 1);
        else if (i == MODE)
            assert_int_equal(fchmod(fd, 0640), 0);
        else
            assert_true(fchmod(fd, 0640) == 0 && fchmod(fd, u.was.st_mode & 07777) == 0);
        assert_false(tc_untouched_still(&u, fd));
        (void)close(fd);
    }
}

static void a_name_that_came_and_went_tells(void **state)
{
    char dir[] = "/tmp/toolcage-untouched-XXXXXX", name[64];
    struct tc_untouched u;
    assert_non_null(mkdtemp(dir));
    (void)snprintf(name, sizeof(name), "%s/x", dir);
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(tc_untouched_take(&u, fd), 0);
    rest();
    tc_untouched_note(&u);
    assert_true(u.rested);
    (void)close(open(name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    assert_int_equal(unlink(name), 0);
    struct stat st;
    assert_true(fstat(fd, &st) == 0 && fstatfs(fd, &u.space) == 0);
    assert_false(tc_untouched_still(&u, fd));
    (void)close(fd);
    assert_int_equal(rmdir(dir), 0);
}

/* A time of this very tick says nothing: what comes after could leave the same. */
static void recent_stamp_is_never_untouched(void **state)
{
    struct tc_untouched u;
    int fd = file_at_rest(&u);
    assert_true(u.rested);
    u.was.st_ctim.tv_sec += 1000;
    tc_untouched_note(&u);
    assert_false(u.rested);
    u.was.st_ctim.tv_sec -= 1000;
    assert_false(tc_untouched_still(&u, fd));
    (void)close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(untouched_file_stays_untouched),
        cmocka_unit_test(every_change_is_noticed),
        cmocka_unit_test(a_name_that_came_and_went_tells),
        cmocka_unit_test(recent_stamp_is_never_untouched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
