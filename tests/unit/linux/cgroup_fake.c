/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Control groups of other machines, as fake trees of ordinary files: which directory is chosen,
 * what is written where, and what is said when it cannot be. Directories of such a tree do not fill
 * themselves, so the seams make_dir and remove_dir do. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/strv.h"
#include "linux/cgroup_impl.h"
#include "test.h"

static char root[64];
static int root_fd = -1;

static void put(int dir, const char *file, const char *text)
{
    _autofd_ int fd = openat(dir, file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(tc_write_all(fd, text, strlen(text)), 0);
}

static void get(const char *path, char out[256])
{
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    if (tc_read_file(root_fd, path, &text) < 0)
        fail_msg("%s: %s", path, strerror(errno));
    tc_strcopy(out, 256, text.data ? text.data : "");
}

static void expect_file(const char *path, const char *want)
{
    char text[256];
    get(path, text);
    if (strcmp(text, want) != 0)
        fail_msg("%s holds '%s' in place of '%s'", path, text, want);
}

/* A version 2 group with what the kernel puts into it. */
static void fill_v2(int dir, const char *controllers, const char *subtree, const char *procs)
{
    static const char *const files[] = {"memory.max", "memory.swap.max", "memory.oom.group",
                                        "pids.max",   "cpu.max",         "cgroup.kill"};
    put(dir, "cgroup.controllers", controllers);
    put(dir, "cgroup.subtree_control", subtree);
    put(dir, "cgroup.procs", procs);
    put(dir, "cgroup.events", "populated 0\nfrozen 0\n");
    put(dir, "cpu.stat", "usage_usec 7000\nuser_usec 5000\nsystem_usec 2000\n");
    put(dir, "memory.events", "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\noom_group_kill 0\n");
    put(dir, "memory.peak", "4096\n");
    put(dir, "pids.events", "max 0\n");
    put(dir, "pids.peak", "0\n");
    put(dir, "pids.current", "0\n");
    for (size_t i = 0; i < TC_COUNT(files); i++)
        put(dir, files[i], "");
}

static int make_v2(int dirfd, const char *name)
{
    if (mkdirat(dirfd, name, 0755) < 0)
        return -1;
    _autofd_ int dir = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    fill_v2(dir, "cpu memory pids\n", "", "");
    return 0;
}

static int remove_tree(int dirfd, const char *name)
{
    int fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -1;
    _autodir_ DIR *dir = fdopendir(fd);
    for (struct dirent *entry; (entry = readdir(dir));) {
        if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
            (void)remove_tree(fd, entry->d_name);
        else if (entry->d_type != DT_DIR)
            (void)unlinkat(fd, entry->d_name, 0);
    }
    return unlinkat(dirfd, name, AT_REMOVEDIR);
}

static int setup(void **state)
{
    tc_strcopy(root, sizeof(root), "/tmp/toolcage-cgroup-XXXXXX");
    if (!mkdtemp(root))
        return -1;
    root_fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return 0;
}

static int teardown(void **state)
{
    (void)close(root_fd);
    return remove_tree(AT_FDCWD, root);
}

static void group(const char *path, const char *controllers, const char *subtree, const char *procs)
{
    if (strcmp(path, ".") != 0)
        assert_int_equal(mkdirat(root_fd, path, 0755), 0);
    _autofd_ int dir = openat(root_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    fill_v2(dir, controllers, subtree, procs);
}

static struct tc_cgroups *open_v2(const char *own)
{
    _autofree_ char *groups = tc_format("0::%s\n", own);
    _autofree_ char *mounts = tc_format("30 23 0:26 / %s rw - cgroup2 cgroup2 rw\n", root);
    struct tc_cgroups *cgroups = NULL;
    assert_int_equal(tc_cgroups_open_texts(groups, mounts, &cgroups, NULL), 0);
    cgroups->make_dir = make_v2;
    cgroups->remove_dir = remove_tree;
    tc_strcopy(cgroups->name, sizeof(cgroups->name), "toolcage-test");
    return cgroups;
}

static void the_nearest_group_that_can_hand_on_is_chosen(void **state)
{
    group(".", "cpu io memory pids\n", "cpu memory pids\n", "");
    group("user", "cpu memory pids\n", "cpu memory pids\n", "");
    group("user/shell", "cpu memory pids\n", "", "123\n");
    struct tc_cgroups *cgroups = open_v2("/user/shell");
    _autofree_ char *want = tc_format("%s/user", root);
    assert_string_equal(cgroups->base[0], want);
    for (int c = 0; c < TC_CGROUP_CONTROLLERS; c++)
        assert_string_equal(tc_cgroups_describe(cgroups, c).mechanism, "cgroup v2");
    tc_cgroups_close(cgroups);
}

static void a_nearer_group_without_pids_loses(void **state)
{
    group(".", "cpu memory pids\n", "cpu memory pids\n", "");
    group("a", "memory\n", "memory\n", "");
    group("a/b", "memory\n", "", "9\n");
    struct tc_cgroups *cgroups = open_v2("/a/b");
    assert_string_equal(cgroups->base[0], root);
    tc_cgroups_close(cgroups);
}

static void limits_are_written(void **state)
{
    group(".", "cpu memory pids\n", "", "");
    assert_int_equal(unlinkat(root_fd, "cgroup.events", 0), 0); /* the root of all */
    struct tc_cgroups *cgroups = open_v2("/");
    struct tc_cgroup_limits limits = {.memory = 536870912, .pids = 128, .cpus_milli = 1500};
    struct tc_cgroup *g = NULL;
    assert_int_equal(tc_cgroup_take(cgroups, &limits, &g, NULL), 0);
    /* one write each, "+cpu" last: an ordinary file keeps the tails of "+memory" and "+pids" */
    expect_file("cgroup.subtree_control", "+cpusry");
    expect_file("toolcage-test/cgroup.subtree_control", "+cpusry");
    expect_file("toolcage-test/g0/memory.max", "536870912");
    expect_file("toolcage-test/g0/memory.swap.max", "0");
    expect_file("toolcage-test/g0/memory.oom.group", "1");
    expect_file("toolcage-test/g0/pids.max", "128");
    expect_file("toolcage-test/g0/cpu.max", "150000 100000");
    assert_true(tc_cgroup_fd(g) >= 0);
    assert_null(tc_cgroup_give(g));
    assert_int_equal(faccessat(root_fd, "toolcage-test/g0", F_OK, 0), -1);
    assert_int_equal(faccessat(root_fd, "toolcage-test/g1", F_OK, 0), 0); /* one ahead */
    limits = (struct tc_cgroup_limits){.cpus_milli = 3};
    assert_int_equal(tc_cgroup_take(cgroups, &limits, &g, NULL), 0);
    expect_file("toolcage-test/g1/memory.max", "max");
    expect_file("toolcage-test/g1/pids.max", "max");
    expect_file("toolcage-test/g1/cpu.max", "3000 1000000");
    tc_cgroups_close(cgroups);
    assert_int_equal(faccessat(root_fd, "toolcage-test", F_OK, 0), -1);
}

/* A group made before its call gets its limits with the call. */
static void limits_are_written_once_they_are_known(void **state)
{
    group(".", "cpu memory pids\n", "cpu memory pids\n", "");
    group("a", "cpu memory pids\n", "", "");
    struct tc_cgroups *cgroups = open_v2("/a");
    struct tc_cgroup_limits none = {0}, some = {.memory = 1 << 20, .pids = 7};
    struct tc_cgroup *taken = NULL;
    assert_int_equal(tc_cgroup_take(cgroups, &none, &taken, NULL), 0);
    expect_file("a/toolcage-test/g0/memory.max", "");
    assert_int_equal(tc_cgroup_limit(taken, &some), 0);
    expect_file("a/toolcage-test/g0/memory.max", "1048576");
    expect_file("a/toolcage-test/g0/memory.oom.group", "1");
    expect_file("a/toolcage-test/g0/pids.max", "7");
    tc_cgroups_close(cgroups);
}

static int make_v1(int dirfd, const char *name)
{
    if (mkdirat(dirfd, name, 0755) < 0)
        return -1;
    _autofd_ int dir = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    put(dir, "pids.max", "");
    put(dir, "pids.current", "0\n");
    put(dir, "cgroup.procs", "");
    return 0;
}

/* Root may give an ordinary user a group of some hierarchies. */
static void v1_works_with_some_hierarchies(void **state)
{
    assert_int_equal(mkdirat(root_fd, "pids", 0755), 0);
    _autofree_ char *mounts = tc_format("30 23 0:26 / %s/pids rw - cgroup none rw,pids\n", root);
    struct tc_cgroups *cgroups = NULL;
    struct tc_cgroup *taken = NULL;
    assert_int_equal(tc_cgroups_open_texts("4:pids:/\n", mounts, &cgroups, NULL), 0);
    cgroups->make_dir = make_v1;
    cgroups->remove_dir = remove_tree;
    tc_strcopy(cgroups->name, sizeof(cgroups->name), "toolcage-test");
    struct tc_cgroup_limits limits = {.pids = 7};
    assert_int_equal(tc_cgroup_take(cgroups, &limits, &taken, NULL), 0);
    expect_file("pids/toolcage-test/g0/pids.max", "7");
    limits.cpus_milli = 500;
    assert_int_equal(tc_cgroup_limit(taken, &limits), -1);
    tc_cgroups_close(cgroups);
}

static void usage_is_read(void **state)
{
    group(".", "cpu memory pids\n", "cpu memory pids\n", "");
    struct tc_cgroups *cgroups = open_v2("/");
    struct tc_cgroup_limits limits = {.memory = 1 << 20, .pids = 5};
    struct tc_cgroup *g = NULL;
    assert_int_equal(tc_cgroup_take(cgroups, &limits, &g, NULL), 0);
    put(g->dirs[0], "cpu.stat", "usage_usec 19000\nuser_usec 1\n");
    put(g->dirs[0], "memory.events", "low 0\nhigh 0\nmax 9\noom 1\noom_kill 2\noom_group_kill 1\n");
    put(g->dirs[0], "memory.peak", "1048576\n");
    put(g->dirs[0], "pids.events", "max 3\n");
    put(g->dirs[0], "pids.peak", "4\n");
    struct tc_cgroup_usage usage;
    tc_cgroup_usage(g, &usage);
    assert_int_equal(usage.cpu_us, 12000);
    assert_int_equal(usage.memory_peak, 1048576);
    assert_int_equal(usage.oom_kills, 2);
    assert_int_equal(usage.pids_refused, 3);
    assert_int_equal(usage.pids_peak, 4);
    assert_true(tc_cgroup_oomed(g));
    assert_int_equal(unlinkat(g->dirs[0], "memory.peak", 0), 0); /* before 5.19 */
    tc_cgroup_usage(g, &usage);
    assert_int_equal(usage.memory_peak, -1);
    assert_int_equal(tc_cgroup_kill(g), 0);
    char text[256];
    get("toolcage-test/g0/cgroup.kill", text);
    assert_string_equal(text, "1");
    tc_cgroups_close(cgroups);
}

/* Taking with each limit alone fails with this reason and some fix. */
static void expect_refusal(struct tc_cgroups *cgroups, const char *reason)
{
    const struct tc_cgroup_limits limits[] = {
        {.memory = 1 << 20}, {.pids = 5}, {.cpus_milli = 500}};
    for (size_t i = 0; i < TC_COUNT(limits); i++) {
        struct tc_cgroup *g = NULL;
        struct toolcage_error *err = NULL;
        assert_int_equal(tc_cgroup_take(cgroups, &limits[i], &g, &err), TOOLCAGE_EUNENFORCEABLE);
        assert_null(g);
        assert_int_equal(tc_error_code(err), TOOLCAGE_EUNENFORCEABLE);
        assert_string_equal(tc_error_stage(err), "control group");
        if (!strstr(tc_error_message(err), reason))
            fail_msg("'%s' does not say '%s'", tc_error_message(err), reason);
        assert_true(strlen(tc_error_hint(err)) > 10);
        tc_error_free(err);
    }
}

static void processes_of_its_own_are_named(void **state)
{
    group(".", "cpu memory pids\n", "", "1\n77\n");
    struct tc_cgroups *cgroups = open_v2("/");
    expect_refusal(cgroups, "contains processes");
    tc_cgroups_close(cgroups);
}

static void a_missing_controller_is_named(void **state)
{
    group(".", "\n", "", "");
    struct tc_cgroups *cgroups = open_v2("/");
    expect_refusal(cgroups, "controller is not enabled");
    tc_cgroups_close(cgroups);
}

static void missing_control_groups_are_named(void **state)
{
    struct tc_cgroups *cgroups = NULL;
    assert_int_equal(tc_cgroups_open_texts("", "", &cgroups, NULL), 0);
    expect_refusal(cgroups, "no cgroup file system");
    tc_cgroups_close(cgroups);
    assert_int_equal(tc_cgroups_open_texts("0::/../x\n",
                                           "30 23 0:26 / /nowhere rw - cgroup2 none rw\n", &cgroups,
                                           NULL),
                     0);
    expect_refusal(cgroups, "is not visible");
    tc_cgroups_close(cgroups);
}

static void a_tree_without_rights_is_named(void **state)
{
    group(".", "cpu memory pids\n", "cpu memory pids\n", "");
    if (geteuid() == 0) {
        /* root passes every mode: become somebody, in a child of the same test */
        assert_int_equal(chmod(root, 0755), 0);
        assert_int_equal(seteuid(65534), 0);
    } else {
        assert_int_equal(chmod(root, 0555), 0);
    }
    struct tc_cgroups *cgroups = open_v2("/");
    expect_refusal(cgroups, "this user may not create cgroups");
    tc_cgroups_close(cgroups);
    assert_int_equal(seteuid(getuid()), 0);
    assert_int_equal(chmod(root, 0755), 0);
}

static void without_controllers_a_group_without_limits_is_refused_too(void **state)
{
    struct tc_cgroups *cgroups = NULL;
    assert_int_equal(tc_cgroups_open_texts("", "", &cgroups, NULL), 0);
    const struct tc_cgroup_limits none = {0};
    struct tc_cgroup *g = NULL;
    _autoerror_ struct toolcage_error *err = NULL;
    assert_int_equal(tc_cgroup_take(cgroups, &none, &g, &err), TOOLCAGE_EUNENFORCEABLE);
    assert_int_equal(tc_cgroups_sweep(cgroups), 0);
    tc_cgroups_close(cgroups);
    tc_cgroups_close(NULL);
    assert_null(tc_cgroup_give(NULL));
}

int main(void)
{
#define FAKE(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
    const struct CMUnitTest tests[] = {
        FAKE(the_nearest_group_that_can_hand_on_is_chosen),
        FAKE(a_nearer_group_without_pids_loses),
        FAKE(limits_are_written),
        FAKE(limits_are_written_once_they_are_known),
        FAKE(v1_works_with_some_hierarchies),
        FAKE(usage_is_read),
        FAKE(processes_of_its_own_are_named),
        FAKE(a_missing_controller_is_named),
        FAKE(missing_control_groups_are_named),
        FAKE(a_tree_without_rights_is_named),
        FAKE(without_controllers_a_group_without_limits_is_refused_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
