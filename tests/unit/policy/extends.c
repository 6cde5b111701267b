/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What a file builds on: who wins, what adds up, where errors point, and what is refused. */
#include "test.h"

#include "policy/model.h"
#include "policy/parse/extends.h"

#include "../source.h"

static int load(const char *text, const struct file *files, struct toolcage_policy **ret,
                struct toolcage_error **err)
{
    const struct tc_policy_source source = source_of(text, read_one, files);
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

/* Whoever gets the report of a policy that nobody trusts learns nothing of files elsewhere. */
static void only_files_next_to_the_policy_are_quoted(void **state)
{
    static const char secret[] = "[token]\nkey='s3cret'\nfrob = 's3cret' 's3cret'\n";
    static const struct file files[] = {{"/srv/p/sub/b.toml", secret},
                                        {"/srv/pb/b.toml", secret},
                                        {"/home/me/c.toml", secret},
                                        {0}};
    static const char *const rows[] = {"sub/b.toml", "../pb/b.toml", "~/c.toml"};
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        struct toolcage_policy *policy = NULL;
        _autoerror_ struct toolcage_error *err = NULL;
        _autofree_ char *text = tc_format("extends='%s'\n", rows[i]);
        assert_int_equal(load(text, files, &policy, &err), TOOLCAGE_EPOLICY);
        if ((strstr(tc_error_report(err), "s3cret") != NULL) != (i == 0))
            fail_msg("%s", tc_error_report(err));
        text = (free(text), tc_format("within='%s'\n", rows[i]));
        err = (tc_error_free(err), NULL);
        assert_int_equal(load(text, files, &policy, &err), TOOLCAGE_EPOLICY);
        if ((strstr(tc_error_report(err), "s3cret") != NULL) != (i == 0))
            fail_msg("%s", tc_error_report(err));
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
        {"extends='profile:wrokspace'", "did you mean workspace? the profiles are"},
        {"extends='none.toml'", "no file /srv/p/none.toml"},
        {"extends=3", "extends names files"},
        {"extends='~/.aws/credentials'", "does not have a policy's file name"},
    };
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        struct toolcage_policy *policy = NULL;
        _autoerror_ struct toolcage_error *err = NULL;
        assert_int_equal(load(rows[i][0], files, &policy, &err), TOOLCAGE_EPOLICY);
        if (!strstr(tc_error_report(err), rows[i][1]))
            fail_msg("wanted %s in %s", rows[i][1], tc_error_report(err));
    }
}

/* Only [tool.x], [defaults], [server.x] and [server.x.tool.y] are merged key by key: any other
 * table that both name is replaced whole, whatever its keys are called. */
static void keys_are_replaced_whole(void **state)
{
    static const struct file files[] = {
        {"/srv/p/b.toml", "[tool.filesystem]\npids=5\nenv.set={A='1'}\n"
                          "[server.filesystem]\ncommand=['s']\npids=6\nenv.set={A='1'}\n"
                          "[server.filesystem.tool.filesystem]\ntier='HumanApprove'\n"
                          "arguments.a={}\n[tier.Auto]\nbackend='process'\n"},
        {0}};
    static const struct row {
        const char *tool, *command;
        int64_t pids;
    } rows[] = {{"filesystem", "t", 5}, {"server.filesystem", NULL, 6}};
    struct toolcage_policy *policy = NULL;
    assert_int_equal(load("extends='b.toml'\n[tool.filesystem]\nenv.set={B='2'}\n"
                          "[server.filesystem]\nenv.set={B='2'}\n"
                          "[server.filesystem.tool.filesystem]\narguments.b={}\n",
                          files, &policy, NULL),
                     0);
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        _autogrant_ struct tc_grant grant = {0};
        granted(policy, (struct ask){.tool = rows[i].tool, .command = rows[i].command}, &grant);
        assert_int_equal(grant.limits.pids, rows[i].pids);
        bool a = false, b = false;
        for (size_t e = 0; e < grant.env.count; e++) {
            a |= strcmp(grant.env.items[e], "A=1") == 0;
            b |= strcmp(grant.env.items[e], "B=2") == 0;
        }
        assert_true(b && !a);
    }
    const struct tc_spec *tool = tc_policy_asked(policy, "server.filesystem.tool.filesystem");
    assert_string_equal(tool->tier, "HumanApprove");
    assert_int_equal(tool->argument_count, 1);
    assert_string_equal(tool->arguments[0].name, "b");
    (void)tc_policy_unref(policy);
}

/* Each file names as many others as the one above it, down to the last row. */
static int read_more(void *context, const char *path, struct tc_policy_found *ret,
                     struct toolcage_error **err)
{
    const size_t *left = context;
    size_t number = strtoul(path + strlen("/srv/p/"), NULL, 10);
    *ret = (struct tc_policy_found){.real = strdup(path), .reader = tc_document_read_toml};
    if (*left > (size_t)1 << 16) { /* of this size */
        ret->text = malloc(*left);
        memset(ret->text, '\n', *left);
        ret->length = *left;
        return 0;
    }
    ret->text = number < *left ? tc_format("extends='%zu.toml'\n[tool.t%zu]\n", number + 1, number)
                               : tc_format("[tool.t%zu]\n", number);
    ret->length = strlen(ret->text);
    return 0;
}

/* Names of one site are not handed to another's proxy. */
static void egress_is_replaced_whole(void **state)
{
    static const struct file files[] = {
        {"/srv/p/b.toml", "[egress]\nupstream='http://"
                          "10.0.0.8:3128'\nnames='upstream'\n[tool.x]\nnetwork=['a.b']\n"},
        {0}};
    static const char *const said[] = {"", "[egress]\nupstream='socks5://10.0.0.9:1080'\n",
                                       "[egress]\n"};
    static const char *const hosts[] = {"10.0.0.8", "10.0.0.9", NULL};
    for (size_t i = 0; i < TC_COUNT(said); i++) {
        struct toolcage_policy *policy = NULL;
        _autogrant_ struct tc_grant grant = {0};
        _autofree_ char *text = tc_format("extends='b.toml'\n%s", said[i]);
        assert_int_equal(load(text, files, &policy, NULL), 0);
        granted(policy, (struct ask){.tool = "x", .command = "t"}, &grant);
        assert_true(hosts[i] ? tc_streq(grant.upstream.host, hosts[i]) : !grant.upstream.host);
        assert_int_equal(grant.upstream.names, i == 0);
        (void)tc_policy_unref(policy);
    }
}

static void there_are_caps(void **state)
{
    static const struct {
        size_t files, left; /* named by the first one; steps below, or bytes of each */
        const char *wrong;
    } rows[] = {
        {1, 8, NULL},
        {1, 9, "at most 32 files in 8 levels"},
        {31, 0, NULL},
        {32, 0, "at most 32 files in 8 levels"},
        {3, (size_t)1 << 20, NULL},
        {4, (size_t)1 << 20, "more than 4 MiB"},
        {31, (size_t)1 << 20, "more than 4 MiB"},
    };
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        struct toolcage_policy *policy = NULL;
        _autoerror_ struct toolcage_error *err = NULL;
        _autobuf_ struct tc_buf text = TC_BUF_INIT;
        size_t first = rows[i].files == 1 ? 1 : 100, left = rows[i].left;
        for (size_t k = 0; k < rows[i].files; k++)
            tc_buf_addf(&text, "%s'%zu.toml'", k ? "," : "extends=[", first + k);
        tc_buf_adds(&text, "]\n");
        const struct tc_policy_source source = source_of(text.data, read_more, &left);
        int rc = tc_policy_compile_source(&source, "/srv/p", NULL, &policy, &err);
        if ((rc == 0) != !rows[i].wrong || (rc && !strstr(tc_error_report(err), rows[i].wrong)))
            fail_msg("row %zu: %s", i, rc ? tc_error_report(err) : "compiles");
        (void)tc_policy_unref(policy);
    }
}

static void digest_at(const char *dir, const char *text, const struct file *files,
                      char out[TC_DIGEST_SIZE])
{
    struct toolcage_policy *policy = NULL;
    _autoerror_ struct toolcage_error *err = NULL;
    _autofree_ char *path = tc_format("%s/t.toml", dir);
    struct tc_policy_source source = source_of(text, read_one, files);
    source.path = source.real = path;
    if (tc_policy_compile_source(&source, dir, "/home/me", &policy, &err))
        fail_msg("%s", tc_error_report(err));
    tc_strcopy(out, TC_DIGEST_SIZE, tc_policy_digest(policy));
    (void)tc_policy_unref(policy);
}

/* Where a path leads enters the digest, and nothing of where the files lie together. */
static void paths_have_portable_digests(void **state)
{
    static const char *const rows[] = {
        "filesystem.readable=['%sdata']\n",
        "filesystem.readable=[{path='/d', from='%sdata'}]\n",
        "filesystem.denied=['%sdata']\n",
        "image='%simg'\n",
        "unix_sockets=['%ss.sock']\n",
        "filesystem.readable=['%sdata']\narguments.p={read=['%sdata']}\n",
        ("network=['h.example:443']\nsecrets.S={from='file:%skey',hosts=['h.example:443'],"
         "header='A: {secret}'}\n"),
    };
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        char here[TC_DIGEST_SIZE], there[TC_DIGEST_SIZE], alone[TC_DIGEST_SIZE],
            other[TC_DIGEST_SIZE];
        _autobuf_ struct tc_buf base = TC_BUF_INIT, whole = TC_BUF_INIT;
        for (const char *at = rows[i]; *at; at += strcspn(at, "%") + (strchr(at, '%') ? 2 : 0)) {
            tc_buf_addf(&base, "%.*s%s", (int)strcspn(at, "%"), at, strchr(at, '%') ? "./" : "");
            tc_buf_addf(&whole, "%.*s%s", (int)strcspn(at, "%"), at,
                        strchr(at, '%') ? "../base/" : "");
        }
        _autofree_ char *extended = tc_format("[tool.x]\n%s", base.data);
        _autofree_ char *written = tc_format("[tool.x]\n%s", whole.data);
        const struct file files[] = {{"/srv/base/b.toml", extended},
                                     {"/opt/base/b.toml", extended},
                                     {"/srv/p/b.toml", extended},
                                     {0}};
        digest_at("/srv/p", "extends='../base/b.toml'", files, here);
        digest_at("/opt/p", "extends='../base/b.toml'", files, there);
        digest_at("/srv/p", written, files, alone);
        digest_at("/srv/p", "extends='b.toml'", files, other);
        if (strcmp(here, there) != 0 || strcmp(here, alone) != 0 || strcmp(here, other) == 0)
            fail_msg("row %zu: %s", i, rows[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(profiles_compile),
        cmocka_unit_test(nearer_words_win),
        cmocka_unit_test(only_files_next_to_the_policy_are_quoted),
        cmocka_unit_test(errors_name_the_file),
        cmocka_unit_test(keys_are_replaced_whole),
        cmocka_unit_test(egress_is_replaced_whole),
        cmocka_unit_test(there_are_caps),
        cmocka_unit_test(paths_have_portable_digests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
