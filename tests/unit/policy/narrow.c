/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What a call's own words leave of a grant, key by key, and what is told of those it may not say.
 */
#include "policy/names/caches.h"
#include "test.h"

#define CALL(...)                                               \
    (struct ask)                                                \
    {                                                           \
        .tool = "x", .command = "ls", .narrow = { __VA_ARGS__ } \
    }

/* The option and the file's word are one to whoever asks what the operator has said of a disk. */
static void a_disk_is_said_by_a_call_too(void **state)
{
    _autopolicy_ struct toolcage_policy *policy = compile("[tool.x]\n");
    _autogrant_ struct tc_grant said = {0}, unsaid = {0};
    granted(policy, CALL("disk", "1MiB"), &said);
    granted(policy, CALL("pids", "5"), &unsaid);
    assert_true(said.limits.disk_set);
    assert_int_equal(said.limits.disk, 1 << 20);
    assert_false(unsaid.limits.disk_set);
}

#define WRITES "filesystem.writable = [\"/w\"]\n"

/* What is held back cannot be bound; of two words the one that brings back less counts. */
static void changes_are_held_back(void **state)
{
    static const struct {
        const char *said, *one, *other;
        enum tc_workspace_mode workspace;
        enum tc_commit commit;
    } rows[] = {
        {"", NULL, NULL, TC_WORKSPACE_BIND, TC_COMMIT_ALWAYS},
        {"", "always", NULL, TC_WORKSPACE_BIND, TC_COMMIT_ALWAYS},
        {"", "never", NULL, TC_WORKSPACE_AUTO, TC_COMMIT_NEVER},
        {"", "ask", NULL, TC_WORKSPACE_AUTO, TC_COMMIT_ASK},
        {"", "never", "always", TC_WORKSPACE_AUTO, TC_COMMIT_NEVER},
        {"", "always", "never", TC_WORKSPACE_AUTO, TC_COMMIT_NEVER},
        {WRITES, NULL, NULL, TC_WORKSPACE_AUTO, TC_COMMIT_ALWAYS},
        {WRITES "workspace.commit = \"ask\"\n", NULL, NULL, TC_WORKSPACE_AUTO, TC_COMMIT_ASK},
        {WRITES "workspace.mode = \"overlay\"\n", NULL, NULL, TC_WORKSPACE_OVERLAY,
         TC_COMMIT_SUCCESS},
        {WRITES "workspace.mode = \"bind\"\n", "ask", NULL, TC_WORKSPACE_AUTO, TC_COMMIT_ASK},
        {"workspace.mode = \"copy\"\n", "never", NULL, TC_WORKSPACE_COPY, TC_COMMIT_NEVER},
        {"workspace.mode = \"overlay\"\n", "ask", NULL, TC_WORKSPACE_OVERLAY, TC_COMMIT_ASK},
    };
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        _autofree_ char *text = tc_format("[tool.x]\n%s", rows[i].said);
        _autopolicy_ struct toolcage_policy *policy = compile(text);
        _autogrant_ struct tc_grant grant = {0};
        const char *one = rows[i].one ? "commit" : NULL, *other = rows[i].other ? "commit" : NULL;
        granted(policy, CALL(one, rows[i].one, other, rows[i].other), &grant);
        assert_int_equal(grant.workspace, rows[i].workspace);
        assert_int_equal(grant.commit, rows[i].commit);
    }
    _autopolicy_ struct toolcage_policy *file = compile("[tool.x]\nworkspace.mode = \"overlay\"\n");
    refused(file, CALL("commit", "always"), TOOLCAGE_EDENIED, "tool.x.workspace.commit", 2,
            "is on_success");
}

static void a_call_may_choose_the_mode_that_is_not_said(void **state)
{
    static const struct {
        const char *said, *tool, *mode;
        enum tc_workspace_mode workspace;
    } rows[] = {
        {"[tool.x]\n" WRITES, "x", "bind", TC_WORKSPACE_BIND},
        {"[tool.x]\n" WRITES, "x", "copy", TC_WORKSPACE_COPY},
        {"[tool.x]\n" WRITES, "x", "auto", TC_WORKSPACE_AUTO},
        {"[tool.x]\nworkspace.mode = \"bind\"\n" WRITES, "x", "bind", TC_WORKSPACE_BIND},
        {"[server.y]\n" WRITES, "server.y", NULL, TC_WORKSPACE_BIND},
        {"[server.y]\nworkspace.mode = \"overlay\"\n" WRITES, "server.y", NULL,
         TC_WORKSPACE_OVERLAY},
    };
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        _autopolicy_ struct toolcage_policy *policy = compile(rows[i].said);
        _autogrant_ struct tc_grant grant = {0};
        struct ask ask = CALL(rows[i].mode ? "mode" : NULL, rows[i].mode);
        ask.tool = rows[i].tool;
        granted(policy, ask, &grant);
        assert_int_equal(grant.workspace, rows[i].workspace);
    }
    _autopolicy_ struct toolcage_policy *file = compile(
        "[tool.x]\nworkspace.mode = \"overlay\"\n[tool.asks]\nworkspace.commit = \"ask\"\n");
    refused(file, CALL("mode", "bind"), TOOLCAGE_EDENIED, "tool.x.workspace.mode", 2, "is overlay");
    struct ask asks = CALL("mode", "bind");
    asks.tool = "asks";
    refused(file, asks, TOOLCAGE_EUSAGE, "mode", 0, "cannot be combined with commit ask");
}

/* Only of what can be staged is there a review, in which caches do not show. */
static void caches_are_named_where_changes_are_staged(void **state)
{
    static const struct {
        const char *text, *tool, *commit;
        int count; /* -1: those that are shipped */
    } rows[] = {
        {"[tool.x]\n", "x", NULL, 0},
        {"[tool.x]\nreview.ignore = [\"*.o\"]\n", "x", NULL, 0},
        {"[tool.x]\n", "x", "never", -1},
        {"[tool.x]\nworkspace.mode = \"overlay\"\n", "x", NULL, -1},
        {"[tool.x]\nworkspace.mode = \"overlay\"\nreview.ignore = [\"*.o\"]\n", "x", NULL, 1},
        {"[defaults]\nworkspace.mode = \"overlay\"\n[tool.x]\nsetup = { command = [\"i\"], "
         "into = \"/opt/x\" }\n",
         "x.setup", NULL, 0},
    };
    int shipped = 0;
    while (tc_caches_shipped[shipped])
        shipped++;
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        _autopolicy_ struct toolcage_policy *policy = compile(rows[i].text);
        _autogrant_ struct tc_grant grant = {0};
        struct ask ask = CALL(rows[i].commit ? "commit" : NULL, rows[i].commit);
        ask.tool = rows[i].tool;
        ask.command = strchr(ask.tool, '.') ? NULL : "ls";
        granted(policy, ask, &grant);
        assert_int_equal(grant.caches.count, rows[i].count < 0 ? shipped : rows[i].count);
        assert_true(rows[i].count != 1 || tc_strv_has(&grant.caches, "*.o"));
    }
}

static const char files[] = "[tool.x]\n"
                            "filesystem.writable = [\"/w\"]\n"
                            "filesystem.readable = [\"/r\"]\n"
                            "unix_sockets = [\"~/project/a.sock\"]\n"
                            "network = [\"a.example\"]\n";

/* What is read of a writable place is not written. */
static void less_access_is_less(void **state)
{
    _autopolicy_ struct toolcage_policy *policy = compile(files);
    _autogrant_ struct tc_grant grant = {0}, whole = {0};
    granted(policy, CALL("read", "/w/a"), &grant);
    assert_int_equal(access_of(&grant, "/w/a/b"), 'r');
    assert_int_equal(access_of(&grant, "/w/b"), '-');
    granted(policy, CALL("read", "/w"), &whole);
    assert_int_equal(access_of(&whole, "/w/b"), 'r');
    refused(policy, CALL("write", "/r/a"), TOOLCAGE_EDENIED, "tool.x.filesystem", 3,
            "by tool.x.filesystem.readable (line 3) it is only readable");
}

/* One that is granted does not make up for one that is not, before or after it. */
static void every_narrowed_value_must_be_granted(void **state)
{
    static const char *const rows[][4] = {
        {"read", "/r", "read", "/etc/x"},
        {"read", "/etc/x", "read", "/r"},
        {"read", "/etc/x", "write", "/w"},
        {"write", "/etc/x", "read", "/r"},
        {"unix_sockets", "/no.sock", "unix_sockets", "a.sock"},
        {"unix_sockets", "a.sock", "unix_sockets", "/no.sock"},
        {"network", "b.example", "network", "a.example"},
        {"env", "A=1", "timeout", "1s"},
    };
    _autopolicy_ struct toolcage_policy *policy = compile(files);
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        _autogrant_ struct tc_grant grant = {0};
        const struct ask ask = CALL(rows[i][0], rows[i][1], rows[i][2], rows[i][3]);
        assert_int_equal(resolve(policy, &ask, &grant, NULL), TOOLCAGE_EDENIED);
    }
}

/* A socket is named from the caller's directory, like a file. */
static void a_socket_is_named_like_a_file(void **state)
{
    _autopolicy_ struct toolcage_policy *policy = compile(files);
    _autogrant_ struct tc_grant grant = {0};
    granted(policy, CALL("unix_sockets", "a.sock"), &grant);
    assert_int_equal(grant.socket_count, 1);
    assert_string_equal(grant.sockets[0].path, "/home/me/project/a.sock");
    assert_string_equal(grant.sockets[0].origin.key, "tool.x.unix_sockets");
}

static void narrowed_endpoint_keeps_its_origin(void **state)
{
    _autopolicy_ struct toolcage_policy *policy = compile(files), *none = NULL;
    _autogrant_ struct tc_grant grant = {0}, own = {0};
    assert_int_equal(tc_policy_new_default(&none, NULL), 0);
    granted(policy, CALL("network", "a.example"), &grant);
    assert_string_equal(grant.net[0].origin.key, "tool.x.network");
    struct ask ask = CALL("network", "a.example", "unix_sockets", "/run/a.sock");
    ask.tool = NULL;
    granted(none, ask, &own);
    assert_string_equal(own.net[0].origin.key, "the call's option");
    assert_string_equal(own.sockets[0].origin.key, "the call's option");
    assert_string_equal(own.sockets[0].path, "/run/a.sock");
}

/* Of many endpoints the one that is named stays, and of a call's variables the one of that name. */
static void one_of_many_stays(void **state)
{
    static const char *const environ_[] = {"TZX=a", "T=b", "TZ=CET", NULL};
    _autopolicy_ struct toolcage_policy *policy =
        compile("[tool.x]\nnetwork = [{ host = \"*.example.com\", ports = \"any\" }]\n"
                "env.pass = [\"TZ\"]\nfilesystem.readable = [{ path = \"/data\", from = "
                "\"/srv/d\" }]\n");
    struct ask ask = CALL("network", "a.example.com:80", "unix_sockets", "none", "env", "TZ",
                          "read", "/data/a=/srv/d/a");
    _autogrant_ struct tc_grant grant = {0};
    ask.facts = test_facts;
    ask.facts.environ = environ_;
    granted(policy, ask, &grant);
    assert_int_equal(grant.net_count, 1);
    assert_string_equal(grant.net[0].host, "a.example.com");
    assert_int_equal(grant.net[0].port, 80);
    assert_true(tc_strv_has(&grant.env, "TZ=CET"));
    assert_string_equal(tc_grant_find(&grant, "/data/a")->from, "/srv/d/a");
    refused(policy, CALL("network", "none", "network", "a.example.com"), TOOLCAGE_EUSAGE, "network",
            0, "cannot be combined");
}

/* Who may not say it is told whose word it is; who errs, which words there are. */
static void hints_name_the_key(void **state)
{
    static const struct {
        const char *key, *value, *hint;
    } rows[] = {
        {"timeout", "9h", "let the operator change tool.x.timeout"},
        {"commit", "always", "let the operator change tool.x.workspace.commit"},
        {"read", "/no", "let the operator change tool.x.filesystem"},
        {"unix_sockets", "own", "let the operator change tool.x.unix_sockets"},
        {"tiemout", "1s", "did you mean \"timeout\"?"},
        {"verbose", "1", "the keys are timeout, memory, "},
        {"verbose", "1", ", read, write"},
    };
    _autopolicy_ struct toolcage_policy *policy =
        compile("[tool.x]\nworkspace.mode = \"overlay\"\n");
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        _autogrant_ struct tc_grant grant = {0};
        _autoerror_ struct toolcage_error *err = NULL;
        const struct ask ask = CALL(rows[i].key, rows[i].value);
        assert_true(resolve(policy, &ask, &grant, &err) != 0);
        if (!strstr(tc_error_hint(err), rows[i].hint))
            fail_msg("%s: %s", rows[i].key, tc_error_hint(err));
        assert_null(strstr(tc_error_hint(err), "grace")); /* which no call may change */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_disk_is_said_by_a_call_too),
        cmocka_unit_test(changes_are_held_back),
        cmocka_unit_test(a_call_may_choose_the_mode_that_is_not_said),
        cmocka_unit_test(caches_are_named_where_changes_are_staged),
        cmocka_unit_test(less_access_is_less),
        cmocka_unit_test(every_narrowed_value_must_be_granted),
        cmocka_unit_test(a_socket_is_named_like_a_file),
        cmocka_unit_test(narrowed_endpoint_keeps_its_origin),
        cmocka_unit_test(one_of_many_stays),
        cmocka_unit_test(hints_name_the_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
