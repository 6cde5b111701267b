/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A ceiling: what it gives itself passes, anything more is refused with both places, and so is what
 * cannot be compared. */
#include "test.h"

#include "../source.h"

static int load_at(const char *dir, const char *text, const struct file *files,
                   struct toolcage_policy **ret, struct toolcage_error **err)
{
    const struct tc_policy_source source = source_of(text, read_one, files);
    return tc_policy_compile_source(&source, dir, "/home/me", ret, err);
}

static const struct file files[] = {
    {"/srv/p/team.toml", "[defaults]\n"
                         "timeout='40s'\nfilesystem={readable=['/data'], denied=['/data/no']}\n"
                         "network=['a.example:443']\nenv={pass=['TZ']}\n"
                         "[tool.x]\n"
                         "tier='HumanApprove'\nbackend='process'\nfilesystem={readable=['/data'], "
                         "writable=['/workspace']}\n"
                         "arguments.p={read=['/in']}\npids=20\n"
                         "[tool.low]\nfilesystem.readable=['/data']\nunix_sockets='own'\n"
                         "syscalls.deny=['ptrace']\n"
                         "[tool.kept]\nsetup={command=['i'],into='/opt/x'}\n"},
    {"/srv/p/loop.toml", "within='loop.toml'\n"},
    {"/srv/p/lower.toml", "within='team.toml'\n[defaults]\nfilesystem.readable=['/elsewhere']\n"},
    {"/srv/q/team.toml", "[defaults]\nfilesystem.readable=['data']\n"},
    {"/srv/p/team2.toml", "[defaults]\nfilesystem.readable=['data']\n"},
    {0}};

#define IN "within='team.toml'\n"
#define X "tier='HumanApprove'\nbackend='process'\n"

static const struct row {
    const char *text, *tool, *arguments;
    const char *more; /* NULL: granted */
    uint32_t line;
    const char *theirs;
} rows[] = {
    {IN "[tool.y]\n", "y", NULL, NULL, 0, NULL},
    {IN "[tool.y]\nfilesystem.readable=['/data/sub']\ntimeout='5s'\n", "y", NULL, NULL, 0, NULL},
    {IN "[tool.y]\nfilesystem.readable=['/data']\n", "y", NULL, "/data/no is readable", 3,
     "defaults.filesystem, line 3 of /srv/p/team.toml"},
    {IN "[tool.y]\nfilesystem={readable=['/data'],denied=['/data/no']}\n", "y", NULL, NULL, 0,
     NULL},
    {IN "[tool.y]\nfilesystem.readable=['/dat']\n", "y", NULL, "/dat is readable", 3,
     "defaults.filesystem, line 3 of"},
    {IN "[tool.y]\nfilesystem.readable=[{path='/data/x',from='/etc/x'}]\n", "y", NULL,
     "/etc/x of the host", 3, "defaults.filesystem"},
    {IN "[tool.y]\nfilesystem.writable=['/data/x']\n", "y", NULL, "/data/x is writable", 3,
     "defaults.filesystem"},
    {IN "[tool.y]\nnetwork=['a.example:443']\n", "y", NULL, NULL, 0, NULL},
    {IN "[tool.y]\npids=4\nnetwork=['b.example:443']\n", "y", NULL, "reaches b.example:443", 4,
     "defaults.network, line 4"},
    {IN "[tool.y]\ntimeout='41s'\n", "y", NULL, "timeout is", 3, "defaults.timeout, line 2"},
    {IN "[tool.y]\n", "y", NULL, NULL, 0, NULL},
    {"within='team.toml'\n[defaults]\npids=4000\n[tool.y]\n", "y", NULL, "pids is", 3,
     "pids by default"},
    {IN "[tool.y]\nenv.pass=['TZ']\n", "y", NULL, NULL, 0, NULL},
    {IN "[tool.y]\nenv.pass=['HOME']\n", "y", NULL, "variable HOME", 3, "defaults.env, line 5"},
    {IN "[tool.y]\nenv.set={A='1'}\n", "y", NULL, "sets the variable A=1", 3, "defaults.env"},
    {IN "[tool.y]\nunix_sockets='own'\n", "y", NULL, "creates its own unix sockets", 3,
     "unix_sockets by default"},
    {IN "[tool.y]\nbackend='oci'\n", "y", NULL, "cannot be compared", 3, "backend by default"},
    {IN "[tool.y]\nbackend='gvisor'\n", "y", NULL, NULL, 0, NULL},
    {IN "[tool.y]\nbackend='not-a-security-boundary'\n", "y", NULL, "instead of process", 3,
     "backend by default"},
    {IN "[tool.y]\ncollect=['*.csv']\n", "y", NULL, "collects files", 3, "collect by default"},
    {IN "[tool.y]\nwithout=['proc.own']\n", "y", NULL, "without proc.own", 3, "without by default"},
    {IN "[tool.x]\n" X "pids=20\nfilesystem.writable=['/workspace']\n", "x", NULL, NULL, 0, NULL},
    {IN "[tool.x]\npids=20\n", "x", NULL, "needs less human approval", 1, "tool.x.tier, line 7 of"},
    {IN "[tool.x]\n" X "pids=21\n", "x", NULL, "pids is", 5, "tool.x.pids, line 11"},
    {IN "[tool.x]\n" X "pids=20\narguments.p={read=['/in']}\n", "x", "{\"p\":\"/in/a\"}", NULL, 0,
     NULL},
    {IN "[tool.x]\n" X "pids=20\narguments.p={read=['/other']}\n", "x", "{\"p\":\"/other/a\"}",
     "the ceiling /srv/p/team.toml refuses", 1, NULL},
    {IN "[tool.x]\n" X "pids=20\narguments.q={read=['/out']}\n", "x", "{\"q\":\"/out/a\"}",
     "/out/a is readable", 6, "tool.x.filesystem, line 9"},
    {IN "[tool.x]\n" X "pids=20\narguments.q={read=['/data']}\n", "x", "{\"q\":\"/data/a\"}", NULL,
     0, NULL},
    {IN "[tool.low]\nunix_sockets='own'\n", "low", NULL, "no longer denied", 1, "syscalls"},
    {IN "[tool.kept]\nsetup={into='/opt/x',command=['i']}\n", "kept", NULL, NULL, 0, NULL},
    {IN "[tool.kept]\nsetup={into='/opt/x',command=['i']}\n", "kept.setup", NULL, NULL, 0, NULL},
    {IN "[tool.kept]\nsetup={into='/opt/x',command=['j']}\n", "kept", NULL, "no install phase", 1,
     "tool.kept.setup"},
    {IN "[tool.kept]\nsetup={into='/opt/x',command=['j']}\n", "kept.setup", NULL,
     "no install phase", 1, "tool.kept.setup"},
    {IN "[tool.y]\nsetup={into='/opt/x',command=['i']}\n", "y", NULL, "no install phase", 1,
     "tool.y.setup"},
    {"within='lower.toml'\n[tool.y]\n", "y", NULL, "the ceiling /srv/p/lower.toml refuses", 1,
     NULL},
    {"within='profile:read-only'\n[tool.y]\nfilesystem.writable=['/workspace']\n", "y", NULL,
     "is writable", 3, "profile:read-only"},
};

static void grants_above_the_ceiling_are_denied(void **state)
{
    size_t wrong = 0;
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        const struct row *row = &rows[i];
        struct toolcage_policy *policy = NULL;
        _autoerror_ struct toolcage_error *err = NULL;
        _autogrant_ struct tc_grant grant = {0};
        if (load_at("/srv/p", row->text, files, &policy, &err))
            fail_msg("row %zu: %s", i, tc_error_report(err));
        const struct ask ask = {.tool = row->tool,
                                .arguments = row->arguments,
                                .command = strstr(row->tool, ".setup") ? NULL : "t"};
        int rc = resolve(policy, &ask, &grant, &err);
        const char *said = rc ? tc_error_message(err) : "granted";
        const char *file = NULL;
        uint32_t line = 0;
        tc_error_location(err, &file, &line, NULL);
        if ((rc == 0) != (row->more == NULL) || (row->more && !strstr(said, row->more)) ||
            (row->theirs && !strstr(said, row->theirs)) || (rc && line != row->line) ||
            (rc && rc != TOOLCAGE_EDENIED))
            print_error("row %zu: %d, line %u: %s\n", i, rc, line, said), wrong++;
        (void)tc_policy_unref(policy);
    }
    assert_int_equal(wrong, 0);
}

static void invalid_ceilings_are_refused(void **state)
{
    static const char *const wrong[][2] = {
        {"within=3\n", "within names one file or profile"},
        {"within=['team.toml']\n", "within names one file or profile"},
        {"within='profile:nope'\n", "there is no profile"},
        {"within='nowhere.toml'\n", "no file"},
        {"within='loop.toml'\n", "at most 8 others"},
    };
    for (size_t i = 0; i < TC_COUNT(wrong); i++) {
        struct toolcage_policy *policy = NULL;
        _autoerror_ struct toolcage_error *err = NULL;
        assert_int_equal(load_at("/srv/p", wrong[i][0], files, &policy, &err), TOOLCAGE_EPOLICY);
        if (!strstr(tc_error_report(err), wrong[i][1]))
            fail_msg("wanted %s in %s", wrong[i][1], tc_error_report(err));
    }
}

static void its_meaning_enters_the_digest(void **state)
{
    static const char *const texts[] = {"[tool.y]\n", "within='team.toml'\n[tool.y]\n",
                                        "within='team2.toml'\n[tool.y]\n",
                                        "within='../q/team.toml'\n[tool.y]\n"};
    char seen[TC_COUNT(texts)][TC_DIGEST_SIZE];
    for (size_t i = 0; i < TC_COUNT(texts); i++) {
        struct toolcage_policy *policy = NULL;
        assert_int_equal(load_at("/srv/p", texts[i], files, &policy, NULL), 0);
        tc_strcopy(seen[i], TC_DIGEST_SIZE, tc_policy_digest(policy));
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(seen[i], seen[j]);
        (void)tc_policy_unref(policy);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grants_above_the_ceiling_are_denied),
        cmocka_unit_test(invalid_ceilings_are_refused),
        cmocka_unit_test(its_meaning_enters_the_digest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
