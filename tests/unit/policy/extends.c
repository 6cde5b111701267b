/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What a file builds on: who wins, what adds up, where errors point, and what is refused. */
#include "test.h"

#include "policy/profiles.h"

struct file {
    const char *path, *text;
};

static int read_one(void *context, const char *path, struct tc_policy_found *ret,
                    struct toolcage_error **err)
{
    for (const struct file *f = context; f->path; f++)
        if (strcmp(f->path, path) == 0) {
            *ret = (struct tc_policy_found){.text = strdup(f->text),
                                            .path = strdup(path),
                                            .length = strlen(f->text),
                                            .reader = tc_document_read_toml};
            return 0;
        }
    return tc_fail(err, &(struct tc_why){.code = TOOLCAGE_ENOT_FOUND, .hint = "write it"},
                   "no file %s", path);
}

static int load(const char *text, const struct file *files, struct toolcage_policy **ret,
                struct toolcage_error **err)
{
    const struct tc_policy_source source = {.text = text,
                                            .length = strlen(text),
                                            .name = "t.toml",
                                            .path = "/srv/p/t.toml",
                                            .reader = tc_document_read_toml,
                                            .read = read_one,
                                            .context = (void *)(uintptr_t)files};
    return tc_policy_compile_source(&source, "/srv/p", "/home/me", ret, err);
}

static void profiles_compile(void **state)
{
    for (const struct tc_profile *row = tc_profiles; row->name; row++) {
        char text[128];
        (void)snprintf(text, sizeof(text), "extends = \"profile:%s\"\n[tool.x]\ncommand=[\"x\"]\n",
                       row->name);
        _autopolicy_ struct toolcage_policy *plain = compile(row->text), *over = compile(text);
        assert_string_not_equal(tc_policy_digest(plain), tc_policy_digest(over));
    }
}

static void nearer_words_win(void **state)
{
    static const struct file files[] = {
        {"/srv/base.toml", "[defaults]\ntimeout='9s'\npids=7\nfilesystem.denied=['/w/s']\n"
                           "[tool.x]\npids=5\nfilesystem.readable=['near']\n"},
        {"/srv/p/b.toml", "[defaults]\ntimeout='8s'\n"},
        {0}};
    struct toolcage_policy *policy = NULL;
    _autogrant_ struct tc_grant grant = {0};
    assert_int_equal(load("extends=['../base.toml','b.toml']\n[defaults]\nfilesystem='none'\n"
                          "[tool.x]\ngrace='1s'\n",
                          files, &policy, NULL),
                     0);
    granted(policy, (struct ask){.tool = "x", .command = "t"}, &grant);
    assert_int_equal(grant.limits.timeout_ms, 8000);
    assert_int_equal(grant.limits.pids, 5);
    assert_int_equal(grant.limits.grace_ms, 1000);
    assert_int_equal(access_of(&grant, "/srv/near/f"), 'r');
    assert_int_equal(access_of(&grant, "/w/s/f"), 'd');
    (void)tc_policy_unref(policy);
}

static void errors_name_the_file(void **state)
{
    static const struct file files[] = {{"/srv/p/b.toml", "[defaults]\ntiemout='9s'\n"},
                                        {"/srv/p/c.toml", "extends='t.toml'\n"},
                                        {"/srv/p/t.toml", "extends='c.toml'\n"},
                                        {0}};
    static const char *const rows[][2] = {
        {"extends='b.toml'", "b.toml:2:1: error: unknown key"},
        {"extends='b.toml'", "extended by t.toml:1"},
        {"extends='c.toml'", "extends itself"},
        {"extends='profile:nope'", "the profiles are read-only workspace"},
        {"extends='none.toml'", "no file /srv/p/none.toml"},
        {"extends=3", "extends names files"},
    };
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        struct toolcage_policy *policy = NULL;
        _autoerror_ struct toolcage_error *err = NULL;
        assert_int_equal(load(rows[i][0], files, &policy, &err), TOOLCAGE_EPOLICY);
        if (!strstr(tc_error_report(err), rows[i][1]))
            fail_msg("wanted %s in %s", rows[i][1], tc_error_report(err));
    }
}

static void what_is_extended_cannot_be_written(void **state)
{
    static const struct file files[] = {{"/home/me/project/b.toml", "[defaults]\npids=9\n"},
                                        {"/home/me/project/d/toolcage.toml", "[defaults]\n"},
                                        {0}};
    struct toolcage_policy *policy = NULL;
    _autogrant_ struct tc_grant grant = {0};
    assert_int_equal(load("extends='/home/me/project/b.toml'\n[tool.x]\nfilesystem.writable="
                          "['/workspace']\n",
                          files, &policy, NULL),
                     0);
    refused(policy, (struct ask){.tool = "x", .command = "t"}, TOOLCAGE_EDENIED,
            "tool.x.filesystem.writable", 3, "which the policy extends");
    (void)tc_policy_unref(policy);
    assert_int_equal(load("extends='/home/me/project/d/toolcage.toml'\n[tool.x]\n"
                          "filesystem.writable=['/workspace']\n",
                          files, &policy, NULL),
                     0);
    granted(policy, (struct ask){.tool = "x", .command = "t"}, &grant);
    (void)tc_policy_unref(policy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(profiles_compile),
        cmocka_unit_test(nearer_words_win),
        cmocka_unit_test(errors_name_the_file),
        cmocka_unit_test(what_is_extended_cannot_be_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
