/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A store: whose directories are believed, who gets one, and what a sweep takes away. */
#include "state/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "test.h"

static char place[] = "/tmp/test-store-XXXXXX";
static int store;

static int set_up(void **state)
{
    (void)state;
    memcpy(place + sizeof(place) - 7, "XXXXXX", 6);
    store = mkdtemp(place) ? open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    return store < 0;
}

static int tear_down(void **state)
{
    (void)state;
    return close(store) + tc_remove_tree(AT_FDCWD, place);
}

static void directory_writable_by_others_is_not_entered(void **state)
{
    (void)state;
    assert_int_equal(mkdirat(store, "mine", 0700), 0);
    assert_int_equal(symlinkat("mine", store, "link"), 0);
    assert_int_equal(mknodat(store, "file", S_IFREG | 0600, 0), 0);
    int fd = tc_store_enter(store, "mine");
    assert_true(fd >= 0);
    assert_false(tc_store_own(fd, S_IFREG));
    (void)close(fd);
    assert_int_equal(fchmodat(store, "mine", 0770, 0), 0);
    assert_int_equal(tc_store_enter(store, "mine"), -1);
    assert_int_equal(errno, EPERM);
    assert_int_equal(tc_store_enter(store, "link"), -1);
    assert_int_equal(tc_store_enter(store, "file"), -1);
    assert_int_equal(tc_store_enter(store, "none"), -1);
    assert_int_equal(errno, ENOENT);
    assert_false(tc_store_own(-1, S_IFDIR));
}

static void claimed_directory_is_exclusive(void **state)
{
    (void)state;
    int own = tc_store_claim(store, "one", 2);
    assert_true(own >= 0);
    assert_int_equal(tc_store_count(store), 1);
    assert_int_equal(tc_store_claim(store, "one", 2), -1);
    assert_int_equal(errno, EWOULDBLOCK);
    (void)close(own);
    own = tc_store_claim(store, "one", 2);
    assert_true(own >= 0);
    (void)close(own);
}

static void there_is_room_for_so_many(void **state)
{
    (void)state;
    (void)close(tc_store_claim(store, "one", 2));
    (void)close(tc_store_claim(store, "two", 2));
    assert_int_equal(tc_store_claim(store, "three", 2), -1);
    assert_int_equal(errno, EDQUOT);
    int own = tc_store_claim(store, "two", 2); /* it is there already */
    assert_true(own >= 0);
    (void)close(own);
}

static void one_that_is_not_ours_is_not_claimed(void **state)
{
    (void)state;
    assert_int_equal(mkdirat(store, "theirs", 0700), 0);
    assert_int_equal(fchmodat(store, "theirs", 0707, 0), 0);
    assert_int_equal(tc_store_claim(store, "theirs", 2), -1);
    assert_int_equal(errno, EPERM);
}

/* A sweep has it locked, and removes it while its claim waits for the lock. */
static void one_that_is_swept_meanwhile_is_made_again(void **state)
{
    struct stat st;
    int status, ready[2];
    char byte;
    (void)state;
    assert_int_equal(pipe(ready), 0);
    (void)close(tc_store_claim(store, "one", 2));
    pid_t sweeper = fork();
    if (sweeper == 0) {
        int own = tc_store_enter(store, "one");
        bool good = own >= 0 && tc_store_lock(own, false) == 0 && write(ready[1], "", 1) == 1;
        (void)usleep(50000);
        _exit(good && unlinkat(store, "one", AT_REMOVEDIR) == 0 ? 0 : 1);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    int own = tc_store_claim(store, "one", 2);
    assert_true(own >= 0);
    assert_int_equal(fstat(own, &st), 0);
    assert_true(st.st_nlink > 0);
    assert_int_equal(fstatat(store, "one", &st, 0), 0);
    assert_int_equal(waitpid(sweeper, &status, 0), sweeper);
    assert_int_equal(status, 0);
    (void)close(own);
    (void)close(ready[0]);
    (void)close(ready[1]);
}

static bool is_new(int own, const char *name)
{
    assert_true(own >= 0);
    return strncmp(name, "new", 3) == 0;
}

static void sweep_removes_unused_own_leftovers(void **state)
{
    (void)state;
    (void)close(tc_store_claim(store, "whole", 9));
    (void)close(tc_store_claim(store, "new-left", 9));
    int used = tc_store_claim(store, "new-used", 9);
    assert_int_equal(mkdirat(store, "new-theirs", 0700), 0);
    assert_int_equal(fchmodat(store, "new-theirs", 0770, 0), 0);
    assert_int_equal(symlinkat("whole", store, "new-link"), 0);
    assert_int_equal(tc_store_sweep(store, is_new), 1);
    assert_int_equal(tc_store_count(store), 4);
    assert_int_equal(faccessat(store, "new-left", F_OK, 0), -1);
    (void)close(used);
    assert_int_equal(tc_store_sweep(store, is_new), 1);
    assert_int_equal(tc_store_sweep(-1, is_new), 0);
    assert_int_equal(tc_store_count(-1), -1);
}

static void removal_leaves_no_lock(void **state)
{
    (void)state;
    int own = tc_store_claim(store, "one", 2), other = tc_store_enter(store, "one");
    assert_int_equal(tc_store_lock(other, false), -1);
    assert_int_equal(errno, EWOULDBLOCK);
    assert_int_equal(tc_remove_tree(store, "one"), 0);
    (void)close(own);
    assert_int_equal(tc_store_lock(other, true), -1);
    assert_int_equal(errno, ENOENT);
    (void)close(other);
}

static void a_file_is_replaced_as_a_whole(void **state)
{
    struct stat st;
    char text[8] = "";
    (void)state;
    assert_int_equal(symlinkat("elsewhere", store, "file"), 0);
    assert_int_equal(tc_store_write(store, "file", "old", 3, 0600), 0);
    _autofd_ int old = openat(store, "file", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    assert_int_equal(tc_store_write(store, "file", "new", 3, 0644), 0);
    assert_int_equal(read(old, text, sizeof(text)), 3);
    assert_string_equal(text, "old");
    assert_int_equal(fstatat(store, "file", &st, AT_SYMLINK_NOFOLLOW), 0);
    assert_int_equal(st.st_mode, S_IFREG | 0644);
    assert_int_equal(mkdirat(store, "directory", 0700), 0);
    assert_int_equal(tc_store_write(store, "directory", "new", 3, 0644), -1);
    assert_int_equal(errno, EISDIR);
    assert_int_equal(tc_store_count(store), 2);
}

/* One that is begun, with a file of this name. */
static int begin(const char *file, char **ret_name)
{
    int own = tc_store_begin(store, ret_name);
    assert_true(own >= 0 && tc_store_is_begun(-1, *ret_name));
    assert_int_equal(mknodat(own, file, S_IFREG | 0600, 0), 0);
    return own;
}

static bool has(const char *path)
{
    return faccessat(store, path, F_OK, 0) == 0;
}

static void placed_entry_is_whole_and_the_first_stays(void **state)
{
    char *names[3];
    int owns[3] = {begin("a", &names[0]), begin("b", &names[1]), begin("c", &names[2])};
    (void)state;
    assert_int_equal(tc_store_sweep(store, tc_store_is_begun), 0);
    assert_int_equal(tc_store_place(store, names[0], store, "one", true), 0);
    assert_true(has("one/a"));
    assert_false(has(names[0]));
    assert_int_equal(tc_store_place(store, names[1], store, "one", false), 0);
    assert_true(has("one/a") && has(names[1]));
    assert_int_equal(tc_store_place(store, names[2], store, "one", true), 0);
    assert_true(has("one/c"));
    for (int i = 0; i < 3; i++)
        (void)close(owns[i]);
    assert_int_equal(tc_store_sweep(store, tc_store_is_begun), 2); /* b, and a in c's place */
    assert_int_equal(tc_store_count(store), 1);
    assert_int_equal(tc_store_place(store, names[0], store, "two", true), -1);
    assert_int_equal(errno, ENOENT);
    for (int i = 0; i < 3; i++)
        free(names[i]);
}

static void discarded_entry_is_removed(void **state)
{
    (void)state;
    assert_int_equal(tc_store_discard(store, "one", store), -1);
    assert_int_equal(errno, ENOENT);
    (void)close(tc_store_claim(store, "one", 2));
    assert_int_equal(mkdirat(store, "one/below", 0700), 0);
    assert_int_equal(tc_store_discard(store, "one", store), 0);
    assert_int_equal(tc_store_count(store), 0);
}

/* Deeper than a process may have open files, and closed to its owner. */
static void any_tree_is_removed(void **state)
{
    enum { DEPTH = 1500 };
    (void)state;
    assert_int_equal(mkdirat(store, "tree", 0700), 0);
    int at = openat(store, "tree", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; i < DEPTH; i++) {
        assert_int_equal(mkdirat(at, "d", 0700), 0);
        assert_int_equal(mknodat(at, "file", S_IFREG | 0600, 0), 0);
        int next = openat(at, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(next >= 0);
        if (i % 100 == 7)
            assert_int_equal(fchmod(at, 0), 0);
        (void)close(at);
        at = next;
    }
    (void)close(at);
    assert_int_equal(tc_remove_tree(store, "tree"), 0);
    assert_int_equal(tc_store_count(store), 0);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(directory_writable_by_others_is_not_entered),
        CASE(claimed_directory_is_exclusive),
        CASE(there_is_room_for_so_many),
        CASE(one_that_is_not_ours_is_not_claimed),
        CASE(one_that_is_swept_meanwhile_is_made_again),
        CASE(sweep_removes_unused_own_leftovers),
        CASE(removal_leaves_no_lock),
        CASE(placed_entry_is_whole_and_the_first_stays),
        CASE(discarded_entry_is_removed),
        CASE(a_file_is_replaced_as_a_whole),
        CASE(any_tree_is_removed),
    };
    return cmocka_run_group_tests_name("store", tests, NULL, NULL);
}
