/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Who may look into the state directories. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "state/store.h"
#include "workspace/state.h"

enum { ORDINARY = 65534 }; /* root's state has a place of its own */

static char top[] = "/tmp/toolcage-state-XXXXXX";
static char state_place[sizeof(top) + sizeof("/a/state")];

static mode_t mode_of(const char *part)
{
    char path[128];
    struct stat st;
    (void)snprintf(path, sizeof(path), "%s/%s", state_place, part);
    assert_int_equal(stat(path, &st), 0);
    return st.st_mode & 07777;
}

static void new_directory_is_private(void **state)
{
    const char *where = NULL;
    (void)state;
    assert_int_equal(tc_state_look("sessions"), -1);
    assert_int_equal(errno, ENOENT);
    _autofd_ int fd = tc_state_open("sessions", &where);
    assert_true(fd >= 0);
    assert_string_equal(where, state_place);
    assert_int_equal(mode_of("sessions"), 0700);
    assert_int_equal(mode_of("."), 0755);
}

static void wider_directory_is_narrowed(void **state)
{
    char path[128];
    (void)state;
    (void)snprintf(path, sizeof(path), "%s/held", state_place);
    assert_int_equal(mkdir(path, 0755), 0);
    _autofd_ int looked = tc_state_look("held");
    assert_true(looked >= 0);
    assert_int_equal(mode_of("held"), 0700);
    assert_int_equal(chmod(path, 0755), 0);
    _autofd_ int fd = tc_state_open("held", NULL);
    assert_true(fd >= 0);
    assert_int_equal(mode_of("held"), 0700);
    assert_int_equal(chmod(path, 0777), 0); /* anybody could have put things there */
    assert_int_equal(tc_state_open("held", NULL), -1);
    assert_int_equal(errno, EPERM);
}

static void shared_directory_keeps_its_mode(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        _autofd_ int fd = tc_state_open_mode("engine", 0711, NULL);
        assert_true(fd >= 0);
        assert_int_equal(mode_of("engine"), 0711);
    }
}

static int set_up(void **state)
{
    (void)state;
    if (!mkdtemp(top) || (geteuid() == 0 && chown(top, ORDINARY, ORDINARY) < 0) ||
        (geteuid() == 0 && seteuid(ORDINARY) < 0))
        return -1;
    (void)snprintf(state_place, sizeof(state_place), "%s/a/state", top);
    (void)umask(0022);
    tc_state_set(state_place);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    if (getuid() == 0 && seteuid(0) < 0)
        return -1;
    return tc_remove_tree(AT_FDCWD, top);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(new_directory_is_private),
        cmocka_unit_test(wider_directory_is_narrowed),
        cmocka_unit_test(shared_directory_keeps_its_mode),
    };
    return cmocka_run_group_tests_name("workspace state", tests, set_up, tear_down);
}
