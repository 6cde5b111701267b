/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The short way says what realpath(3) says, of every path. */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/strv.h"
#include "test.h"

static char root[] = "/tmp/toolcage-links-XXXXXX";

static int build(void **state)
{
    (void)state;
    if (!mkdtemp(root) || chdir(root) < 0 || mkdir("dir", 0755) < 0 || mkdir("dir/sub", 0755) < 0 ||
        mkdir("...", 0755) < 0)
        return -1;
    int fd = open("dir/lib.so.0.1", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    return fd < 0 || close(fd) < 0 || symlink("lib.so.0.1", "dir/lib.so.0") < 0 ||
           symlink("lib.so.0", "dir/lib.so") < 0 || symlink("dir", "way") < 0 ||
           symlink("../dir/sub", "dir/up") < 0 || symlink("nowhere", "dangling") < 0 ||
           symlink("loop", "loop") < 0 || symlink("..", "dir/above") < 0;
}

static int tear_down(void **state)
{
    static const char *const names[] = {"dir/above",    "loop",          "dangling",
                                        "dir/up",       "way",           "dir/lib.so",
                                        "dir/lib.so.0", "dir/lib.so.0.1"};
    (void)state;
    for (size_t i = 0; i < TC_COUNT(names); i++)
        (void)unlink(names[i]);
    return rmdir("...") < 0 || rmdir("dir/sub") < 0 || rmdir("dir") < 0 || chdir("/") < 0 ||
           rmdir(root) < 0;
}

static void links_resolve_like_realpath(void **state)
{
    static const char *const names[] = {"",
                                        "dir",
                                        "dir/",
                                        "dir/sub",
                                        "dir/lib.so.0.1",
                                        "dir/lib.so.0",
                                        "dir/lib.so",
                                        "way",
                                        "way/lib.so.0",
                                        "dir/up",
                                        "dangling",
                                        "loop",
                                        "none",
                                        "dir/none",
                                        "none/none",
                                        "dir//sub",
                                        "dir/./sub",
                                        "dir/../dir",
                                        "...",
                                        "dir/above",
                                        "dir/above/dir",
                                        "dir/lib.so.0.1/none",
                                        "dir/lib.so.0/none"};
    for (size_t i = 0; i < TC_COUNT(names); i++) {
        _autofree_ char *path = tc_format("%s/%s", root, names[i]);
        errno = 0;
        _autofree_ char *wanted = realpath(path, NULL);
        int errnum = errno;
        _autofree_ char *real = tc_path_real(path);
        if (!tc_streq(real, wanted))
            fail_msg("%s: %s, not %s", path, real ? real : "none", wanted ? wanted : "none");
        if (!wanted)
            assert_int_equal(errno, errnum);
    }
}

static void straight_paths_have_no_link(void **state)
{
    static const struct {
        const char *name;
        int straight;
    } cases[] = {{"dir/sub", 1}, {"none/none", 0},    {"dir/lib.so.0.1/none", 0}, {"...", 1},
                 {"way", -1},    {"way/none", -1},    {"dangling", -1},           {"loop/x", -1},
                 {"dir/up", -1}, {"dir/lib.so.0", -1}};
    for (size_t i = 0; i < TC_COUNT(cases); i++) {
        _autofree_ char *path = tc_path_join(root, cases[i].name);
        if (tc_path_straight(path) != cases[i].straight)
            fail_msg("%s is not %d", cases[i].name, cases[i].straight);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(links_resolve_like_realpath),
                                       cmocka_unit_test(straight_paths_have_no_link)};
    return cmocka_run_group_tests_name("links", tests, build, tear_down);
}
