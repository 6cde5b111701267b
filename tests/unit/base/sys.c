/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "test.h"

#include "base/cleanup.h"
#include "base/sys.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

static void answers_like_libc(void **state)
{
    assert_int_equal(tc_sys(SYS_getpid, 0, 0, 0, 0, 0, 0), getpid());
    errno = 0;
    assert_int_equal(tc_sys(SYS_close, -1, 0, 0, 0, 0, 0), -1);
    assert_int_equal(errno, EBADF);
}

/* All six arguments arrive: pread64 uses four, and a wrong fourth would read other bytes. */
static void passes_every_argument(void **state)
{
    int pipes[2];
    char bytes[8] = "";
    struct iovec {
        void *base;
        size_t len;
    } iov = {bytes, 3};
    assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
    assert_int_equal(write(pipes[1], "abcdef", 6), 6);
    assert_int_equal(tc_sys(SYS_preadv2, pipes[0], TC_ARG(&iov), 1, -1, -1, 0), 3);
    assert_string_equal(bytes, "abc");
    /* the sixth: a flag that preadv2 does not know */
    errno = 0;
    assert_int_equal(tc_sys(SYS_preadv2, pipes[0], TC_ARG(&iov), 1, -1, -1, 1L << 30), -1);
    assert_int_equal(errno, EOPNOTSUPP);
    (void)close(pipes[0]);
    (void)close(pipes[1]);
}

static void pidfds_name_processes(void **state)
{
    _autofd_ int fd = tc_pidfd_open(getpid());
    assert_true(fd >= 0);
    assert_int_equal(tc_sys(SYS_pidfd_send_signal, fd, 0, 0, 0, 0, 0), 0);
    errno = 0;
    assert_int_equal(tc_pidfd_open(-1), -1);
    assert_int_equal(errno, EINVAL);
}

/* The flag that path resolution rests on: no way out by ".." nor by a link. */
static void openat2_resolves_beneath(void **state)
{
    struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_BENEATH};
    _autofd_ int root = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    assert_true(root >= 0);
    errno = 0;
    assert_int_equal(tc_openat2(root, "../etc", &how), -1);
    assert_int_equal(errno, EXDEV);
    _autofd_ int inside = tc_openat2(root, "self/status", &how);
    assert_true(inside >= 0);
}

static _Noreturn void rename_for_ever(const char *dir)
{
    char a[64], b[64];
    (void)snprintf(a, sizeof(a), "%s/a", dir);
    (void)snprintf(b, sizeof(b), "%s/b", dir);
    (void)mkdir(a, 0700);
    for (;;) {
        (void)rename(a, b);
        (void)rename(b, a);
    }
}

/* Whatever others rename elsewhere. */
static void openat2_says_the_same_each_time(void **state)
{
    enum { TIMES = 20000 };
    struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT};
    char dir[] = "/tmp/toolcage-sys-XXXXXX", a[64], b[64];
    int given_up = 0, missed = 0;
    assert_non_null(mkdtemp(dir));
    _autofd_ int root = open("/usr", O_PATH | O_DIRECTORY | O_CLOEXEC);
    pid_t pid = fork();
    if (pid == 0)
        rename_for_ever(dir);
    for (int i = 0; i < TIMES; i++) {
        int fd = (int)tc_sys(SYS_openat2, root, TC_ARG("lib/../lib/.."), TC_ARG(&how), sizeof(how),
                             0, 0);
        given_up += fd < 0 && errno == EAGAIN;
        if (fd >= 0)
            (void)close(fd);
        fd = tc_openat2(root, "lib/../lib/..", &how);
        missed += fd < 0;
        if (fd >= 0)
            (void)close(fd);
    }
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
    (void)snprintf(a, sizeof(a), "%s/a", dir);
    (void)snprintf(b, sizeof(b), "%s/b", dir);
    (void)rmdir(a);
    (void)rmdir(b);
    (void)rmdir(dir);
    print_message("the kernel gave up %d times of %d\n", given_up, TIMES);
    assert_int_equal(missed, 0);
}

static void close_range_closes(void **state)
{
    int high = fcntl(0, F_DUPFD_CLOEXEC, 500);
    assert_true(high >= 500);
    assert_int_equal(tc_close_range(500, ~0U, 0), 0);
    errno = 0;
    assert_int_equal(fcntl(high, F_GETFD), -1);
    assert_int_equal(errno, EBADF);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_like_libc),
        cmocka_unit_test(passes_every_argument),
        cmocka_unit_test(pidfds_name_processes),
        cmocka_unit_test(openat2_resolves_beneath),
        cmocka_unit_test(openat2_says_the_same_each_time),
        cmocka_unit_test(close_range_closes),
    };
    return cmocka_run_group_tests_name("base/sys", tests, NULL, NULL);
}
