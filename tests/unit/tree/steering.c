/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Which names steer the host. */
#include "tree/steering.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../backend/test.h"
#include "base/cleanup.h"
#include "policy/names/steering.h"
#include "tree/tree.h"

enum {
    NOT = TC_STEERS_NOT,
    RECORD = TC_STEERS_RECORD,
    ROOM = TC_STEERS_ROOM,
    WRITTEN = TC_STEERS_WRITTEN,
    HOST = TC_STEERS_HOST
};

#define SHA1_REST "0123456789abcdef0123456789abcdef012345"
#define SHA256_REST SHA1_REST "0123456789abcdef01234567"

static const struct {
    const char *context, *path;
    int steers;
} cases[] = {
    {"", ".git/config", HOST},
    {"", "/.git/config", HOST},
    {"", "a/b/.git/config", HOST},
    {"", ".git/hooks/post-commit", HOST},
    {"", ".git/info/attributes", HOST},
    {"", ".git/modules/x/config", HOST},
    {"", ".git/config.worktree", HOST},
    {"", ".git/rebase-merge/git-rebase-todo", HOST},
    {"", ".git/what-comes-next-year", HOST},
    {"", ".git/BISECT_START", RECORD},
    {"", ".git/MERGE_RR", RECORD},
    {"", ".hg/sharedpath", HOST},
    {"", "x/.envrc", HOST},
    {"", ".bashrc", HOST},
    {"", ".gradle", ROOM},
    {"", ".gradle/8.14/fileHashes", RECORD},
    {"", ".gradle/init.gradle", HOST},
    {"", ".gradle/gradle.properties", HOST},
    {"", ".nx/installation", HOST},
    {"", ".nx/cache/x", RECORD},
    {"", ".astro/x", NOT},
    {"", ".terraform/x", HOST},
    {"", ".bashrc.d/x", HOST},
    {"", ".vscode", HOST},
    {"", ".vscodex", HOST},
    {"", ".config/other", HOST},
    {"", ".github/workflows/ci.yml", HOST},
    {"", "deep/.of-no-list/below/it", HOST},
    {"", "...", HOST},
    {"", "toolcage.toml", HOST},
    {"", "deep/er/toolcage.yml", HOST},
    {"", "AGENTS.md", HOST},
    {"", "docs/CLAUDE.md", HOST},
    /* as a file it points to a directory elsewhere, with a config of its own */
    {"", ".git", ROOM},
    {"", "a/.git", ROOM},
    {"", ".git/info", ROOM},
    {"", ".jj/repo", ROOM},
    {"", ".jj/repo/store", ROOM},
    {"", ".jj/repo/store/git_target", HOST},
    /* what git trusts and writes all day; other objects stand in for these */
    {"", ".git/objects/info/alternates", HOST},
    {"", "a/.git/refs/replace/x", HOST},
    {"", ".git/objects", ROOM},
    {"", ".git/refs", ROOM},
    {"", ".git/objects/ab", WRITTEN},
    {"", ".git/objects/ab/" SHA1_REST, WRITTEN},
    {"", "a.git/objects/ab/" SHA256_REST, WRITTEN},
    {"", ".git/objects/AB/" SHA1_REST, RECORD},
    {"", ".git/objects/ab/" SHA1_REST "6", RECORD},
    {"", ".git/objects/ab/" SHA1_REST "/x", RECORD},
    {"", ".git/objects/abc/" SHA1_REST, RECORD},
    {"", "my-objects/ab/" SHA1_REST, NOT},
    {"", ".git/objects/pack/pack-" SHA1_REST "67.pack", WRITTEN},
    {"", ".git/objects/pack/tmp_x", WRITTEN},
    {"", "a.git/objects/pack/x.idx", WRITTEN},
    {"", "a.git/objects/pack/multi-pack-index.d/x", WRITTEN},
    {"", "a.git/objects/info/http-alternates", WRITTEN},
    {"", ".git/objects/info/commit-graph", WRITTEN},
    {"", ".git/objects/info/commit-graphs/x", WRITTEN},
    {"", ".git/objects/info/packs", RECORD},
    {"", "a.git/refs/replace/x", WRITTEN},
    {"", ".git/packed-refs", WRITTEN},
    {"", "a/.git/index", WRITTEN},
    {"", "a/index", NOT},
    {"", ".git/lfs/objects/ab/cd/" SHA256_REST "ab", WRITTEN},
    {"", ".git/branches", HOST},
    {"", ".git/branches/origin", HOST},
    {"", ".svn/wc.db", HOST},
    {"", "lefthook.yaml", HOST},
    {"", "sub/lefthook-local.toml", HOST},
    {"", "mise.local.toml", HOST},
    {"", "mise/config.toml", HOST},
    {"", "rust-toolchain", HOST},
    {"", "rust-toolchain.toml", HOST},
    {"", "docs/QWEN.md", HOST},
    {"", "WARP.md", HOST},
    {"", "src/mise", ROOM},
    {"", ".jj/repo/store/git/packed-refs", WRITTEN},
    {"", "src/objects", NOT},
    {"", "src/objects/info.c", NOT},
    {"", "refs", NOT},
    {"/x/.git/objects", "ab/" SHA1_REST, WRITTEN},
    {"/x/.git/objects/ab", SHA1_REST, WRITTEN},
    {"/x/.git/objects/ab", "", RECORD},
    {"/x/.git/objects/pack", "", RECORD},
    {"/x/.git/objects/pack", "pack-x.idx", WRITTEN},
    /* what nothing obeys */
    {"", "", NOT},
    {"", "/", NOT},
    {"", ".git/HEAD", RECORD},
    {"", ".git/ORIG_HEAD", RECORD},
    {"", ".git/index.lock", RECORD},
    {"", ".git/objects/ab/cd", RECORD},
    {"", ".git/refs/heads/.x", RECORD},
    {"", ".git/COMMIT_EDITMSG", RECORD},
    {"", ".hg/dirstate", RECORD},
    {"", ".jj/repo/store/git/HEAD", RECORD},
    {"", "a/.gitignore", NOT},
    {"", ".gitignored", HOST},
    {"", ".venv/lib/python3/site-packages/.hash", NOT},
    {"", ".venv/.vscode/tasks.json", HOST},
    {"", "go/pkg/mod/example.org/m@v1.0.0/.golangci.yml", NOT},
    {"/home/x/go/pkg/mod", "example.org/m@v1.0.0/.github/workflows/a.yml", NOT},
    {"", "pkg/mod/m/.envrc", HOST},
    {"", "pkg/.github", HOST},
    {"", "registry/src/index/m-1.0.0/.cargo-ok", NOT},
    {"", "registry/src/index/m-1.0.0/.vscode/tasks.json", HOST},
    {"", "cargo/.package-cache", NOT},
    {"", ".coverage.host.17", NOT},
    {"", ".coveragerc", HOST},
    {"", ".#main.c", NOT},
    {"", "x.git/config", NOT},
    {"", "a.bashrc", NOT},
    {"", "Makefile", NOT},
    {"", "src/config", NOT},
    {"", "mytoolcage.toml", NOT},
    {"", "toolcage.toml.example", NOT},
    /* packages: only what is listed */
    {"", "node_modules/.bin/x", NOT},
    {"", "node_modules/a/.eslintrc", NOT},
    {"", "node_modules/a/.git/config", HOST},
    {"", "node_modules/a/.git", ROOM},
    {"/srv/node_modules/a", ".eslintrc", NOT},
    {"", "my_node_modules/.eslintrc", HOST},
    /* a grant that begins in the middle of a name */
    {"/home/x/.config", "fish/config.fish", HOST},
    {"/home/x/.config", "other/config", NOT},
    {"/home/x/.config/fish", "config.fish", NOT},
    {"/home/x/p/.git", "config", HOST},
    {"/home/x/p/.git", "hooks/pre-push", HOST},
    {"/home/x/p/.git", "logs/HEAD", RECORD},
    {"/home/x/p/.git", "index", WRITTEN},
    {"/home/x/p/.git", "worktrees", ROOM},
    {"/home/x/p/.git", "worktrees/w", ROOM},
    {"/home/x/p/.git", "worktrees/w/index", WRITTEN},
    {"/home/x/p/.git", "worktrees/w/HEAD", RECORD},
    {"/home/x/p/.git", "worktrees/w/gitdir", HOST},
    {"", ".git/modules", ROOM},
    {"", ".git/modules/m", ROOM},
    {"", ".git/modules/m/HEAD", RECORD},
    {"", ".git/modules/m/logs/HEAD", RECORD},
    {"", ".git/modules/m/refs/heads/main", RECORD},
    {"", ".git/modules/m/objects", RECORD},
    {"", ".git/modules/m/objects/ab", WRITTEN},
    {"", ".git/modules/m/objects/pack/pack-1.idx", WRITTEN},
    {"", ".git/modules/m/index", WRITTEN},
    {"", ".git/modules/m/packed-refs", WRITTEN},
    {"", ".git/modules/m/config", HOST},
    {"", ".git/modules/m/hooks", HOST},
    {"", ".git/modules/m/hooks/post-commit", HOST},
    {"", ".git/modules/m/objects/info/alternates", HOST},
    {"", ".git/modules/m/refs/replace/x", HOST},
    {"", ".git/modules/m/unknown", ROOM},
    {"", ".git/modules/m/branches/HEAD", HOST},
    {"", ".git/modules/libs/m/HEAD", RECORD},
    {"", ".git/modules/libs/m/config", HOST},
    {"", ".git/modules/libs/logs/config", HOST},
    {"", ".git/modules/m/modules/n/config", HOST},
    {"", ".git/modules/m/modules/n/HEAD", RECORD},
    {"", ".git/modules/m/worktrees/w/HEAD", RECORD},
    {"", ".git/modules/m/worktrees/w/gitdir", HOST},
    {"/home/x/p/.git/modules/m", "hooks", HOST},
    {"/home/x/p/.git/modules/m", "HEAD", RECORD},
    {"/home/x/p/.git/modules", "m/config", HOST},
    {"", "modules/m/config", NOT},
    {"", ".git/worktrees", ROOM},
    {"", ".git/worktrees/w/logs/HEAD", RECORD},
    {"", ".git/worktrees/w/index", WRITTEN},
    {"", ".git/worktrees/w/commondir", HOST},
    {"", ".git/worktrees/w/config.worktree", HOST},
    {"", ".git/worktrees/w/hooks/post-commit", HOST},
    {"", ".git/worktrees/w/BISECT_NAMES", HOST},
    {"/home/x/.local", "lib/python3.11/site-packages/a.pth", HOST},
    {"/home/x/.local", "lib/python3.11/site-packages/a.py", NOT},
    {"/home/x/.worktrees/p", "src/main.c", NOT},
    {"/home/x/.worktrees/p", ".envrc", HOST},
};

static void paths_steer_as_listed(void **state)
{
    for (size_t i = 0; i < TC_COUNT(cases); i++) {
        int said = (int)tc_steers(NULL, cases[i].context, cases[i].path);
        if (said != cases[i].steers)
            fail_msg("\"%s\" in \"%s\": %d, not %d", cases[i].path, cases[i].context, said,
                     cases[i].steers);
    }
}

static void directories_of_repositories_are_known(void **state)
{
    static const struct {
        const char *context, *relative;
        bool git;
    } rows[] = {
        {"", ".git", true},
        {"/home/x/p/.git", "", true},
        {"/home/x/p", "", false},
        {"", ".git/refs", false},
        {"", ".git/refs/worktrees/x", false},
        {"", ".git/modules/m", true},
        {"", ".git/modules", false},
        {"/home/x/p/.git", "modules/libs/m", true},
        {"", ".git/worktrees/w", true},
        {"", ".git/worktrees", false},
        {"", ".git/worktrees/w/refs", false},
        {"", "modules/m", false},
    };
    for (size_t i = 0; i < TC_COUNT(rows); i++)
        assert_int_equal(tc_steers_git(rows[i].context, rows[i].relative), rows[i].git);
}

static void packages_are_below_their_directory(void **state)
{
    assert_true(tc_steers_packaged("", "a/node_modules/b/.envrc"));
    assert_true(tc_steers_packaged("/home/x/p/node_modules", ".envrc"));
    assert_true(tc_steers_packaged("", ".venv/lib/site-packages/.vscode"));
    assert_false(tc_steers_packaged("", "node_modules"));
    assert_false(tc_steers_packaged("", ".envrc"));
    assert_false(tc_steers_packaged("", "modules/.envrc"));
}

static void a_record_steers_as_a_link_alone(void **state)
{
    const struct tc_item item = {0};
    _autofd_ int here = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    assert_true(tc_steers_as(tc_steers(NULL, "", ".git/COMMIT_EDITMSG"), S_IFLNK));
    assert_false(tc_steers_as(tc_steers(NULL, "", ".git/COMMIT_EDITMSG"), S_IFREG));
    assert_false(tc_steers_as(tc_steers(NULL, "", "src/main.c"), S_IFLNK));
    assert_true(tc_steers_as(tc_steers(NULL, "", ".git"), S_IFREG));
    assert_true(tc_steers_place(&item, here, ".git/logs/HEAD", S_IFLNK));
    assert_true(tc_steers_place(&item, here, ".git/logs/HEAD", S_IFIFO));
    assert_false(tc_steers_place(&item, here, ".git/logs/HEAD", S_IFREG));
    assert_false(tc_steers_place(&item, here, ".git/logs", S_IFDIR));
}

/* The quick look must not pass by what the whole one finds. */
static void quick_check_misses_no_steering_name(void **state)
{
    for (size_t i = 0; tc_steering_names[i]; i++) {
        _autofree_ char *deep = tc_format("a/b/%s", tc_steering_names[i]);
        assert_non_null(deep);
        if (!tc_steers_may(tc_steering_names[i]) || !tc_steers_may(deep) ||
            tc_steers(NULL, "", deep) != TC_STEERS_HOST)
            fail_msg("\"%s\" is passed by", tc_steering_names[i]);
    }
    assert_false(tc_steers_may("src/main.c"));
    for (size_t i = 0; tc_steering_written[i]; i++) {
        _autofree_ char *deep = tc_format("a/b/%s", tc_steering_written[i]);
        assert_non_null(deep);
        if (tc_steers(NULL, "", deep) != TC_STEERS_WRITTEN)
            fail_msg("\"%s\" is passed by", tc_steering_written[i]);
    }
}

static void an_objects_id_is_read_from_its_path(void **state)
{
    static const struct {
        const char *path, *id;
    } rows[] = {
        {".git/objects/ab/" SHA1_REST, "ab" SHA1_REST},
        {"ab/" SHA256_REST, "ab" SHA256_REST},
        {"cab/" SHA1_REST, ""},
        {"b/" SHA1_REST, ""},
        {"aB/" SHA1_REST, ""},
        {"ab/" SHA1_REST "0", ""},
        {"ab/" SHA256_REST "0", ""},
        {"ab/" SHA1_REST ".x", ""},
        {SHA1_REST, ""},
        {"", ""},
    };
    char id[TC_OBJECT_ID_SIZE];
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        tc_object_id(rows[i].path, id);
        assert_string_equal(id, rows[i].id);
    }
}

/* The operator's words decide, but for what toolcage itself obeys. */
static void operators_rules_override_the_table(void **state)
{
    _auto_(tc_steering_done) struct tc_steering rules = {0};
    assert_true(tc_strv_add(&rules.add, "deploy.sh") && tc_strv_add(&rules.add, "ci/*.yml") &&
                tc_strv_add(&rules.remove, ".github") && tc_strv_add(&rules.remove, "*.toml"));
    const struct {
        const char *path;
        int steers;
    } said[] = {{"deploy.sh", HOST},
                {"a/deploy.sh/b", HOST},
                {"my-deploy.sh", NOT},
                {"x/ci/test.yml", HOST},
                {"ci/test.yaml", NOT},
                {"ci/a/b.yml", NOT},
                {".github/x/.vscode", NOT},
                {".mise.toml", NOT},
                {"toolcage.toml", HOST},
                {".config/toolcage/a.toml", HOST},
                {".envrc", HOST}};
    for (size_t i = 0; i < TC_COUNT(said); i++)
        if ((int)tc_steers(&rules, "", said[i].path) != said[i].steers)
            fail_msg("\"%s\" is not %d", said[i].path, said[i].steers);
}

static void steering_rows_of_a_policy_are_validated(void **state)
{
    static const char *const good[] = {".github", "a/b", "*.yml", "x*", "ci/*.yml", ".*rc"};
    static const char *const bad[] = {"",   "/",      "/a", "a/",  "a//b", ".",
                                      "..", "a/../b", "*",  "a/*", "*a*"};
    for (size_t i = 0; i < TC_COUNT(good); i++)
        if (!tc_steering_row(good[i]))
            fail_msg("\"%s\" is refused", good[i]);
    for (size_t i = 0; i < TC_COUNT(bad); i++)
        if (tc_steering_row(bad[i]))
            fail_msg("\"%s\" is taken", bad[i]);
}

static void unreadable_directory_counts_as_steering(void **state)
{
    const struct tc_item item = {0};
    char name[] = "/tmp/toolcage-unit-XXXXXX";
    assert_non_null(mkdtemp(name));
    _autofd_ int empty = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(rmdir(name), 0);
    assert_true(empty >= 0);
    assert_false(tc_steers_there(empty, "HEAD"));
    assert_false(tc_steers_bare(empty));
    assert_false(tc_steers_place(&item, empty, "config", S_IFREG));
    assert_true(tc_steers_there(-1, "HEAD"));
    assert_true(tc_steers_bare(-1));
    assert_true(tc_steers_place(&item, -1, "config", S_IFREG));
    assert_true(tc_steers_place(&item, -1, "hooks/pre-push", S_IFREG));
    assert_false(tc_steers_place(&item, -1, "src/main.c", S_IFREG));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(paths_steer_as_listed),
                                       cmocka_unit_test(directories_of_repositories_are_known),
                                       cmocka_unit_test(packages_are_below_their_directory),
                                       cmocka_unit_test(a_record_steers_as_a_link_alone),
                                       cmocka_unit_test(quick_check_misses_no_steering_name),
                                       cmocka_unit_test(an_objects_id_is_read_from_its_path),
                                       cmocka_unit_test(operators_rules_override_the_table),
                                       cmocka_unit_test(steering_rows_of_a_policy_are_validated),
                                       cmocka_unit_test(unreadable_directory_counts_as_steering)};
    return cmocka_run_group_tests_name("steering", tests, NULL, NULL);
}
