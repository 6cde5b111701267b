/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "test.h"

#include "base/fd.h"
#include "base/process.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static void is_the_owner_of_the_kernels_settings(void **state)
{
    _autobuf_ struct tc_buf map = TC_BUF_INIT;
    unsigned inside = 1, outside = 1;
    struct tc_root root = tc_host_root_user();
    assert_int_equal(tc_read_file(AT_FDCWD, "/proc/self/uid_map", &map), 0);
    assert_int_equal(sscanf(map.data, "%u %u", &inside, &outside), 2);
    if (inside != 0 || outside != 0) {
        print_message("this user namespace does not map the machine's root as itself\n");
        skip();
    }
    assert_int_equal(root.uid, 0);
    assert_int_equal(root.gid, 0);
}

/* In a namespace with no map at all every id is the overflow id, the machine's root too. */
static void unmapped_root_is_the_overflow_id(void **state)
{
    int status = 0;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        if (unshare(CLONE_NEWUSER) < 0)
            _exit(2);
        _exit(tc_host_root_user().uid == 65534 && tc_host_root_user().gid == 65534 ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WEXITSTATUS(status) == 2) {
        print_message("skipped: this machine makes no user namespaces\n");
        skip();
    }
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_the_owner_of_the_kernels_settings),
        cmocka_unit_test(unmapped_root_is_the_overflow_id),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
