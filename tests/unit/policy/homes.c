/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What a grant keeps back of the homes that it reaches into. */
#include "test.h"

static bool find_homes(void *context)
{
    static char *names[] = {(char *)"/srv/other"};
    static const struct tc_strv homes = {.items = names, .count = 1};
    struct tc_facts *facts = &((struct ask *)context)->facts;
    facts->homes = &homes;
    facts->look = NULL;
    return true;
}

static bool find_nothing(void *context)
{
    return false;
}

/* A grant without paths has nothing to be masked; any other waits for what is to be masked. */
static void homes_are_looked_for_where_paths_are_granted(void **state)
{
    static const struct {
        const char *tool;
        bool looks;
    } rows[] = {{"none", false}, {"reads", true}, {"hides", true}};
    _autopolicy_ struct toolcage_policy *policy =
        compile("[tool.none]\nfilesystem = \"none\"\n"
                "[tool.reads]\nfilesystem.readable = [\"/srv/other\"]\n"
                "[tool.hides]\nfilesystem.denied = [\"/srv\"]\n");
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        struct ask ask = {.tool = rows[i].tool, .command = "ls", .facts = test_facts};
        _autogrant_ struct tc_grant grant = {0}, other = {0};
        ask.facts.context = &ask;
        ask.facts.look = find_nothing;
        assert_int_equal(resolve(policy, &ask, &grant, NULL), rows[i].looks ? TOOLCAGE_EMEMORY : 0);
        ask.facts.look = find_homes;
        assert_int_equal(resolve(policy, &ask, &other, NULL), 0);
        assert_int_equal(ask.facts.look == NULL, rows[i].looks);
        if (strcmp(rows[i].tool, "reads") == 0)
            assert_int_equal(access_of(&other, "/srv/other/.ssh"), 'd');
    }
}

static void credentials_are_masked(void **state)
{
    _autopolicy_ struct toolcage_policy *policy =
        compile("[tool.home]\nfilesystem.readable = [{ path = \"/h\", from = \"~/\" }]\n"
                "[tool.named]\nfilesystem.readable = [\"~/\", \"~/.aws\"]\n"
                "[tool.twice]\nfilesystem.readable = [{ path = \"/a\", from = \"~/\" }, { path = "
                "\"/b\", from = \"~/\" }]\n");
    _autogrant_ struct tc_grant grant = {0}, named = {0}, twice = {0};
    granted(policy, (struct ask){.tool = "twice", .command = "ls"}, &twice);
    assert_int_equal(access_of(&twice, "/a/.ssh/id_rsa"), 'd');
    assert_int_equal(access_of(&twice, "/b/.ssh/id_rsa"), 'd');
    granted(policy, (struct ask){.tool = "home", .command = "ls"}, &grant);
    assert_int_equal(access_of(&grant, "/h/notes"), 'r');
    assert_int_equal(access_of(&grant, "/h/.ssh/id_rsa"), 'd');
    assert_int_equal(access_of(&grant, "/h/.config/gh/hosts.yml"), 'd');
    assert_int_equal(access_of(&grant, "/h/.config/other"), 'r');
    assert_int_equal(access_of(&grant, "/h/.cargo/credentials.toml"), 'd');
    assert_int_equal(access_of(&grant, "/h/.local/state/toolcage/trust"), 'd');
    assert_true(tc_grant_find(&grant, "/h/.ssh")->built_in);
    assert_true(grant.clauses & TC_CLAUSE_BIT(TC_CLAUSE_FS_DENIED));
    granted(policy, (struct ask){.tool = "named", .command = "ls"}, &named);
    assert_int_equal(access_of(&named, "/home/me/.aws/config"), 'r');
    assert_int_equal(access_of(&named, "/home/me/.ssh/config"), 'd');
}

static bool list_closed(const char *home, struct tc_strv *ret)
{
    return !strstr(home, "unlisted") && tc_strv_take(ret, tc_format("%s/.tool", home));
}

/* What a home holds beside the list is closed where the home as a whole is granted. */
static void homes_are_closed(void **state)
{
    static char *names[] = {(char *)"/srv/unlisted", (char *)"/home/me"};
    static const struct tc_strv both = {.items = names, .count = 2},
                                mine = {.items = names + 1, .count = 1};
    _autopolicy_ struct toolcage_policy *policy =
        compile("[tool.home]\nfilesystem.readable = [\"~/\"]\n"
                "[tool.named]\nfilesystem.readable = [\"~/\", \"~/.tool\"]\n"
                "[tool.part]\nfilesystem.readable = [\"~/project\", \"~/.tool/a\"]\n"
                "[tool.both]\nfilesystem.readable = [\"~/\", \"/srv/unlisted\"]\n");
    struct ask ask = {.tool = "home", .command = "ls", .facts = test_facts};
    _autogrant_ struct tc_grant home = {0}, named = {0}, part = {0};
    ask.facts.homes = &mine;
    ask.facts.closed = list_closed;
    granted(policy, ask, &home);
    assert_int_equal(access_of(&home, "/home/me/.tool/a"), 'd');
    assert_int_equal(access_of(&home, "/home/me/.ssh"), 'd');
    assert_int_equal(access_of(&home, "/home/me/a"), 'r');
    assert_true(tc_grant_find(&home, "/home/me/.tool")->found);
    assert_false(tc_grant_find(&home, "/home/me/.tool")->own);
    assert_false(tc_grant_find(&home, "/home/me/.ssh")->own);
    assert_true(tc_grant_find(&home, "/home/me/.config/toolcage")->own);
    ask.tool = "named";
    granted(policy, ask, &named);
    assert_int_equal(access_of(&named, "/home/me/.tool/a"), 'r');
    ask.tool = "part";
    granted(policy, ask, &part);
    assert_int_equal(access_of(&part, "/home/me/.tool/a"), 'r');
    ask.tool = "both";
    ask.facts.homes = &both;
    refused(policy, ask, TOOLCAGE_EDENIED, "filesystem", 0, "/srv/unlisted is granted");
}

/* A value reaches credentials where the operator's bound lies within them, and nowhere else. */
static void a_bound_may_name_credentials(void **state)
{
    static const char *const bounds[] = {"~/.aws", "~/"};
    for (size_t i = 0; i < TC_COUNT(bounds); i++) {
        _autofree_ char *text = tc_format("[tool.t]\ncommand = [\"x\", \"{p}\"]\n"
                                          "arguments.p = { read = [\"%s\"] }\n",
                                          bounds[i]);
        _autopolicy_ struct toolcage_policy *policy = compile(text);
        const struct ask ask = {.tool = "t", .arguments = "{\"p\":\"/home/me/.aws/config\"}"};
        _autogrant_ struct tc_grant grant = {0};
        assert_int_equal(resolve(policy, &ask, &grant, NULL), i ? TOOLCAGE_EARGUMENTS : 0);
        assert_true(i || access_of(&grant, "/home/me/.aws/config") == 'r');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(homes_are_looked_for_where_paths_are_granted),
        cmocka_unit_test(credentials_are_masked),
        cmocka_unit_test(homes_are_closed),
        cmocka_unit_test(a_bound_may_name_credentials),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
