/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Units that several hold: no one twice, as many as there are, and given back by whoever ends. */
#include "state/shares.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "test.h"

enum { ALL = 10 };

static char path[] = "/tmp/toolcage-shares-XXXXXX";

static int another(void)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    return fd;
}

static void take(int fd, int64_t count)
{
    int64_t left = 0;
    assert_int_equal(tc_shares_take(fd, ALL, count, &left), 0);
}

static void refuse(int fd, int64_t count, int64_t left)
{
    int64_t told = -1;
    assert_int_equal(tc_shares_take(fd, ALL, count, &told), -1);
    assert_int_equal(errno, EAGAIN);
    assert_int_equal(told, left);
}

static int make(void **state)
{
    int fd = mkstemp(path);
    (void)state;
    return fd < 0 ? -1 : close(fd);
}

static int drop(void **state)
{
    (void)state;
    return unlink(path);
}

static void shares_never_exceed_the_budget(void **state)
{
    int a = another(), b = another(), c = another();
    (void)state;
    take(a, 6);
    refuse(b, 5, 4);
    take(b, 4);
    refuse(c, 1, 0);
    (void)close(a);
    refuse(c, 7, 6);
    take(c, 6);
    (void)close(b);
    (void)close(c);
}

/* What was given back between others is used again, in as many pieces as it has. */
static void released_gaps_are_reused(void **state)
{
    int fds[5];
    (void)state;
    for (int i = 0; i < 5; i++)
        take(fds[i] = another(), 2);
    for (int i = 0; i < 5; i += 2)
        (void)close(fds[i]);
    int all = another(), more = another();
    refuse(all, 7, 6);
    take(all, 6);
    refuse(more, 1, 0);
    tc_shares_give(all);
    take(more, 6);
    const int open_still[] = {fds[1], fds[3], all, more};
    for (size_t i = 0; i < TC_COUNT(open_still); i++)
        (void)close(open_still[i]);
}

static void killed_holder_releases_its_share(void **state)
{
    int pair[2], mine = another();
    char byte;
    (void)state;
    assert_int_equal(pipe(pair), 0);
    pid_t pid = fork();
    if (pid == 0) {
        int64_t left;
        int fd = open(path, O_RDWR | O_CLOEXEC);
        if (tc_shares_take(fd, ALL, ALL, &left) == 0 && write(pair[1], "", 1) == 1)
            (void)pause();
        _exit(1);
    }
    assert_int_equal(read(pair[0], &byte, 1), 1);
    refuse(mine, 1, 0);
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
    take(mine, ALL);
    (void)close(mine);
    (void)close(pair[0]);
    (void)close(pair[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_never_exceed_the_budget),
        cmocka_unit_test(released_gaps_are_reused),
        cmocka_unit_test(killed_holder_releases_its_share),
    };
    return cmocka_run_group_tests(tests, make, drop);
}
