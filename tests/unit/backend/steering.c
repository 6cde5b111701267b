/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Which names steer the host. */
#include "backend/local/steering.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "test.h"

struct steering_case {
    const char *path;
    bool steers;
};

static const struct steering_case cases[] = {
    {".git/config", true},
    {"/.git/config", true},
    {"a/b/.git/config", true},
    {".git/config.worktree", true},
    {".git/hooks", true},
    {".git/hooks/post-commit", true},
    {".git/modules/x/config", true},
    {".git/info/attributes", true},
    {"x/.envrc", true},
    {".bashrc", true},
    {"home/.profile", true},
    {".config/git/config", true},
    {".config/fish/config.fish", true},
    {".config/nvim/init.lua", true},
    {".vscode", true},
    {".vscode/settings.json", true},
    {".idea/workspace.xml", true},
    {".claude/settings.json", true},
    {".cursor/mcp.json", true},
    {".mcp.json", true},
    {".husky/pre-commit", true},
    {"toolcage.toml", true},
    {"deep/er/toolcage.toml", true},
    {"toolcage.yaml", true},
    {"deep/toolcage.yml", true},
    /* as a file it points to a directory elsewhere, with a config of its own */
    {"/.git", true},
    {".git", true},
    {"a/.git", true},
    {"", false},
    {"/", false},
    {".git/HEAD", false},
    {".git/objects/ab/cd", false},
    {".git/configs", false},
    {".git/config.lock", false},
    {"x.git/config", false},
    {".gitignore", false},
    {".github/workflows/ci.yml", false},
    {"a.bashrc", false},
    {".bashrc.d/x", false},
    {"Makefile", false},
    {"package.json", false},
    {"src/config", false},
    {"mytoolcage.toml", false},
    {"toolcage.toml.example", false},
    {".config/other", false},
    {".vscodex/.vscodey", false},
};

static void the_table(void **state)
{
    for (size_t i = 0; i < TC_COUNT(cases); i++)
        if (tc_steers_host(cases[i].path) != cases[i].steers)
            fail_msg("\"%s\" %s the host", cases[i].path,
                     cases[i].steers ? "must steer" : "must not steer");
}

static void what_cannot_be_looked_at_may_steer(void **state)
{
    char name[] = "/tmp/toolcage-unit-XXXXXX";
    assert_non_null(mkdtemp(name));
    _autofd_ int empty = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(rmdir(name), 0);
    assert_true(empty >= 0);
    assert_false(tc_steers_there(empty, "HEAD"));
    assert_false(tc_steers_bare(empty));
    assert_false(tc_steers_place(empty, "config"));
    assert_true(tc_steers_there(-1, "HEAD"));
    assert_true(tc_steers_bare(-1));
    assert_true(tc_steers_place(-1, "config"));
    assert_true(tc_steers_place(-1, "hooks/pre-push"));
    assert_false(tc_steers_place(-1, "src/main.c"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_table),
                                       cmocka_unit_test(what_cannot_be_looked_at_may_steer)};
    return cmocka_run_group_tests_name("steering", tests, NULL, NULL);
}
