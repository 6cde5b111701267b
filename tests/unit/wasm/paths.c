/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Paths of a guest: what is below its root, and nothing else by any way. */
#include "guest.h"

static void files_below_the_root_are_opened(void **state)
{
    assert_true(open_read("a") > 3);
    assert_true(open_read("sub/b") > 3);
    assert_true(open_read("./sub/../sub//b") > 3);
    assert_true(open_read("sub/..") > 3);
    assert_int_equal(open_read("nothing"), -WASI_NOENT);
    assert_int_equal(open_read("a/"), -WASI_NOTDIR);
    assert_int_equal(open_read("a/b"), -WASI_NOTDIR);
    assert_int_equal(open_read(""), -WASI_NOENT);
}

static void no_words_lead_out(void **state)
{
    static const char *const words[] = {"..",          "../out/key",          "/",
                                        "/etc/passwd", "sub/../../out/key",   "sub/../..",
                                        "./..",        "sub/./../../out/key", "../root/a"};
    for (size_t i = 0; i < TC_COUNT(words); i++) {
        assert_int_equal(open_read(words[i]), -WASI_NOTCAPABLE);
        assert_int_equal(open_write(words[i]), -WASI_NOTCAPABLE);
        assert_int_equal(on_path("path_create_directory", words[i]), WASI_NOTCAPABLE);
        assert_int_equal(on_path("path_unlink_file", words[i]), WASI_NOTCAPABLE);
        assert_int_equal(on_path("path_remove_directory", words[i]), WASI_NOTCAPABLE);
    }
}

/* The host's links, or those of an earlier tool. */
static void links_lead_nowhere_but_below(void **state)
{
    assert_int_equal(symlink("a", below("root/near")), 0);
    assert_int_equal(symlink("../root/a", below("root/round")), 0);
    assert_int_equal(symlink("../out/key", below("root/out")), 0);
    assert_int_equal(symlink("/etc/passwd", below("root/absolute")), 0);
    assert_int_equal(symlink("../out", below("root/directory")), 0);
    assert_int_equal(symlink("../a", below("root/sub/back")), 0);
    assert_int_equal(symlink("sub/back", below("root/twice")), 0);
    assert_int_equal(symlink("loop", below("root/loop")), 0);
    assert_true(open_read("near") > 3);
    assert_true(open_read("twice") > 3);
    assert_true(open_read("sub/back") > 3);
    assert_int_equal(open_read("round"), -WASI_NOTCAPABLE);
    assert_int_equal(open_read("out"), -WASI_NOTCAPABLE);
    assert_int_equal(open_write("out"), -WASI_NOTCAPABLE);
    assert_int_equal(open_read("absolute"), -WASI_NOTCAPABLE);
    assert_int_equal(open_read("directory/key"), -WASI_NOTCAPABLE);
    assert_int_equal(open_read("loop"), -WASI_LOOP);
    assert_int_equal(on_path("path_unlink_file", "directory/key"), WASI_NOTCAPABLE);
    assert_int_equal(access(below("out/key"), F_OK), 0);
}

/* A file behind a link that is not followed is not opened; a new one is not made there either. */
static void a_link_is_not_followed_unasked(void **state)
{
    uint64_t n = put(TEXT, "near");
    assert_int_equal(symlink("a", below("root/near")), 0);
    assert_int_equal(CALL("path_open", 3, 0, TEXT, n, 0, WASI_R_READ, 0, 0, RET), WASI_LOOP);
    assert_int_equal(CALL("path_filestat_get", 3, 0, TEXT, n, BUFFER), WASI_OK);
    assert_int_equal(memory[BUFFER + 16], WASI_TYPE_LINK);
    assert_int_equal(CALL("path_filestat_get", 3, WASI_FOLLOW, TEXT, n, BUFFER), WASI_OK);
    assert_int_equal(memory[BUFFER + 16], WASI_TYPE_REGULAR);
}

static void no_link_is_made_that_leads_out(void **state)
{
    assert_int_equal(make_link("a", "l1"), WASI_OK);
    assert_int_equal(make_link("../a", "sub/l2"), WASI_OK);
    assert_int_equal(make_link("../out/key", "l3"), WASI_NOTCAPABLE);
    assert_int_equal(make_link("../../out/key", "sub/l4"), WASI_NOTCAPABLE);
    assert_int_equal(make_link("/etc/passwd", "l5"), WASI_NOTCAPABLE);
    assert_int_equal(make_link("x/../../out", "l6"), WASI_NOTCAPABLE);
    assert_int_equal(make_link("", "l7"), WASI_NOENT);
}

/* Each of them would wait, or reach a driver. */
static void special_files_are_not_opened(void **state)
{
    assert_int_equal(mkfifo(below("root/fifo"), 0644), 0);
    assert_int_equal(open_read("fifo"), -WASI_NOTSUP);
    assert_int_equal(open_write("fifo"), -WASI_NXIO);
    if (mknod(below("root/null"), S_IFCHR | 0666, (1 << 8) | 3) == 0)
        assert_int_equal(open_read("null"), -WASI_NOTSUP);
}

static void a_read_only_root_is_one(void **state)
{
    uint64_t m = put(OTHER, "x"), n = put(TEXT, "a");
    assert_true(open_read("a") > 3);
    assert_int_equal(open_write("new"), -WASI_ROFS);
    assert_int_equal(open_path(3, "a", 0, WASI_R_WRITE), -WASI_ROFS);
    assert_int_equal(open_path(3, "a", WASI_O_TRUNC, WASI_R_READ), -WASI_ROFS);
    assert_int_equal(CALL("path_rename", 3, TEXT, n, 3, OTHER, m), WASI_ROFS);
    assert_int_equal(CALL("path_link", 3, 0, TEXT, n, 3, OTHER, m), WASI_ROFS);
    assert_int_equal(CALL("path_filestat_set_times", 3, 0, TEXT, n, 0, 0, WASI_MTIM), WASI_ROFS);
    assert_int_equal(on_path("path_unlink_file", "a"), WASI_ROFS);
    assert_int_equal(on_path("path_create_directory", "x"), WASI_ROFS);
    assert_int_equal(make_link("a", "x"), WASI_ROFS);
    int64_t fd = open_path(3, "a", 0, WASI_R_READ | WASI_R_TIMES);
    assert_int_equal(CALL("fd_filestat_set_times", (uint64_t)fd, 0, 0, WASI_MTIM_NOW), WASI_ROFS);
}

/* From a root that is written to one that is not, and back, nothing is moved or linked. */
static void nothing_moves_between_roots_of_different_rights(void **state)
{
    uint64_t n = put(TEXT, "key"), m = put(OTHER, "a");
    assert_true(tc_wasi_add_root(&guest, below("out"), NULL, false));
    assert_int_equal(CALL("path_rename", 4, TEXT, n, 3, TEXT, n), WASI_ROFS);
    assert_int_equal(CALL("path_rename", 3, OTHER, m, 4, OTHER, m), WASI_ROFS);
    assert_int_equal(CALL("path_link", 4, 0, TEXT, n, 3, TEXT, n), WASI_ROFS);
    assert_int_equal(access(below("out/key"), F_OK), 0);
}

static void a_single_file_shows_alone(void **state)
{
    tc_wasi_done(&guest);
    tc_wasi_init(&guest, AT_FDCWD);
    assert_true(tc_wasi_add_root(&guest, below("root/a"), NULL, false));
    assert_true(open_read("a") > 3);
    assert_int_equal(open_read("sub/b"), -WASI_NOTCAPABLE);
    assert_int_equal(open_read("sub"), -WASI_NOTCAPABLE);
    assert_int_equal(open_read("."), -WASI_NOTCAPABLE);
    assert_int_equal(open_read("./a"), -WASI_NOTCAPABLE);
    assert_int_equal(CALL("fd_readdir", 3, BUFFER, 4096, 0, RET), WASI_OK);
    assert_int_equal(read32(RET), WASI_DIRENT_SIZE + 1);
    assert_int_equal(memory[BUFFER + WASI_DIRENT_SIZE], 'a');
}

static void a_file_to_be_made_is_made_alone(void **state)
{
    tc_wasi_done(&guest);
    tc_wasi_init(&guest, AT_FDCWD);
    assert_false(tc_wasi_add_root(&guest, below("root/new"), NULL, false));
    assert_int_equal(errno, ENOENT);
    assert_false(tc_wasi_add_root(&guest, below("none/new"), NULL, true));
    assert_int_equal(errno, ENOENT);
    assert_true(tc_wasi_add_root(&guest, below("root/new"), NULL, true));
    assert_int_equal(open_path(3, "other", WASI_O_CREAT, WASI_R_WRITE), -WASI_NOTCAPABLE);
    assert_int_equal(open_path(3, "a", 0, WASI_R_WRITE), -WASI_NOTCAPABLE);
    assert_true(open_path(3, "new", WASI_O_CREAT, WASI_R_WRITE) > 3);
    assert_int_equal(access(below("root/new"), F_OK), 0);
    assert_int_equal(access(below("root/other"), F_OK), -1);
}

/* Below what is only read: the walls around the process say which file it is. */
static void a_file_is_written_in_a_directory_that_is_read(void **state)
{
    assert_true(tc_wasi_add_root(&guest, below("root/a"), NULL, true));
    assert_true(open_path(3, "a", 0, WASI_R_WRITE) > 3);
    assert_true(open_read("sub/b") > 3);
}

/* It names what was asked for, and shows nothing. */
static void outside_there_is_nothing(void **state)
{
    uint64_t n = put(TEXT, "etc/passwd");
    assert_true(tc_wasi_add_outside(&guest));
    assert_int_equal(open_path(4, "etc/passwd", 0, WASI_R_READ), -WASI_NOENT);
    assert_int_equal(open_path(4, ".", 0, WASI_R_READ), -WASI_NOENT);
    assert_int_equal(open_path(4, below("out/key") + 1, 0, WASI_R_READ), -WASI_NOENT);
    assert_int_equal(open_path(4, below("out/new") + 1, WASI_O_CREAT, WASI_R_WRITE),
                     -WASI_NOTCAPABLE);
    assert_int_equal(CALL("path_unlink_file", 4, TEXT, n), WASI_NOTCAPABLE);
    assert_int_equal(CALL("path_filestat_get", 4, 0, TEXT, n, BUFFER), WASI_NOENT);
    assert_int_equal(CALL("fd_readdir", 4, BUFFER, 4096, 0, RET), WASI_OK);
    assert_int_equal(read32(RET), 0);
    assert_int_equal(access(below("out/new"), F_OK), -1);
}

/* A guest that closes it closes its own number, and nothing of the next guest's. */
static void outside_is_the_same_for_the_next(void **state)
{
    assert_true(tc_wasi_add_outside(&guest));
    int fd = guest.fds[4].fd;
    assert_int_equal(CALL("fd_close", 4), WASI_OK);
    tc_wasi_done(&guest);
    tc_wasi_init(&guest, AT_FDCWD);
    assert_true(tc_wasi_add_outside(&guest));
    assert_int_equal(guest.fds[3].fd, fd);
    assert_true(fcntl(fd, F_GETFD) >= 0);
    assert_int_equal(open_path(3, "etc/passwd", 0, WASI_R_READ), -WASI_NOENT);
    tc_wasi_done(&guest);
    tc_wasi_init(&guest, AT_FDCWD);
    assert_true(tc_wasi_add_root(&guest, below("root/a"), NULL, false));
    assert_false(guest.roots[0].outside);
}

/* Who moves the directory that a walk stands in leads it nowhere: ".." is a step back, not up. */
static void a_step_back_is_no_step_up(void **state)
{
    assert_int_equal(symlink("sub/../../out/key", below("root/trap")), 0);
    assert_int_equal(open_read("trap"), -WASI_NOTCAPABLE);
    assert_int_equal(symlink("sub/../a", below("root/fine")), 0);
    assert_true(open_read("fine") > 3);
}

/* As the kernel has it, which is not shown the slash. */
static void a_slash_at_the_end_is_a_directory(void **state)
{
    uint64_t n = put(OTHER, "a"), to;
    assert_int_equal(on_path("path_unlink_file", "sub/"), WASI_ISDIR);
    assert_int_equal(on_path("path_unlink_file", "a/"), WASI_NOTDIR);
    assert_int_equal(on_path("path_unlink_file", "new/"), WASI_NOENT);
    assert_int_equal(make_link("a", "new/"), WASI_NOENT);
    assert_int_equal(make_link("a", "sub/"), WASI_EXIST);
    to = put(TEXT, "new/");
    assert_int_equal(CALL("path_link", 3, 0, OTHER, n, 3, TEXT, to), WASI_NOENT);
    n = put(OTHER, "a/");
    to = put(TEXT, "new");
    assert_int_equal(CALL("path_link", 3, 0, OTHER, n, 3, TEXT, to), WASI_NOTDIR);
    assert_int_equal(CALL("path_rename", 3, OTHER, n, 3, TEXT, to), WASI_NOTDIR);
    assert_int_equal(access(below("root/new"), F_OK), -1);
    assert_int_equal(access(below("root/a"), F_OK), 0);
}

static void a_directory_is_not_opened_to_be_written(void **state)
{
    assert_int_equal(open_path(3, "sub", WASI_O_DIRECTORY, WASI_R_READ | WASI_R_WRITE),
                     -WASI_ISDIR);
    assert_int_equal(open_path(3, "a", WASI_O_DIRECTORY, WASI_R_READ | WASI_R_WRITE), -WASI_NOTDIR);
    assert_true(open_path(3, "sub", WASI_O_DIRECTORY, WASI_R_READ) > 3);
    assert_true(open_path(3, "sub", 0, ~UINT64_C(0)) > 3);
}

static void long_paths_are_refused(void **state)
{
    memset(memory + BUFFER, 'x', 5000);
    assert_int_equal(CALL("path_open", 3, 0, BUFFER, 300, 0, WASI_R_READ, 0, 0, RET),
                     WASI_NAMETOOLONG);
    assert_int_equal(CALL("path_open", 3, 0, BUFFER, 5000, 0, WASI_R_READ, 0, 0, RET),
                     WASI_NAMETOOLONG);
    for (size_t i = 1; i < 5000; i += 2)
        memory[BUFFER + i] = '/';
    for (size_t i = 0; i < 5000; i += 2)
        memory[BUFFER + i] = '.';
    assert_int_equal(CALL("path_open", 3, 0, BUFFER, 4000, 0, WASI_R_READ, 0, 0, RET), WASI_OK);
    memory[BUFFER + 2] = '\0';
    assert_int_equal(CALL("path_open", 3, 0, BUFFER, 4000, 0, WASI_R_READ, 0, 0, RET), WASI_INVAL);
}

#define WRITES(test) cmocka_unit_test_setup_teardown(test, with_writing, end)
#define READS(test) cmocka_unit_test_setup_teardown(test, with_reading, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WRITES(files_below_the_root_are_opened),
        WRITES(no_words_lead_out),
        WRITES(links_lead_nowhere_but_below),
        WRITES(a_link_is_not_followed_unasked),
        WRITES(no_link_is_made_that_leads_out),
        WRITES(special_files_are_not_opened),
        READS(a_read_only_root_is_one),
        WRITES(nothing_moves_between_roots_of_different_rights),
        WRITES(a_single_file_shows_alone),
        WRITES(a_file_to_be_made_is_made_alone),
        READS(a_file_is_written_in_a_directory_that_is_read),
        WRITES(outside_there_is_nothing),
        WRITES(outside_is_the_same_for_the_next),
        WRITES(a_step_back_is_no_step_up),
        WRITES(a_slash_at_the_end_is_a_directory),
        WRITES(a_directory_is_not_opened_to_be_written),
        WRITES(long_paths_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
