/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Rights by ABI on paper, for every ABI; live where the kernel has Landlock. */
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "linux/landlock_rules.h"
#include "test.h"

/* By hand, from the kernel's documentation of each ABI. */
static const struct {
    uint64_t handled, scoped, read_tree, write_tree, read_file, write_file, device;
} want[] = {
    [0] = {0, 0, 0, 0, 0, 0, 0},
    [1] = {0x1fff, 0, 0xd, 0x15bf, 0x5, 0x7, 0x6},
    [2] = {0x3fff, 0, 0xd, 0x35bf, 0x5, 0x7, 0x6},
    [3] = {0x7fff, 0, 0xd, 0x75bf, 0x5, 0x4007, 0x4006},
    [4] = {0x7fff, 0, 0xd, 0x75bf, 0x5, 0x4007, 0x4006},
    [5] = {0xffff, 0, 0xd, 0x75bf, 0x5, 0x4007, 0xc006},
    [6] = {0xffff, 3, 0xd, 0x75bf, 0x5, 0x4007, 0xc006},
    [7] = {0xffff, 3, 0xd, 0x75bf, 0x5, 0x4007, 0xc006},
    [8] = {0xffff, 3, 0xd, 0x75bf, 0x5, 0x4007, 0xc006},
    [9] = {0x1ffff, 3, 0xd, 0x75bf, 0x5, 0x4007, 0xc006},
};

static void rights_by_abi(void **state)
{
    for (int abi = 0; abi <= 9; abi++) {
        assert_int_equal(tc_landlock_handled(abi), want[abi].handled);
        assert_int_equal(tc_landlock_scoped(abi), want[abi].scoped);
        assert_int_equal(tc_landlock_rights(abi, TC_LANDLOCK_READ_TREE), want[abi].read_tree);
        assert_int_equal(tc_landlock_rights(abi, TC_LANDLOCK_WRITE_TREE), want[abi].write_tree);
        assert_int_equal(tc_landlock_rights(abi, TC_LANDLOCK_READ_FILE), want[abi].read_file);
        assert_int_equal(tc_landlock_rights(abi, TC_LANDLOCK_WRITE_FILE), want[abi].write_file);
        assert_int_equal(tc_landlock_rights(abi, TC_LANDLOCK_DEVICE), want[abi].device);
        assert_int_equal(tc_landlock_rights(abi, TC_LANDLOCK_LIST), abi ? 0x8 : 0);
        assert_int_equal(tc_landlock_rights(abi, TC_LANDLOCK_DATA_TREE), abi ? 0xc : 0);
        assert_int_equal(tc_landlock_rights(abi, TC_LANDLOCK_DATA_FILE), abi ? 0x4 : 0);
    }
    assert_int_equal(tc_landlock_handled(-1), 0);
    assert_int_equal(tc_landlock_handled(42), want[9].handled);
    assert_int_equal(tc_landlock_scoped(42), 3);
}

/* Sockets are made in storage of the cage's own, and there alone. */
static void nothing_ever_grants_devices_and_sockets(void **state)
{
    const uint64_t never = LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK |
                           1 << 16 /* RESOLVE_UNIX */,
                   sock = LANDLOCK_ACCESS_FS_MAKE_SOCK;
    for (int abi = 0; abi <= 9; abi++) {
        assert_int_equal(tc_landlock_rights(abi, TC_LANDLOCK_OWN_TREE),
                         abi ? want[abi].write_tree | sock : 0);
        for (int kind = TC_LANDLOCK_READ_TREE; kind <= TC_LANDLOCK_DATA_FILE; kind++) {
            assert_int_equal(tc_landlock_rights(abi, kind) & never, 0);
            assert_true(kind == TC_LANDLOCK_OWN_TREE || !(tc_landlock_rights(abi, kind) & sock));
            assert_int_equal(tc_landlock_rights(abi, kind) & ~tc_landlock_handled(abi), 0);
        }
    }
}

static char root[] = "/tmp/toolcage-landlock-XXXXXX";

static int make_tree(void **state)
{
    return mkdtemp(root) && chdir(root) == 0 && mkdir("read", 0755) == 0 &&
                   mkdir("write", 0755) == 0 && mkdir("outside", 0755) == 0 &&
                   close(creat("read/file", 0644)) == 0 &&
                   close(creat("outside/file", 0644)) == 0 && close(creat("single", 0644)) == 0
               ? 0
               : -1;
}

static int drop_tree(void **state)
{
    static const char *const files[] = {"read/file", "outside/file", "single", "write/a",
                                        "write/d/a"};
    for (size_t i = 0; i < TC_COUNT(files); i++)
        (void)unlink(files[i]);
    static const char *const dirs[] = {"read", "write/d", "write", "outside"};
    for (size_t i = 0; i < TC_COUNT(dirs); i++)
        (void)rmdir(dirs[i]);
    return chdir("/") == 0 ? rmdir(root) : -1;
}

static bool can_open(const char *path, int flags)
{
    int fd = open(path, flags | O_CLOEXEC, 0644);
    if (fd >= 0)
        (void)close(fd);
    return fd >= 0;
}

static bool allow(int ruleset, int abi, const char *path, enum tc_landlock_kind kind)
{
    _autofd_ int fd = open(path, O_PATH | O_CLOEXEC);
    return fd >= 0 && tc_landlock_allow(ruleset, abi, fd, kind) == 0;
}

#define EXPECT(condition)    \
    do {                     \
        if (!(condition))    \
            return __LINE__; \
    } while (0)

static int confined(int abi)
{
    int ruleset = tc_landlock_open(abi, 0);
    EXPECT(ruleset >= 0);
    EXPECT(fcntl(ruleset, F_GETFD) == FD_CLOEXEC);
    EXPECT(allow(ruleset, abi, "read", TC_LANDLOCK_READ_TREE));
    EXPECT(allow(ruleset, abi, "write", TC_LANDLOCK_WRITE_TREE));
    EXPECT(allow(ruleset, abi, "single", TC_LANDLOCK_WRITE_FILE));
    EXPECT(allow(ruleset, abi, "/dev/null", TC_LANDLOCK_DEVICE));
    EXPECT(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    EXPECT(tc_landlock_restrict(ruleset) == 0);
    EXPECT(can_open("read/file", O_RDONLY));
    EXPECT(!can_open("read/file", O_WRONLY) && errno == EACCES);
    EXPECT(!can_open("read/new", O_WRONLY | O_CREAT));
    EXPECT(!can_open("outside/file", O_RDONLY));
    EXPECT(!can_open("outside", O_RDONLY | O_DIRECTORY));
    EXPECT(can_open("single", O_RDWR));
    EXPECT(can_open("/dev/null", O_RDWR));
    EXPECT(can_open("write/a", O_RDWR | O_CREAT));
    EXPECT(mkdir("write/d", 0755) == 0);
    EXPECT(rename("write/a", "write/d/a") == 0 || (abi < 2 && errno == EXDEV));
    EXPECT(mknod("write/socket", S_IFSOCK | 0600, 0) < 0 && errno == EACCES);
    if (abi >= 3)
        EXPECT(truncate("outside/file", 0) < 0 && errno == EACCES);
    return 0;
}

static void the_kernel_upholds_each_abi_it_has(void **state)
{
    int most = tc_landlock_abi();
    if (!most) {
        print_message("# skipped: Landlock: %s\n", strerror(errno));
        skip();
    }
    for (int abi = 1; abi <= most && abi <= TC_LANDLOCK_ABI_MAX; abi++) {
        pid_t pid = fork();
        if (pid == 0) {
            int line = confined(abi);
            if (line)
                (void)fprintf(stderr, "# abi %d: line %d: %s\n", abi, line, strerror(errno));
            _exit(line != 0);
        }
        int status;
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
        (void)unlink("write/d/a");
        (void)unlink("write/a");
        (void)rmdir("write/d");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rights_by_abi),
        cmocka_unit_test(nothing_ever_grants_devices_and_sockets),
        cmocka_unit_test_setup_teardown(the_kernel_upholds_each_abi_it_has, make_tree, drop_tree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
