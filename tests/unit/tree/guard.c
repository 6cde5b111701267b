/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The policy's files below what a tool may write: each is found and marked, or the call is refused,
 * whatever system call fails on the way. */
#include <errno.h>
#include <stdarg.h>
#include <sys/syscall.h>

#include "../linux/tree.h"
#include "base/cleanup.h"
#include "tree/tree.h"

/* ---- in libc's place: the n-th of these calls fails ---- */

#ifdef __GLIBC__
#define LIBC(name) __asm__(name "64")
#else
#define LIBC(name) __asm__(name)
#endif

int failing_open(const char *path, int flags, ...) LIBC("open");
int failing_openat(int dir, const char *path, int flags, ...) LIBC("openat");
int failing_fstat(int fd, struct stat *ret) LIBC("fstat");
int failing_fstatat(int dir, const char *path, struct stat *ret, int flags) LIBC("fstatat");

static struct {
    int at, errnum, seen; /* at 0: none */
} fault;

static long call(long nr, long a, long b, long c, long d)
{
    if (++fault.seen != fault.at)
        return syscall(nr, a, b, c, d);
    errno = fault.errnum;
    return -1;
}

static mode_t mode_of(int flags, va_list args)
{
    return flags & O_CREAT ? va_arg(args, mode_t) : 0;
}

int failing_open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    mode_t mode = mode_of(flags, args);
    va_end(args);
    return (int)call(SYS_openat, AT_FDCWD, (long)path, flags, mode);
}

int failing_openat(int dir, const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    mode_t mode = mode_of(flags, args);
    va_end(args);
    return (int)call(SYS_openat, dir, (long)path, flags, mode);
}

int failing_fstat(int fd, struct stat *ret)
{
    return (int)call(SYS_newfstatat, fd, (long)"", (long)ret, AT_EMPTY_PATH);
}

int failing_fstatat(int dir, const char *path, struct stat *ret, int flags)
{
    return (int)call(SYS_newfstatat, dir, (long)path, (long)ret, flags);
}

/* ---- one call with a writable directory ---- */

enum { FILES = 3 };
static const char *const files[FILES] = {"policy.toml", "base.toml", "sub/deep/schema.json"};

static int build(void **state)
{
    if (tree_new(state) < 0)
        return -1;
    tree_directory("ws");
    tree_directory("ws/sub");
    tree_directory("ws/sub/deep");
    tree_link("ws", "way");
    for (int i = 0; i < FILES; i++) {
        char name[64];
        (void)snprintf(name, sizeof(name), "ws/%s", files[i]);
        tree_file(name, "x");
    }
    return 0;
}

struct scene {
    struct tc_plan plan;
    struct tc_outcome outcome;
    struct tc_item item;
    struct tc_trees trees;
    struct tc_cage cage;
};

static void begin(struct scene *s, const char *way)
{
    struct stat st;
    *s = (struct scene){.cage = {.plan = &s->plan, .outcome = &s->outcome, .trees = &s->trees}};
    s->item = (struct tc_item){.path = "/ws", .directory = true, .writable = true};
    s->item.fd = open(tree_path("ws"), O_PATH | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(fstat(s->item.fd, &st), 0);
    s->item.id = (struct tc_file_id){st.st_dev, st.st_ino};
    s->trees.items = &s->item;
    s->trees.item_count = 1;
    tc_provenance_init(&s->trees.provenance, getuid(), &s->plan.records, &s->plan.tool_writable,
                       NULL);
    for (int i = 0; i < FILES; i++) {
        _autofree_ char *path = tc_format("%s/%s/%s", tree_root, way, files[i]);
        assert_non_null(path);
        if (i == 0)
            s->plan.policy_file = strdup(path);
        else
            assert_true(tc_strv_add(&s->plan.extended, path));
    }
}

static void end(struct scene *s)
{
    (void)close(s->item.fd);
    tc_provenance_done(&s->trees.provenance);
    tc_arena_done(&s->trees.arena);
    free(s->plan.policy_file);
    tc_strv_done(&s->plan.extended);
    tc_outcome_done(&s->outcome);
}

static bool all_marked(const struct scene *s)
{
    bool marked = s->trees.guarded_count == FILES;
    for (int i = 0; i < FILES; i++)
        marked = marked && tc_tree_guards(&s->item, files[i]);
    return marked;
}

/* ---- tests ---- */

/* Did the call end in a refusal, or with all of them marked? */
static bool held(const char *way, int at, int errnum)
{
    struct scene s;
    begin(&s, way);
    fault.at = at;
    fault.errnum = errnum;
    fault.seen = 0;
    int rc = tc_tree_guard(&s.cage);
    fault.at = 0;
    bool good = rc == 0 ? all_marked(&s) : s.outcome.failure.code == TOOLCAGE_EDENIED;
    end(&s);
    return good;
}

static void no_failure_leaves_one_out(void **state)
{
    static const char *const ways[] = {"ws", "way"};
    static const int errnums[] = {EMFILE, ENFILE, EPERM, EACCES, ENOMEM, EIO, ELOOP};
    for (size_t i = 0; i < TC_COUNT(ways) * TC_COUNT(errnums); i++) {
        int n = 0, errnum = errnums[i / TC_COUNT(ways)];
        do
            if (!held(ways[i % TC_COUNT(ways)], ++n, errnum))
                fail_msg("call %d failed with %s, and a file was left out", n, strerror(errnum));
        while (fault.seen >= n);
        assert_true(n > 20); /* the walks were there to fail */
    }
}

static void an_entry_that_cannot_be_looked_at_is_one(void **state)
{
    struct scene s;
    struct stat st;
    begin(&s, "ws");
    assert_int_equal(tc_tree_guard(&s.cage), 0);
    assert_int_equal(fstatat(s.item.fd, "base.toml", &st, 0), 0);
    assert_true(tc_tree_guards_id(&s.trees, s.item.fd, "base.toml", st.st_ino));
    assert_false(tc_tree_guards_id(&s.trees, s.item.fd, "sub", st.st_ino));
    assert_false(tc_tree_guards_id(&s.trees, s.item.fd, "gone", st.st_ino));
    fault.at = 1;
    fault.errnum = ENOMEM;
    fault.seen = 0;
    assert_true(tc_tree_guards_id(&s.trees, s.item.fd, "base.toml", st.st_ino));
    fault.at = 0;
    end(&s);
}

struct gone_case {
    const char *path; /* in the tree */
    bool refused;
};

/* A file that the policy extends and that is not there any more: may the tool make it? */
static void missing_policy_file_in_writable_dir_is_refused(void **state)
{
    static const struct gone_case cases[] = {
        {"ws/gone.toml", true},   {"way/gone.toml", true},        {"ws/no/such/gone.toml", true},
        {"dangling.toml", true},  {"dangling/gone.toml", true},   {"gone.toml", false},
        {"no/such.toml", false},  {"elsewhere/gone.toml", false}, {"ws/base.toml/gone.toml", true},
        {"lost/gone.toml", false}};
    tree_link("ws/gone.toml", "dangling.toml");
    tree_link("ws/gone", "dangling");
    tree_link("nowhere", "lost");
    tree_directory("elsewhere");
    for (size_t i = 0; i < TC_COUNT(cases); i++) {
        struct scene s;
        begin(&s, "ws");
        assert_true(tc_strv_add(&s.plan.extended, tree_path(cases[i].path)));
        if ((tc_tree_guard(&s.cage) < 0) != cases[i].refused)
            fail_msg("%s: %s", cases[i].path,
                     cases[i].refused ? "not refused" : s.outcome.failure.message);
        end(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(no_failure_leaves_one_out, build, tree_end),
        cmocka_unit_test_setup_teardown(an_entry_that_cannot_be_looked_at_is_one, build, tree_end),
        cmocka_unit_test_setup_teardown(missing_policy_file_in_writable_dir_is_refused, build,
                                        tree_end)};
    return cmocka_run_group_tests_name("guard", tests, NULL, NULL);
}
