/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Paths to descriptors: whose links are followed, and where following ends. */
#include "linux/resolve.h"

#include <errno.h>

#include "base/cleanup.h"
#include "tree.h"

enum { STRANGER = 65533 };

/* own/ is nobody's but ours; ws/ can be written by a tool. */
static int build(void **state)
{
    if (tree_new(state) < 0)
        return -1;
    tree_directory("own");
    tree_directory("own/deep");
    tree_file("own/deep/file", "x");
    tree_directory("ws");
    tree_directory("ws/deep");
    tree_directory("ws/deep/er");
    tree_file("ws/deep/file", "x");
    tree_link("deep", "own/relative");
    tree_link("../own/relative", "own/chain");
    tree_link(tree_path("own/deep"), "own/absolute");
    tree_link("loop", "own/loop");
    tree_link("nowhere", "own/dangling");
    tree_link("../ws", "own/into");
    tree_link("deep", "ws/link");
    tree_link("../own", "ws/out");
    tree_link("er", "ws/deep/link");
    tree_link("../../own/deep", "own/deep/up");
    return 0;
}

struct resolve_case {
    const char *path; /* in the tree */
    const char *same; /* what it must be; NULL: refused */
    int errnum;
    const char *where;
};

static const struct resolve_case cases[] = {
    {"own", "own", 0, NULL},
    {"own/deep/file", "own/deep/file", 0, NULL},
    {"own//deep/./file", "own/deep/file", 0, NULL},
    {"own/deep/../deep/file", "own/deep/file", 0, NULL},
    {"own/relative/file", "own/deep/file", 0, NULL},
    {"own/relative", "own/deep", 0, NULL},
    {"own/chain/file", "own/deep/file", 0, NULL},
    {"own/absolute/file", "own/deep/file", 0, NULL},
    {"own/deep/up/file", "own/deep/file", 0, NULL},
    {"own/loop", NULL, ELOOP, "loop"},
    {"own/dangling", NULL, ENOENT, "nowhere"},
    {"own/missing/x", NULL, ENOENT, "missing"},
    {"own/deep/file/x", NULL, ENOTDIR, "x"},
    {"ws", "ws", 0, NULL},
    {"ws/deep/file", "ws/deep/file", 0, NULL},
    {"ws/link", NULL, ELOOP, "link"},
    {"ws/link/file", NULL, ELOOP, "link"},
    {"ws/out/deep", NULL, ELOOP, "out"},
    {"ws/deep/link", NULL, ELOOP, "link"},
    {"ws/../own", NULL, ELOOP, ".."},
    {"ws/deep/../deep", NULL, ELOOP, ".."},
    {"own/into", "ws", 0, NULL},
    {"own/into/deep/file", "ws/deep/file", 0, NULL},
    {"own/into/link", NULL, ELOOP, "link"},
    {"own/into/../own", NULL, ELOOP, ".."},
};

static struct tc_strv writable;

static int learn_list(struct tc_resolver *r, const void *list)
{
    const struct tc_strv *paths = list;
    for (size_t i = 0; i < paths->count; i++)
        if (tc_resolver_add(r, paths->items[i]) < 0)
            return -1;
    return 0;
}

static void start(struct tc_resolver *r)
{
    if (!writable.count) {
        assert_true(tc_strv_add(&writable, tree_path("ws")));
        assert_true(tc_strv_add(&writable, tree_path("not-there")));
    }
    tc_resolver_init(r, getuid(), learn_list, &writable);
}

static void same_object(const char *what, int fd, const char *name)
{
    struct stat got, want;
    assert_int_equal(fstat(fd, &got), 0);
    assert_int_equal(lstat(tree_path(name), &want), 0);
    if (got.st_ino != want.st_ino || got.st_dev != want.st_dev)
        fail_msg("%s is not %s", what, name);
}

static void check_case(struct tc_resolver *r, const struct resolve_case *c)
{
    char where[PATH_MAX] = "";
    errno = 0;
    _autofd_ int fd = tc_resolve(r, tree_path(c->path), where);
    int errnum = errno;
    if ((fd >= 0) != (c->same != NULL))
        fail_msg("%s: %s", c->path, fd >= 0 ? "resolved" : strerror(errnum));
    if (c->same)
        same_object(c->path, fd, c->same);
    else if (errnum != c->errnum || strcmp(where, c->where) != 0)
        fail_msg("%s: %s at \"%s\"", c->path, strerror(errnum), where);
}

static void paths_resolve_as_listed(void **state)
{
    struct tc_resolver r;
    start(&r);
    for (size_t i = 0; i < TC_COUNT(cases); i++)
        check_case(&r, &cases[i]);
    tc_resolver_done(&r);
}

/* Known by its identity alone, a directory is found under every name, until another one has its
 * inode number: then the time of birth differs. */
static int learn_identity(struct tc_resolver *r, const void *id)
{
    return tc_resolver_add_id(r, id);
}

static void identity_freezes_a_directory(void **state)
{
    struct tc_file_id id;
    assert_int_equal(tc_file_identify(AT_FDCWD, tree_path("ws"), &id), 0);
    const struct tc_file_id other_device = {id.dev + 1, id.ino, id.born},
                            other_birth = {id.dev, id.ino, id.born + 1},
                            no_birth = {id.dev, id.ino, 0};
    const struct {
        struct tc_file_id id;
        bool frozen;
    } table[] = {
        {id, true}, {other_device, id.born != 0}, {other_birth, id.born == 0}, {no_birth, true}};
    for (size_t i = 0; i < TC_COUNT(table); i++) {
        struct tc_resolver r;
        char where[PATH_MAX] = "";
        tc_resolver_init(&r, getuid(), learn_identity, &table[i].id);
        _autofd_ int fd = tc_resolve(&r, tree_path("ws/link"), where);
        assert_int_equal(fd < 0, table[i].frozen);
        tc_resolver_done(&r);
    }
}

static int learn_nothing(struct tc_resolver *r, const void *context)
{
    errno = EIO;
    return -1;
}

static void a_record_that_cannot_be_read_follows_no_link(void **state)
{
    struct tc_resolver r;
    char where[PATH_MAX] = "";
    tc_resolver_init(&r, getuid(), learn_nothing, NULL);
    _autofd_ int fd = tc_resolve(&r, tree_path("ws/link"), where);
    assert_int_equal(fd, -1);
    assert_int_equal(errno, EIO);
    assert_int_equal(tc_resolve_writable(&r, tree_path("own/deep/file")), -1);
    tc_resolver_done(&r);
}

/* 1: a tool may have written it, 0: not, -1: it is not there. */
static void writable_paths_are_told(void **state)
{
    static const struct {
        const char *path;
        int writable;
    } table[] = {{"own/deep/file", 0}, {"ws", 1},        {"ws/deep/file", 1}, {"ws/none", 1},
                 {"own/into", 1},      {"ws/out", 1},    {"ws/link", 1},      {"own/none", -1},
                 {"ws/../own", 1},     {"own/../own", 0}};
    struct tc_resolver r;
    start(&r);
    for (size_t i = 0; i < TC_COUNT(table); i++)
        if (tc_resolve_writable(&r, tree_path(table[i].path)) != table[i].writable)
            fail_msg("%s", table[i].path);
    tc_resolver_done(&r);
}

/* What tools can write is looked up at the first link or "..", and once. */
static void places_are_looked_up_when_it_matters(void **state)
{
    static const struct {
        struct resolve_case what;
        bool learned;
    } table[] = {
        {{"own/deep/file", "own/deep/file", 0, NULL}, false},
        {{"ws/deep/file", "ws/deep/file", 0, NULL}, false},
        {{"ws/deep/none", NULL, ENOENT, "none"}, false},
        {{"ws/link", NULL, ELOOP, "link"}, true},
        {{"ws/../own", NULL, ELOOP, ".."}, true},
        {{"own/into/deep/file", "ws/deep/file", 0, NULL}, true},
        {{"own/../own/deep", "own/deep", 0, NULL}, true},
    };
    for (size_t i = 0; i < TC_COUNT(table); i++) {
        struct tc_resolver r;
        start(&r);
        check_case(&r, &table[i].what);
        assert_int_equal(r.learned, table[i].learned);
        assert_int_equal(r.writable_count, table[i].learned);
        check_case(&r, &table[i].what);
        assert_int_equal(r.writable_count, table[i].learned);
        tc_resolver_done(&r);
    }
}

struct links_case {
    const char *path;
    int found;
    const char *real; /* NULL: refused */
    int errnum;
};

static void links_are_written_out(void **state)
{
    static const struct links_case table[] = {
        {"own/deep/file", 1, "own/deep/file", 0},
        {"own/chain/file", 1, "own/deep/file", 0},
        {"own/into/deep/file", 1, "ws/deep/file", 0},
        {"own/dangling", 0, "own/nowhere", 0},
        {"own/dangling/x/y", 0, "own/nowhere/x/y", 0},
        {"own/into/missing", 0, "ws/missing", 0},
        {"own/relative/no/such", 0, "own/deep/no/such", 0},
        {"own/deep/file/x", 0, "own/deep/file/x", 0},
        {"own/loop", -1, NULL, ELOOP},
        {"ws/link/missing", -1, NULL, ELOOP},
    };
    struct tc_resolver r;
    char real[PATH_MAX];
    start(&r);
    for (size_t i = 0; i < TC_COUNT(table); i++) {
        const struct links_case *c = &table[i];
        errno = 0;
        int found = tc_resolve_links(&r, tree_path(c->path), real);
        if (found != c->found ||
            (c->real ? strcmp(real, tree_path(c->real)) != 0 : errno != c->errnum))
            fail_msg("%s: %d, %s, %s", c->path, found, c->real ? real : "-", strerror(errno));
    }
    tc_resolver_done(&r);
}

/* The descriptor stays on what was decided, whatever happens to the name. */
static void a_descriptor_outlives_its_name(void **state)
{
    struct tc_resolver r;
    char where[PATH_MAX];
    start(&r);
    tree_directory("own/before");
    _autofd_ int fd = tc_resolve(&r, tree_path("own/before"), where);
    assert_int_equal(rename("own/before", "own/after"), 0);
    tree_link("deep", "own/before");
    same_object("the descriptor", fd, "own/after");
    tc_resolver_done(&r);
}

static void overlong_paths_are_refused(void **state)
{
    struct tc_resolver r;
    char where[PATH_MAX], name[NAME_MAX + 2], path[2 * PATH_MAX];
    start(&r);
    memset(name, 'n', sizeof(name));
    name[NAME_MAX + 1] = '\0';
    assert_int_equal(tc_resolve(&r, tree_path(name), where), -1);
    assert_int_equal(errno, ENAMETOOLONG);
    /* cut to what fits it would be this file */
    name[NAME_MAX] = '\0';
    tree_directory(name);
    (void)snprintf(path, sizeof(path), "%s/%sn", tree_root, name);
    assert_int_equal(mkdir("cut", 0755), 0);
    assert_int_equal(tc_resolve(&r, path, where), -1);
    assert_int_equal(errno, ENAMETOOLONG);
    memset(path, '/', sizeof(path) - 1);
    path[sizeof(path) - 1] = '\0';
    assert_int_equal(tc_resolve(&r, path, where), -1);
    assert_int_equal(errno, ENAMETOOLONG);
    tc_resolver_done(&r);
}

static void a_link_grows_too_long(void **state)
{
    struct tc_resolver r;
    char where[PATH_MAX], target[PATH_MAX], path[2 * PATH_MAX];
    start(&r);
    memset(target, '/', sizeof(target));
    target[PATH_MAX - 2] = '\0';
    assert_int_equal(symlink(target, "own/long"), 0);
    (void)snprintf(path, sizeof(path), "%s/own/long/deep/file", tree_root);
    assert_int_equal(tc_resolve(&r, path, where), -1);
    assert_int_equal(errno, ENAMETOOLONG);
    tc_resolver_done(&r);
}

/* A link of /proc is read as text: it opens nothing that its text does not name. */
static void magic_links_have_no_magic(void **state)
{
    struct tc_resolver r;
    char where[PATH_MAX], path[64];
    start(&r);
    tree_file("own/gone", "x");
    _autofd_ int kept = open("own/gone", O_RDONLY | O_CLOEXEC);
    assert_int_equal(unlink("own/gone"), 0);
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", kept);
    assert_true(kept >= 0 && access(path, R_OK) == 0);
    assert_int_equal(tc_resolve(&r, path, where), -1);
    assert_int_equal(errno, ENOENT);
    tc_resolver_done(&r);
}

static void strangers_links_are_not_followed(void **state)
{
    if (geteuid() != 0) {
        print_message("# skipped: only root can give files away\n");
        skip();
    }
    static const struct resolve_case strange[] = {
        {"theirs/file", "theirs/file", 0, NULL},
        {"theirs/link", NULL, ELOOP, "link"},
        {"given", NULL, ELOOP, "given"},
    };
    struct tc_resolver r;
    start(&r);
    tree_directory("theirs");
    tree_file("theirs/file", "x");
    tree_link("../own", "theirs/link"); /* ours, in a directory of theirs */
    tree_link("own", "given");
    assert_int_equal(chown("theirs", STRANGER, STRANGER), 0);
    assert_int_equal(lchown("given", STRANGER, STRANGER), 0);
    for (size_t i = 0; i < TC_COUNT(strange); i++)
        check_case(&r, &strange[i]);
    r.caller = STRANGER; /* now it is the caller's */
    check_case(&r, &(struct resolve_case){"given", "own", 0, NULL});
    check_case(&r, &(struct resolve_case){"theirs/link", "own", 0, NULL});
    tc_resolver_done(&r);
}

static void paths_beneath_a_directory_resolve(void **state)
{
    static const struct {
        const char *path;
        int errnum;
    } below[] = {{"", 0},          {"deep/file", 0},         {"deep/../deep", 0},
                 {"..", EXDEV},    {"../ws", EXDEV},         {"/etc", EXDEV},
                 {"into", ELOOP},  {"relative", ELOOP},      {"relative/file", ELOOP},
                 {"none", ENOENT}, {"deep/file/x", ENOTDIR}, {"loop", ELOOP}};
    _autofd_ int own = open("own", O_PATH | O_DIRECTORY | O_CLOEXEC);
    for (size_t i = 0; i < TC_COUNT(below); i++) {
        errno = 0;
        _autofd_ int fd = tc_resolve_beneath(own, below[i].path);
        int errnum = errno;
        if ((fd >= 0) != (below[i].errnum == 0) || (fd < 0 && errnum != below[i].errnum))
            fail_msg("\"%s\": %s", below[i].path, fd >= 0 ? "opened" : strerror(errnum));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_resolve_as_listed),
        cmocka_unit_test(identity_freezes_a_directory),
        cmocka_unit_test(a_record_that_cannot_be_read_follows_no_link),
        cmocka_unit_test(writable_paths_are_told),
        cmocka_unit_test(places_are_looked_up_when_it_matters),
        cmocka_unit_test(links_are_written_out),
        cmocka_unit_test(a_descriptor_outlives_its_name),
        cmocka_unit_test(overlong_paths_are_refused),
        cmocka_unit_test(a_link_grows_too_long),
        cmocka_unit_test(magic_links_have_no_magic),
        cmocka_unit_test(strangers_links_are_not_followed),
        cmocka_unit_test(paths_beneath_a_directory_resolve),
    };
    return cmocka_run_group_tests_name("resolve", tests, build, tree_end);
}
