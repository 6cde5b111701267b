/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Indexes that git itself wrote are sound; changed ones, and those that hide something, are not. */
#include "workspace/git.h"

#include <sha1.h>
#include <stdlib.h>
#include <sys/types.h>

#include "../linux/tree.h"
#include "base/buf.h"
#include "base/fd.h"

enum { PLENTY = 1 << 30 };

static bool git;

static int build(void **state)
{
    (void)setenv("GIT_CONFIG_NOSYSTEM", "1", 1);
    (void)setenv("GIT_CONFIG_GLOBAL", "/dev/null", 1);
    git = system("git --version > /dev/null 2>&1") == 0;
    return tree_new(state);
}

static void run(const char *script)
{
    char command[1024];
    (void)snprintf(command, sizeof(command), "exec > /dev/null 2>&1; set -e; %s", script);
    if (system(command) != 0)
        fail_msg("%s", script);
}

/* Names that a tree and an index order in the same way, and not by their bytes alone. */
static const char make[] =
    "mkdir -p a/b/c a.d ab; for f in a/b/c/one a/b/two a/three a.d/four a.txt "
    "a-b ab/five z; do echo $f > $f; done; git add -A; git -c user.name=n -c "
    "user.email=n@n commit -m one; git status";

static void repository(const char *name, const char *options)
{
    char script[1024];
    (void)snprintf(script, sizeof(script), "git init %s %s; cd %s; %s", options, name, name, make);
    run(script);
}

static void load(const char *name, struct tc_buf *ret)
{
    char path[256];
    (void)snprintf(path, sizeof(path), "%s/.git/index", name);
    *ret = (struct tc_buf){.max = 1 << 20};
    assert_int_equal(tc_read_file(AT_FDCWD, path, ret), 0);
}

static bool is_sound(const struct tc_buf *b)
{
    int64_t left = PLENTY;
    return tc_index_sound((struct tc_bytes){(const unsigned char *)b->data, b->len}, &left);
}

static bool sound(const char *name)
{
    _autobuf_ struct tc_buf b = TC_BUF_INIT;
    load(name, &b);
    return is_sound(&b);
}

static void indexes_of_git_are_sound(void **state)
{
    if (!git)
        skip();
    repository("one", "");
    assert_true(sound("one"));
    run("cd one; echo more >> a/b/two; git add a/b/two");
    assert_true(sound("one"));
    run("cd one; git write-tree; git rm -r --cached a.d");
    assert_true(sound("one"));
    run("git init empty; cd empty; echo x > x; git add x; git rm --cached x");
    assert_true(sound("empty"));
    repository("large", "--object-format=sha256");
    assert_true(sound("large"));
}

static void hidden_files_are_not(void **state)
{
    static const char *const ways[] = {"--assume-unchanged z", "--skip-worktree z",
                                       "--untracked-cache", "--index-version 4"};
    if (!git)
        skip();
    for (size_t i = 0; i < TC_COUNT(ways); i++) {
        char script[256];
        run("rm -rf hidden");
        repository("hidden", "");
        (void)snprintf(script, sizeof(script), "cd hidden; git update-index %s", ways[i]);
        run(script);
        if (sound("hidden"))
            fail_msg("%s", ways[i]);
    }
}

static void seal(struct tc_buf *b)
{
    SHA1_CTX sum;
    SHA1Init(&sum);
    SHA1Update(&sum, (const uint8_t *)b->data, b->len - 20);
    SHA1Final((uint8_t *)b->data + b->len - 20, &sum);
}

/* Each byte of the cached trees, with the checksum put right. */
static void a_false_tree_is_not(void **state)
{
    _autobuf_ struct tc_buf b = TC_BUF_INIT;
    if (!git)
        skip();
    repository("forged", "");
    load("forged", &b);
    assert_true(is_sound(&b));
    char *tree = memmem(b.data, b.len, "TREE", 4);
    assert_non_null(tree);
    for (char *at = tree; at < b.data + b.len - 20; at++) {
        *at ^= 1;
        seal(&b);
        if (is_sound(&b))
            fail_msg("byte %td", at - tree);
        *at ^= 1;
    }
    seal(&b);
    assert_true(is_sound(&b));
}

static void a_cut_index_is_not(void **state)
{
    _autobuf_ struct tc_buf b = TC_BUF_INIT;
    if (!git)
        skip();
    repository("cut", "");
    load("cut", &b);
    size_t whole = b.len,
           without = (size_t)((char *)memmem(b.data, b.len, "TREE", 4) - b.data) + 20;
    for (; b.len > 0; b.len--) {
        if (b.len >= 32)
            seal(&b);
        if (is_sound(&b) != (b.len == whole || b.len == without))
            fail_msg("%zu of %zu bytes", b.len, whole);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(indexes_of_git_are_sound),
        cmocka_unit_test(hidden_files_are_not),
        cmocka_unit_test(a_false_tree_is_not),
        cmocka_unit_test(a_cut_index_is_not),
    };
    return cmocka_run_group_tests(tests, build, tree_end);
}
