/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Leases of ids between processes, and id mappings. */
#include "linux/ids.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>

#include "base/cleanup.h"
#include "linux/userns.h"
#include "tree.h"

static void need_root(void)
{
    if (geteuid() == 0)
        return;
    print_message("# skipped: only root can lease ids\n");
    skip();
}

/* A process that leases one id, tells it, and waits to be killed. */
static pid_t holder(uid_t *ret_id)
{
    int pair[2];
    assert_int_equal(pipe(pair), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails leaves nobody behind */
        struct tc_ids ids;
        uid_t id = tc_ids_open(&ids) == 0 ? tc_ids_take(&ids) : (uid_t)-1;
        ssize_t n = write(pair[1], &id, sizeof(id));
        for (;;)
            n += pause();
    }
    assert_int_equal(read(pair[0], ret_id, sizeof(*ret_id)), (ssize_t)sizeof(*ret_id));
    (void)close(pair[0]);
    (void)close(pair[1]);
    return pid;
}

static void end(pid_t pid)
{
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
}

/* Takes ids until `wanted` comes; whether it came. */
static bool can_take(uid_t wanted)
{
    struct tc_ids ids;
    uid_t id;
    bool found = false;
    assert_int_equal(tc_ids_open(&ids), 0);
    while (!found && (id = tc_ids_take(&ids)) != (uid_t)-1)
        found = id == wanted;
    tc_ids_close(&ids);
    return found;
}

static void nobody_shares_a_lease(void **state)
{
    need_root();
    uid_t first, second;
    pid_t a = holder(&first), b = holder(&second);
    assert_true(first != (uid_t)-1 && second != (uid_t)-1);
    assert_true(first != second);
    assert_true(first != 0 && second != 0);
    assert_false(can_take(first));
    end(a);
    assert_true(can_take(first)); /* a killed holder holds nothing */
    assert_false(can_take(second));
    end(b);
    assert_true(can_take(second));
}

static void leases_within_one_process(void **state)
{
    need_root();
    struct tc_ids ids;
    assert_int_equal(tc_ids_open(&ids), 0);
    uid_t a = tc_ids_take(&ids), b = tc_ids_take(&ids);
    assert_true(a >= ids.first && a < ids.first + TC_IDS_RANGE && a != b);
    tc_ids_give(&ids, a);
    assert_int_equal(tc_ids_take(&ids), a);
    tc_ids_close(&ids);
}

static void exhausted_ids_give_eagain(void **state)
{
    need_root();
    struct tc_ids ids;
    unsigned taken = 0;
    assert_int_equal(tc_ids_open(&ids), 0);
    while (tc_ids_take(&ids) != (uid_t)-1)
        taken++;
    assert_int_equal(errno, EAGAIN);
    assert_true(taken > 0 && taken <= TC_IDS_RANGE);
    tc_ids_close(&ids);
}

static int lease(void)
{
    struct tc_ids ids;
    return tc_ids_open(&ids) == -1 && (errno == EACCES || errno == EPERM || errno == EROFS) ? 0 : 1;
}

static void ordinary_user_gets_no_lease(void **state)
{
    assert_int_equal(as_ordinary_user(lease), 0);
}

static void a_map_is_one_line(void **state)
{
    char map[TC_ID_MAP_SIZE];
    tc_id_map(map, 1000, 2000000007);
    assert_string_equal(map, "1000 2000000007 1\n");
    tc_id_map(map, 4294967295U, 4294967295U);
    assert_string_equal(map, "4294967295 4294967295 1\n");
}

static void a_namespace_carries_a_map(void **state)
{
    need_root();
    struct tc_userns_holder holder;
    _autofd_ int fd = tc_idmap_userns(1000, 1001, 2000000007, 2000000008, &holder);
    assert_true(fd >= 0);
    assert_true(holder.pid > 0);
    tc_userns_holder_reap(&holder);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child is left */
    tc_userns_holder_reap(&holder);
}

static int map_others(void)
{
    struct tc_userns_holder holder;
    int fd = tc_idmap_userns(1, 1, 2, 2, &holder);
    tc_userns_holder_reap(&holder);
    return fd == -1 ? 0 : 1;
}

static void maps_of_others_are_refused(void **state)
{
    assert_int_equal(as_ordinary_user(map_others), 0);
}

/* The leases are the machine's: a test that takes all of them must not take them from the cages of
 * others, nor meet theirs. */
static int own_leases(void **state)
{
    (void)state;
    if (geteuid() != 0 || unshare(CLONE_NEWNS) < 0)
        return 0;
    assert_int_equal(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
    assert_int_equal(mount("none", "/run", "tmpfs", 0, "mode=0755"), 0);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_shares_a_lease),      cmocka_unit_test(leases_within_one_process),
        cmocka_unit_test(exhausted_ids_give_eagain),  cmocka_unit_test(ordinary_user_gets_no_lease),
        cmocka_unit_test(a_map_is_one_line),          cmocka_unit_test(a_namespace_carries_a_map),
        cmocka_unit_test(maps_of_others_are_refused),
    };
    return cmocka_run_group_tests_name("ids", tests, own_leases, NULL);
}
