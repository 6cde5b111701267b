/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Files and directories below a descriptor, and, where the user may mount, detached mounts. */
#include "linux/mounts.h"

#include <errno.h>
#include <sys/statvfs.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "tree.h"

static void directories_are_made(void **state)
{
    struct stat st;
    _autofd_ int here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(tc_mkdirs(here, "a/b/c"), 0);
    assert_int_equal(tc_mkdirs(here, "a/b/c"), 0);
    assert_int_equal(tc_mkdirs(here, "a/d"), 0);
    assert_int_equal(stat("a/b/c", &st), 0);
    assert_true(S_ISDIR(st.st_mode));
    assert_int_equal(stat("a/d", &st), 0);
    tree_file("plain", "");
    assert_int_equal(tc_mkdirs(here, "plain/x"), -1);
    assert_int_equal(errno, ENOTDIR);
    char path[PATH_MAX + 2];
    memset(path, 'a', sizeof(path) - 1);
    path[sizeof(path) - 1] = '\0';
    assert_int_equal(tc_mkdirs(here, path), -1);
    assert_int_equal(errno, ENAMETOOLONG);
}

static void files_are_put_once(void **state)
{
    _autofd_ int here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    struct stat st;
    assert_int_equal(tc_put_file(here, "new/file", "a\0b", 3, 0444), 0);
    assert_int_equal(tc_read_file(AT_FDCWD, "new/file", &text), 0);
    assert_int_equal(text.len, 3);
    assert_memory_equal(text.data, "a\0b", 3);
    assert_int_equal(stat("new/file", &st), 0);
    assert_int_equal(st.st_mode & 0777, 0444);
    assert_int_equal(tc_put_file(here, "new/file", "c", 1, 0444), -1);
    assert_int_equal(errno, EEXIST);
    assert_int_equal(tc_put_file(here, "empty", "", 0, 0), 0);
    tree_link("target", "dangling");
    assert_int_equal(tc_put_file(here, "dangling", "x", 1, 0644), -1);
    assert_int_equal(errno, EEXIST);
    assert_int_equal(access("target", F_OK), -1);
}

static void need_mounts(void)
{
    _autofd_ int fd = tc_tmpfs(1 << 20, 16, "0755", false);
    if (fd >= 0)
        return;
    assert_true(errno == EPERM || errno == ENOSYS);
    print_message("# skipped: only root can mount without a namespace of its own: %s\n",
                  strerror(errno));
    skip();
}

static void a_tmpfs_is_bounded(void **state)
{
    need_mounts();
    static const char block[65536];
    _autofd_ int fs = tc_tmpfs(1 << 20, 8, "1777", false);
    struct stat st;
    assert_int_equal(fstat(fs, &st), 0);
    assert_int_equal(st.st_mode & 07777, 01777);
    _autofd_ int file = openat(fs, "big", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    int64_t written = 0;
    ssize_t n;
    while ((n = write(file, block, sizeof(block))) > 0)
        written += n;
    assert_int_equal(errno, ENOSPC);
    assert_int_equal(written, 1 << 20);
    int made = 0;
    char name[8];
    for (; made < 20; made++) {
        (void)snprintf(name, sizeof(name), "%d", made);
        if (mkdirat(fs, name, 0700) < 0)
            break;
    }
    assert_int_equal(errno, ENOSPC);
    assert_true(made >= 4 && made <= 8);
}

static void a_tree_is_read_only_or_not(void **state)
{
    need_mounts();
    tree_directory("shown");
    tree_file("shown/file", "text");
    _autofd_ int path = open("shown", O_PATH | O_CLOEXEC);
    _autofd_ int shut = tc_tree_open(path, &(struct tc_tree){.userns = -1}, NULL);
    _autofd_ int open_one =
        tc_tree_open(path, &(struct tc_tree){.writable = true, .userns = -1}, NULL);
    struct statvfs v;
    assert_true(shut >= 0 && open_one >= 0);
    assert_int_equal(openat(shut, "file", O_WRONLY | O_CLOEXEC), -1);
    assert_int_equal(errno, EROFS);
    assert_int_equal(mkdirat(shut, "new", 0700), -1);
    assert_int_equal(mkdirat(open_one, "new", 0700), 0);
    assert_int_equal(access("shown/new", F_OK), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(fstatvfs(i ? open_one : shut, &v), 0);
        assert_true((v.f_flag & ST_NOSUID) && (v.f_flag & ST_NODEV));
        assert_false(v.f_flag & ST_NOEXEC);
    }
}

static void a_failed_tree_names_its_step(void **state)
{
    const char *step = NULL;
    assert_int_equal(tc_tree_open(-1, &(struct tc_tree){.userns = -1}, &step), -1);
    assert_string_equal(step, "open_tree");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(directories_are_made),
        cmocka_unit_test(files_are_put_once),
        cmocka_unit_test(a_tmpfs_is_bounded),
        cmocka_unit_test(a_tree_is_read_only_or_not),
        cmocka_unit_test(a_failed_tree_names_its_step),
    };
    return cmocka_run_group_tests_name("mounts", tests, tree_new, tree_end);
}
