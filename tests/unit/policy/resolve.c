/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "policy/settings.h"
#include "test.h"

static void default_grant_is_the_strictest_useful(void **state)
{
    _autopolicy_ struct toolcage_policy *policy = NULL;
    _autogrant_ struct tc_grant grant = {0};
    assert_int_equal(tc_policy_new_default(&policy, NULL), 0);
    assert_true(tc_policy_is_default(policy));
    granted(policy, (struct ask){.command = "ls"}, &grant);
    assert_int_equal(grant.fs_count, 1);
    assert_string_equal(grant.fs[0].path, "/home/me/project");
    assert_int_equal(grant.fs[0].access, TC_ACCESS_READ);
    assert_true(grant.fs[0].built_in);
    assert_int_equal(grant.net_count, 0);
    assert_true(grant.clauses & TC_CLAUSE_BIT(TC_CLAUSE_NET_NONE));
    assert_false(grant.clauses & TC_CLAUSE_BIT(TC_CLAUSE_FS_STEERING));
    assert_int_equal(grant.clauses & tc_clauses_always(), tc_clauses_always());
    assert_int_equal(grant.limits.timeout_ms, 30000);
    assert_int_equal(grant.limits.memory, 536870912);
    assert_true(grant.limits.memory_any);
    assert_false(grant.limits.disk_set);
    assert_string_equal(grant.backend, "process");
}

static void wide_directories_are_refused(void **state)
{
    static const char *const wide[] = {"/", "/home", "/home/me"};
    _autopolicy_ struct toolcage_policy *policy = NULL;
    assert_int_equal(tc_policy_new_default(&policy, NULL), 0);
    for (size_t i = 0; i < TC_COUNT(wide); i++) {
        struct ask ask = {.command = "ls", .facts = test_facts};
        ask.facts.cwd = wide[i];
        refused(policy, ask, TOOLCAGE_EDENIED, "filesystem", 0, "is not granted by default");
        _autogrant_ struct tc_grant grant = {0};
        ask.narrow[0] = "read";
        ask.narrow[1] = "/home/me/a";
        granted(policy, ask, &grant);
        assert_int_equal(access_of(&grant, "/home/me/a/b"), 'r');
        assert_int_equal(access_of(&grant, "/home/me/b"), '-');
    }
    struct ask own = {.command = "ls", .facts = test_facts};
    own.facts.cwd = "/tmp";
    refused(policy, own, TOOLCAGE_EDENIED, "filesystem", 0, "/tmp is private in the cage");
    own.facts.workspace = "/tmp";
    _autogrant_ struct tc_grant temporary = {0};
    granted(policy, own, &temporary);
    assert_string_equal(tc_grant_find(&temporary, "/workspace/a")->from, "/tmp");
    _autopolicy_ struct toolcage_policy *file =
        compile("[tool.x]\nfilesystem.writable = [\"/workspace\"]\n");
    struct ask ask = {.tool = "x", .command = "ls", .facts = test_facts};
    ask.facts.cwd = "/home/me";
    refused(file, ask, TOOLCAGE_EDENIED, "tool.x.filesystem.writable", 2,
            "is not granted by default");
    ask.facts.workspace = "/home/me/w";
    _autogrant_ struct tc_grant grant = {0};
    granted(file, ask, &grant);
    assert_string_equal(grant.fs[0].from, "/home/me/w");
}

static void flags_grant_where_no_policy_is(void **state)
{
    _autopolicy_ struct toolcage_policy *policy = NULL;
    _autogrant_ struct tc_grant grant = {0};
    assert_int_equal(tc_policy_new_default(&policy, NULL), 0);
    granted(policy,
            (struct ask){.command = "ls",
                         .narrow = {"write", "out", "read", "/data=~/d", "network", "Example.com",
                                    "timeout", "2m", "env", "A=1", "env", "TZ", "memory", "1GiB"}},
            &grant);
    assert_int_equal(access_of(&grant, "/home/me/project/out/x"), 'w');
    assert_int_equal(access_of(&grant, "/home/me/project/x"), 'r');
    assert_string_equal(tc_grant_find(&grant, "/data")->from, "/home/me/d");
    assert_int_equal(grant.net_count, 1);
    assert_string_equal(grant.net[0].host, "example.com");
    assert_int_equal(grant.limits.timeout_ms, 120000);
    assert_true(tc_strv_has(&grant.env, "A=1") && tc_strv_has(&grant.env, "TZ=UTC"));
    assert_true(tc_grant_tool_writes(&grant, "/home/me/project/out"));
    refused(policy, (struct ask){.command = "ls", .narrow = {"write", "/usr"}}, TOOLCAGE_EDENIED,
            "write", 0, "system path");
    refused(policy,
            (struct ask){.command = "ls", .narrow = {"read", "/home/me/.local/state/toolcage/x"}},
            TOOLCAGE_EDENIED, "read", 0, "never granted");
    refused(policy, (struct ask){.command = "ls", .narrow = {"read", "/data/*"}}, TOOLCAGE_EPOLICY,
            "read", 0, "pattern");
    refused(policy, (struct ask){.command = "ls", .narrow = {"tiemout", "1s"}}, TOOLCAGE_EUSAGE,
            "tiemout", 0, "narrowed");
    refused(policy,
            (struct ask){.command = "ls", .narrow = {"read", "/d=/srv/a", "write", "/d=/srv/b"}},
            TOOLCAGE_EUSAGE, "write", 0, "granted twice, from /srv/a and from /srv/b");
    refused(policy, (struct ask){.command = "ls", .narrow = {"unix_sockets", "/dev/log"}},
            TOOLCAGE_EPOLICY, "unix_sockets", 0, "cannot be granted");
    refused(policy, (struct ask){0}, TOOLCAGE_EUSAGE, "command", 0, "no command");
    refused(policy, (struct ask){.tool = "x", .command = "ls"}, TOOLCAGE_ENOT_FOUND, "x", 0,
            "no tool");
}

/* A directory that is named stands for itself, whatever directory the caller is in. */
static void named_directories_need_no_working_directory(void **state)
{
    _autopolicy_ struct toolcage_policy *policy =
        compile("[tool.x]\nfilesystem.readable = [{ path = \"/data\", from = \"/srv/d\" }]\n"
                "[tool.y]\nfilesystem.writable = [\"/workspace/out\"]\n");
    _autopolicy_ struct toolcage_policy *none = NULL;
    struct ask ask = {.tool = "x", .command = "ls", .facts = test_facts};
    _autogrant_ struct tc_grant data = {0}, given = {0}, out = {0};
    granted(policy, ask, &out);
    assert_true(tc_strv_has(&out.tool_writable, "/home/me/project/out")); /* y writes it */
    assert_string_equal(out.caller_cwd, "/home/me/project");
    ask.facts.cwd = "/home/me";
    granted(policy, ask, &data);
    assert_string_equal(tc_grant_find(&data, "/data")->from, "/srv/d");
    assert_int_equal(tc_policy_new_default(&none, NULL), 0);
    ask.tool = NULL;
    ask.narrow[0] = "workspace";
    ask.narrow[1] = "w";
    granted(none, ask, &given);
    assert_string_equal(tc_grant_find(&given, "/workspace")->from, "/home/me/w");
    ask.narrow[1] = "/home/me"; /* the operator's own word */
    _autogrant_ struct tc_grant whole = {0};
    granted(none, ask, &whole);
    assert_string_equal(tc_grant_find(&whole, "/workspace")->from, "/home/me");
    ask.narrow[1] = "/home/me/.config/toolcage";
    refused(none, ask, TOOLCAGE_EDENIED, "default", 0, "never granted");
}

/* A fallback brings its settings; what nobody trusts shares no worker. */
static void settings_follow_a_fallback(void **state)
{
    _autopolicy_ struct toolcage_policy *policy =
        compile("[defaults]\nfallback = [\"oci\"]\n[backend.gvisor]\nplatform = \"kvm\"\n"
                "[backend.oci]\nruntime = \"runc\"\n[backend.wasm]\nreuse = \"same-grant\"\n"
                "[tool.x]\nbackend = \"gvisor\"\nfallback = [\"oci\"]\n"
                "[tool.y]\nbackend = \"wasm\"\nrisk = \"pure_compute\"\n"
                "module = \"/m.wasm\"\n"
                "[tool.z]\nbackend = \"wasm\"\nrisk = \"untrusted\"\n"
                "[tool.w]\nbackend = \"oci\"\nrisk = \"untrusted\"\n");
    _autogrant_ struct tc_grant x = {0}, y = {0}, z = {0}, w = {0};
    granted(policy, (struct ask){.tool = "w", .command = "ls"}, &w);
    assert_non_null(tc_setting(&w.settings, "oci.runtime"));
    assert_int_equal(w.fallback.count, 0); /* to itself it does not fall back */
    granted(policy, (struct ask){.tool = "x", .command = "ls"}, &x);
    granted(policy, (struct ask){.tool = "y", .command = "ls"}, &y);
    granted(policy, (struct ask){.tool = "z", .command = "ls"}, &z);
    assert_int_equal(x.fallback.count, 1);
    assert_string_equal(x.fallback.items[0], "oci");
    assert_string_equal(tc_setting(&x.settings, "oci.runtime"), "runc");
    assert_string_equal(tc_setting(&x.settings, "gvisor.platform"), "kvm");
    assert_non_null(tc_setting(&y.settings, "wasm.reuse"));
    assert_string_equal(y.module, "/m.wasm");
    assert_null(y.module_digest);
    assert_null(tc_setting(&z.settings, "wasm.reuse"));
}

static void a_tools_own_backend_is_nearer_than_layers(void **state)
{
    _autopolicy_ struct toolcage_policy *policy =
        compile("[defaults]\nlayers = [\"gvisor\", \"wasm\"]\n"
                "[tool.x]\nbackend = \"oci\"\n[tool.y]\n");
    _autogrant_ struct tc_grant x = {0}, y = {0};
    granted(policy, (struct ask){.tool = "x", .command = "ls"}, &x);
    granted(policy, (struct ask){.tool = "y", .command = "ls"}, &y);
    assert_string_equal(x.backend, "oci");
    assert_int_equal(x.layers.count, 0);
    assert_string_equal(y.backend, "gvisor");
    assert_int_equal(y.layers.count, 2);
}

static void a_tool_that_is_not_there_is_told_of(void **state)
{
    _autopolicy_ struct toolcage_policy *policy = compile("[tool.convert]\n"), *none = NULL;
    _autogrant_ struct tc_grant grant = {0};
    _autoerror_ struct toolcage_error *near = NULL, *far = NULL, *bare = NULL;
    assert_int_equal(tc_policy_new_default(&none, NULL), 0);
    (void)resolve(policy, &(struct ask){.tool = "convrt"}, &grant, &near);
    (void)resolve(policy, &(struct ask){.tool = "ls"}, &grant, &far);
    (void)resolve(none, &(struct ask){.tool = "ls"}, &grant, &bare);
    assert_string_equal(tc_error_hint(near), "did you mean convert? its tools are convert");
    assert_string_equal(tc_error_hint(far), "its tools are convert");
    assert_string_equal(tc_error_hint(bare), "there is no policy file; name one with --policy");
}

static void defaults_are_replaced_whole(void **state)
{
    _autopolicy_ struct toolcage_policy *policy =
        compile("[defaults]\ntimeout = \"5s\"\noutput = { limit = \"2KiB\", over = \"kill\" }\n"
                "filesystem = { readable = [\"/a\"], denied = [\"/a/secret\", \"/b/secret\"] "
                "}\nenv.pass = [\"TZ\"]\n"
                "[tool.own]\ntimeout = \"60s\"\noutput.limit = \"4KiB\"\nfilesystem.readable = "
                "[\"/b\"]\nenv.set.A = \"1\"\n"
                "[tool.none]\nfilesystem = \"none\"\n");
    _autogrant_ struct tc_grant own = {0}, none = {0}, bare = {0};
    granted(policy, (struct ask){.tool = "own", .command = "ls"}, &own);
    assert_int_equal(own.limits.timeout_ms, 60000);
    assert_int_equal(own.limits.output, 4096);
    assert_false(own.limits.output_kill);
    assert_int_equal(access_of(&own, "/a/x"), '-');
    assert_int_equal(access_of(&own, "/b/x"), 'r');
    assert_int_equal(access_of(&own, "/b/secret/x"), 'd');
    assert_true(tc_strv_has(&own.env, "A=1"));
    assert_false(tc_strv_has(&own.env, "TZ=UTC"));
    granted(policy, (struct ask){.tool = "none", .command = "ls"}, &none);
    assert_int_equal(none.limits.timeout_ms, 5000);
    assert_true(none.limits.output_kill);
    assert_int_equal(access_of(&none, "/a/x"), '-');
    assert_true(tc_strv_has(&none.env, "TZ=UTC"));
    granted(policy, (struct ask){.command = "ls"}, &bare);
    assert_null(bare.tool);
    assert_int_equal(access_of(&bare, "/a/x"), 'r');
    assert_int_equal(access_of(&bare, "/home/me/project"), '-');
    refused(policy, (struct ask){.command = "ls", .narrow = {"timeout", "6s"}}, TOOLCAGE_EDENIED,
            "defaults.timeout", 2, "defaults.timeout is 5s (line 2)");
}

static void most_specific_wins_and_denied_over_all(void **state)
{
    _autopolicy_ struct toolcage_policy *policy =
        compile("[tool.x]\nfilesystem = { readable = [\"/w/lib\"], writable = [\"/w\"], denied = "
                "[\"/w/d\"] }\n"
                "[tool.y]\nfilesystem = { writable = [\"/w/d/open\"], readable = [\"/w\"], denied "
                "= [\"/w/d\"] }\n");
    _autogrant_ struct tc_grant x = {0}, y = {0};
    granted(policy, (struct ask){.tool = "x", .command = "ls"}, &x);
    assert_int_equal(access_of(&x, "/w/a"), 'w');
    assert_int_equal(access_of(&x, "/w/lib/a"), 'r');
    assert_int_equal(access_of(&x, "/w/library"), 'w');
    assert_int_equal(access_of(&x, "/w/d/a"), 'd');
    assert_int_equal(access_of(&x, "/wx"), '-');
    granted(policy, (struct ask){.tool = "y", .command = "ls"}, &y);
    assert_int_equal(access_of(&y, "/w/d/open/a"), 'd');
    assert_true(tc_grant_tool_writes(&x, "/w/d/open"));
}

static void router_chooses(void **state)
{
    static const struct {
        const char *said, *backend;
        bool approval;
    } rows[] = {{"", "process", false},
                {"tier = \"Auto\"", "process", false},
                {"tier = \"Assisted\"", "gvisor", false},
                {"tier = \"HumanApprove\"", "gvisor", true},
                {"tier = \"ManualOnly\"", "firecracker", true},
                {"tier = \"HumanApprove\"\nbackend = \"process\"", "process", true},
                {"tier = \"Auto\"\nrisk = \"untrusted\"", "process", false},
                {"risk = \"pure_compute\"", "wasm", false},
                {"risk = \"file_ops\"", "oci", false},
                {"risk = \"build_test\"", "kata", false},
                {"risk = \"untrusted\"", "firecracker", false},
                {"layers = [\"gvisor\", \"wasm\"]", "gvisor", false},
                {"layers = [\"qemu\", \"process\"]", "qemu", false},
                {"layers = [\"firecracker\", \"process\"]", "firecracker", false},
                {"layers = [\"firecracker\", \"oci\"]", "firecracker", false},
                {"layers = [\"qemu\", \"wasm\"]", "qemu", false},
                {"layers = [\"qemu\", \"oci\", \"wasm\"]", "qemu", false},
                {"layers = [\"firecracker\", \"oci\", \"wasm\"]", "firecracker", false},
                {"layers = [\"process\", \"wasm\"]", "wasm", false},
                {"layers = [\"process\", \"wasmedge\"]", "wasmedge", false},
                {"layers = [\"process\", \"oci\"]", "process", false},
                {"layers = [\"process\", \"oci\", \"wasm\"]", "process", false},
                {"tier = \"HumanApprove\"\nlayers = [\"oci\", \"wasm\"]", "oci", true},
                {"fallback = [\"oci\"]", "process", false},
                {"image = \"a\"", "oci", false},
                {"module = \"a\"", "wasm", false},
                {"image = \"a\"\nmodule = \"a\"", "oci", false},
                {"image = \"a\"\nrisk = \"untrusted\"", "firecracker", false},
                {"backend = \"not-a-security-boundary\"", "not-a-security-boundary", false}};
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        _autofree_ char *text =
            tc_format("[risk.build_test]\nbackend = \"kata\"\n[tool.x]\n%s\n", rows[i].said);
        _autopolicy_ struct toolcage_policy *policy = compile(text);
        _autogrant_ struct tc_grant grant = {0};
        granted(policy, (struct ask){.tool = "x", .command = "ls"}, &grant);
        assert_string_equal(grant.backend, rows[i].backend);
        assert_int_equal(grant.approval, rows[i].approval);
    }
}

/* A secret goes with the network that it is for, and changes the grant's digest. */
static void secrets_follow_the_network(void **state)
{
    static const char text[] =
        "[defaults]\nnetwork = [\"a.example\", \"b.example:80\"]\n[tool.x]\n"
        "secrets.B = { from = \"file:token\", hosts = [\"a.example\", \"b.example:80\"], header = "
        "\"X-Key: {secret}\" }\n"
        "secrets.A = { from = \"env:A\", hosts = [\"a.example:443\"], header = \"X: {secret}\" }\n"
        "[tool.y]\n";
    _autopolicy_ struct toolcage_policy *policy = compile(text);
    _autogrant_ struct tc_grant x = {0}, less = {0}, none = {0}, y = {0};
    granted(policy, (struct ask){.tool = "x", .command = "ls"}, &x);
    assert_int_equal(x.secret_count, 2);
    assert_string_equal(x.secrets[0].name, "A");
    assert_true(tc_startswith(x.secrets[1].from, "file:/"));
    assert_true(x.clauses & TC_CLAUSE_BIT(TC_CLAUSE_NET_ALLOW));
    granted(policy,
            (struct ask){.tool = "x", .command = "ls", .narrow = {"network", "b.example:80"}},
            &less);
    assert_int_equal(less.secret_count, 1);
    assert_int_equal(less.secrets[0].hosts.count, 1);
    granted(policy, (struct ask){.tool = "x", .command = "ls", .narrow = {"network", "none"}},
            &none);
    assert_int_equal(none.secret_count, 0);
    granted(policy, (struct ask){.tool = "y", .command = "ls"}, &y);
    assert_int_equal(y.secret_count, 0);
    assert_string_not_equal(x.digest, less.digest);
}

/* A backend's settings are in the grants of that backend, and in no other. */
static void settings_go_to_their_backend(void **state)
{
    static const char tools[] = "[tool.x]\nbackend = \"gvisor\"\n[tool.y]\nbackend = \"oci\"\n";
    _autofree_ char *text = tc_format("[backend.gvisor]\nplatform = \"kvm\"\n[backend.oci]\n"
                                      "runtime = \"runc\"\n%s",
                                      tools);
    _autopolicy_ struct toolcage_policy *said = compile(text), *unsaid = compile(tools);
    _autogrant_ struct tc_grant x = {0}, y = {0}, other = {0};
    granted(said, (struct ask){.tool = "x", .command = "ls"}, &x);
    granted(said, (struct ask){.tool = "y", .command = "ls"}, &y);
    granted(unsaid, (struct ask){.tool = "x", .command = "ls"}, &other);
    assert_string_equal(tc_setting(&x.settings, "gvisor.platform"), "kvm");
    assert_int_equal(x.settings.count, 1);
    assert_string_equal(tc_setting(&y.settings, "oci.runtime"), "runc");
    assert_int_equal(y.settings.count, 1);
    assert_int_equal(other.settings.count, 0);
    assert_string_not_equal(x.digest, other.digest);
}

/* The way out is in the grants of those who have one, and another way is another grant. */
static void upstream_goes_with_a_network(void **state)
{
    static const char tools[] = "[tool.x]\nnetwork = [\"a.example\"]\n[tool.y]\n";
    _autofree_ char *text = tc_format("[egress]\nupstream = \"socks5://[2001:db8::8]:1080\"\n"
                                      "names = \"upstream\"\n%s",
                                      tools);
    _autopolicy_ struct toolcage_policy *said = compile(text), *unsaid = compile(tools);
    _autogrant_ struct tc_grant x = {0}, y = {0}, other = {0};
    granted(said, (struct ask){.tool = "x", .command = "ls"}, &x);
    granted(said, (struct ask){.tool = "y", .command = "ls"}, &y);
    granted(unsaid, (struct ask){.tool = "x", .command = "ls"}, &other);
    assert_string_equal(x.upstream.host, "2001:db8::8");
    assert_int_equal(x.upstream.port, 1080);
    assert_true(x.upstream.socks && x.upstream.names);
    assert_null(y.upstream.host);
    assert_null(other.upstream.host);
    assert_string_not_equal(x.digest, other.digest);
}

static void environment_is_clean(void **state)
{
    _autopolicy_ struct toolcage_policy *policy = compile(
        "[tool.x]\nenv = { pass = [\"TZ\", \"NO\", \"MISSING\"], set = { LD_PRELOAD = \"/o.so\", "
        "HOMER = \"a\", HOME = \"/workspace\" } }\n");
    _autogrant_ struct tc_grant grant = {0};
    granted(policy, (struct ask){.tool = "x", .command = "ls"}, &grant);
    assert_true(tc_strv_has(&grant.env, "TZ=UTC"));
    assert_true(tc_strv_has(&grant.env, "LD_PRELOAD=/o.so"));
    assert_true(tc_strv_has(&grant.env, "HOME=/workspace"));
    assert_true(tc_strv_has(&grant.env, "HOMER=a"));
    for (size_t i = 0; i < grant.env.count; i++)
        assert_null(strstr(grant.env.items[i], "SECRET"));
    assert_int_equal(grant.env.count, 10);
}

static const char narrow_policy[] =
    "[tool.x]\nfilesystem = { readable = [{ path = \"/data\", from = \"/srv/d\" }], writable = "
    "[\"/workspace\"], "
    "denied = [\"/workspace/.env\"] }\n"
    "network = [\"a.example.com:443\", { host = \"b.example.com\", methods = [\"GET\"] }]\ntimeout "
    "= \"60s\"\n"
    "cpus = 1.5\nenv.pass = [\"TZ\"]\ncollect = [\"*.csv\"]\ndenials = \"calls\"\nbackend = "
    "\"process\"\n";

static void narrowing_never_widens(void **state)
{
    static const struct {
        const char *key, *value, *subject;
        uint32_t line;
        const char *words;
    } rows[] = {
        {"timeout", "61s", "tool.x.timeout", 4, "tool.x.timeout is 1m (line 4)"},
        {"memory", "513MiB", "tool.x.memory", 0, "is not set, so it is 512MiB"},
        {"cpus", "1.501", "tool.x.cpus", 5, "is 1.5"},
        {"pids", "129", "tool.x.pids", 0, "so it is 128"},
        {"disk", "65MiB", "tool.x.disk", 0, "64MiB"},
        {"open_files", "1025", "tool.x.open_files", 0, "1024"},
        {"output", "2MiB", "tool.x.output", 0, "1MiB"},
        {"network", "c.example.com", "tool.x.network", 3, "without this endpoint"},
        {"network", "a.example.com:80", "tool.x.network", 3, "without this endpoint"},
        {"network", "*", "tool.x.network", 3, "without this endpoint"},
        {"env", "A=1", "tool.x.env", 6, "more than the policy grants"},
        {"env", "TZX=1", "tool.x.env", 6, "more than the policy grants"},
        {"collect", "*.png", "tool.x.collect", 7, "more than the policy grants"},
        {"denials", "off", "tool.x.denials", 8, "more than the policy grants"},
        {"backend", "not-a-security-boundary", "tool.x.backend", 9, "more than the policy grants"},
        {"read", "/srv", "tool.x.filesystem", 2, "it is not granted"},
        {"write", "/data/a", "tool.x.filesystem", 2, "only readable"},
        {"read", "/workspace/.env", "tool.x.filesystem", 2, "it is denied"},
        {"read", "/data=/home/me", "tool.x.filesystem.readable", 2, "from /srv/d"},
        {"read", "/data/../workspace/../etc", "tool.x.filesystem", 2, "it is not granted"},
    };
    _autopolicy_ struct toolcage_policy *policy = compile(narrow_policy);
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        struct ask ask = {.tool = "x", .command = "ls", .narrow = {rows[i].key, rows[i].value}};
        refused(policy, ask, TOOLCAGE_EDENIED, rows[i].subject, rows[i].line, rows[i].words);
    }
}

static void narrowing_narrows(void **state)
{
    _autopolicy_ struct toolcage_policy *policy = compile(narrow_policy);
    _autogrant_ struct tc_grant grant = {0}, all = {0}, none = {0};
    granted(policy,
            (struct ask){.tool = "x",
                         .command = "ls",
                         .narrow = {"timeout", "1s", "read", "/data/sub", "write", "/workspace/out",
                                    "network", "b.example.com", "pids", "1", "env", "TZ=CET",
                                    "disk", "1MiB", "cpu_time", "1s"}},
            &grant);
    assert_int_equal(grant.limits.timeout_ms, 1000);
    assert_int_equal(grant.limits.cpu_time_ms, 1000);
    assert_int_equal(grant.limits.inodes, 256);
    assert_int_equal(access_of(&grant, "/data/sub/a"), 'r');
    assert_string_equal(tc_grant_find(&grant, "/data/sub")->from, "/srv/d/sub");
    assert_int_equal(access_of(&grant, "/data/other"), '-');
    assert_int_equal(access_of(&grant, "/workspace/out/a"), 'w');
    assert_int_equal(access_of(&grant, "/workspace/a"), '-');
    assert_int_equal(access_of(&grant, "/workspace/.env"), 'd');
    assert_int_equal(grant.net_count, 1);
    assert_int_equal(grant.net[0].methods.count, 1);
    assert_true(tc_strv_has(&grant.env, "TZ=CET"));
    granted(policy,
            (struct ask){.tool = "x", .command = "ls", .narrow = {"read", "/", "network", "none"}},
            &all);
    assert_int_equal(access_of(&all, "/workspace/a"), 'r');
    assert_int_equal(access_of(&all, "/data/a"), 'r');
    assert_int_equal(access_of(&all, "/etc/x"), '-');
    assert_true(all.clauses & TC_CLAUSE_BIT(TC_CLAUSE_NET_NONE));
    granted(policy,
            (struct ask){
                .tool = "x", .command = "ls", .narrow = {"backend", "process", "denials", "paths"}},
            &none);
    assert_int_equal(none.denials, TC_DENIALS_PATHS);
}

static const char socket_policy[] =
    "[defaults]\nfilesystem.readable = [\"/data2\"]\n"
    "[tool.x]\nunix_sockets = [\"/run/a.sock\", { path = \"/run/b\", from = \"/srv/b.sock\" }]\n"
    "[tool.own]\nunix_sockets = \"own\"\n[tool.none]\nunix_sockets = \"none\"\n[tool.unsaid]\n"
    "[tool.mine]\nunix_sockets = [\"/run/toolcage/x\"]\n"
    "[tool.roots]\nunix_sockets = [\"/var/lib/toolcage/x\"]\n"
    "[tool.writable]\nfilesystem.writable = [\"/data\"]\nunix_sockets = [\"/data/x\"]\n"
    "[tool.twice]\nunix_sockets = [{ path = \"/data2\", from "
    "= \"/srv/b.sock\" }]\n";

static void unix_sockets(void **state)
{
    static const struct {
        const char *tool, *value;
        int sockets; /* -1: none, not even its own */
    } rows[] = {{"x", NULL, 2},         {"x", "own", 0},      {"x", "none", -1},
                {"x", "/run/b", 1},     {"own", NULL, 0},     {"own", "own", 0},
                {"own", "none", -1},    {"none", NULL, -1},   {"none", "none", -1},
                {"unsaid", "none", -1}, {"unsaid", NULL, -1}, {"x", "/run/../run/a.sock", 1}};
    _autopolicy_ struct toolcage_policy *policy = compile(socket_policy);
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        _autogrant_ struct tc_grant grant = {0};
        struct ask ask = {.tool = rows[i].tool, .command = "ls"};
        if (rows[i].value) {
            ask.narrow[0] = "unix_sockets";
            ask.narrow[1] = rows[i].value;
        }
        granted(policy, ask, &grant);
        assert_int_equal(grant.unix_sockets, rows[i].sockets >= 0);
        assert_int_equal(grant.socket_count, rows[i].sockets < 0 ? 0 : rows[i].sockets);
    }
    const struct {
        const char *tool, *value, *subject, *words;
    } no[] = {{"own", "/run/a.sock", "tool.own.unix_sockets", "more than the policy grants"},
              {"none", "own", "tool.none.unix_sockets", "is none"},
              {"unsaid", "own", "tool.unsaid.unix_sockets", "is none"},
              {"x", "/srv/b.sock", "tool.x.unix_sockets", "without it"},
              {"mine", NULL, "tool.mine.unix_sockets", "toolcage's own"},
              {"roots", NULL, "tool.roots.unix_sockets", "toolcage's own"},
              {"writable", NULL, "tool.writable.unix_sockets", "a tool can write"},
              {"twice", NULL, "tool.twice.unix_sockets", "where a file is granted"}};
    for (size_t i = 0; i < TC_COUNT(no); i++) {
        _autogrant_ struct tc_grant grant = {0};
        _autoerror_ struct toolcage_error *err = NULL;
        struct ask ask = {.tool = no[i].tool, .command = "ls"};
        if (no[i].value) {
            ask.narrow[0] = "unix_sockets";
            ask.narrow[1] = no[i].value;
        }
        assert_int_equal(resolve(policy, &ask, &grant, &err), TOOLCAGE_EDENIED);
        assert_string_equal(tc_error_subject(err), no[i].subject);
        assert_non_null(strstr(tc_error_message(err), no[i].words));
    }
    refused(policy,
            (struct ask){.tool = "own",
                         .command = "ls",
                         .narrow = {"unix_sockets", "none", "unix_sockets", "own"}},
            TOOLCAGE_EUSAGE, "unix_sockets", 0, "cannot be combined");
}

/* An install has what it says and what the defaults say, but writes nothing of the host's; its tool
 * has nothing of it. */
static void installs_are_apart(void **state)
{
    _autopolicy_ struct toolcage_policy *policy = compile(
        "[defaults]\nfilesystem = { writable = [\"/w\"], denied = [\"/w/no\"] }\ntier = "
        "\"HumanApprove\"\n"
        "timeout = \"7s\"\nworkspace = { mode = \"overlay\", commit = \"never\" }\n"
        "[tool.x]\ncommand = [\"t\"]\nfilesystem.readable = [\"/t\"]\n"
        "env.set.A = \"a\"\ntimeout = \"9s\"\n"
        "[tool.x.setup]\ncommand = [\"i\"]\ninto = \"/opt/x\"\n"
        "network = [\"a.example\"]\n"
        "[server.s]\ncommand = [\"s\"]\nsetup = { command = [\"i\"], into = \"/opt/s\" }\n");
    _autogrant_ struct tc_grant install = {0}, tool = {0}, server = {0};
    granted(policy, (struct ask){.tool = "x.setup"}, &install);
    granted(policy, (struct ask){.tool = "x"}, &tool);
    granted(policy, (struct ask){.tool = "server.s.setup"}, &server);
    assert_int_equal(access_of(&install, "/w"), 'r');
    assert_int_equal(access_of(&install, "/w/no/a"), 'd');
    assert_int_equal(access_of(&install, "/t"), '-');
    assert_int_equal(access_of(&tool, "/t"), 'r');
    assert_int_equal(install.net_count, 1);
    assert_int_equal(tool.net_count, 0);
    assert_int_equal(install.limits.timeout_ms, 7000);
    assert_int_equal(server.limits.timeout_ms, 7000);
    assert_int_equal(install.workspace, TC_WORKSPACE_COPY);
    assert_int_equal(install.commit, TC_COMMIT_SUCCESS);
    assert_true(install.steering.listed);
    assert_false(tool.steering.listed);
    assert_false(install.approval);
    assert_true(tool.approval);
    assert_true(tc_policy_names_setup(policy, "x.setup") &&
                tc_policy_names_setup(policy, "server.s.setup"));
    assert_false(tc_policy_names_setup(policy, "x") || tc_policy_names_setup(policy, ".setup") ||
                 tc_policy_has_tool(policy, "y.setup") || tc_policy_has_tool(policy, "s.setup") ||
                 tc_policy_has_tool(policy, "x.setup.setup"));
}

static void checks_narrowing_alone(void **state)
{
    static const struct {
        const char *key, *value;
        int code;
    } rows[] = {{"timeout", "30s", 0},
                {"timeout", "30", TOOLCAGE_EPOLICY},
                {"memory", "512m", TOOLCAGE_EPOLICY},
                {"pids", "x", TOOLCAGE_EPOLICY},
                {"network", "none", 0},
                {"unix_sockets", "own", 0},
                {"unix_sockets", "/run/*", TOOLCAGE_EPOLICY},
                {"network", "*.example.com", 0},
                {"network", "a*.example.com", TOOLCAGE_EPOLICY},
                {"denials", "never", TOOLCAGE_EPOLICY},
                {"env", "1A=2", TOOLCAGE_EPOLICY},
                {"env", "A-B=2", TOOLCAGE_EPOLICY},
                {"env", "=2", TOOLCAGE_EPOLICY},
                {"write", "/w=/a*", TOOLCAGE_EPOLICY},
                {"write", "/workspace=out", 0},
                {"write", "=out", TOOLCAGE_EPOLICY},
                {"read", "=out", TOOLCAGE_EPOLICY},
                {"cwd", "", TOOLCAGE_EPOLICY},
                {"workspace", "out", 0},
                {"workspace", "", TOOLCAGE_EPOLICY},
                {"collect", "", TOOLCAGE_EPOLICY},
                {"grace", "1s", TOOLCAGE_EUSAGE},
                {"verbose", "1", TOOLCAGE_EUSAGE}};
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        _autoerror_ struct toolcage_error *err = NULL;
        assert_int_equal(tc_policy_check_narrowing(rows[i].key, rows[i].value, &err), rows[i].code);
        assert_int_equal(err != NULL, rows[i].code != 0);
        if (err)
            assert_true(tc_error_hint(err)[0]);
    }
}

static void a_command_has_a_place(void **state)
{
    _autopolicy_ struct toolcage_policy *policy = compile("[tool.x]\nnetwork = [\"a.example\"]\n");
    _autoerror_ struct toolcage_error *err = NULL;
    _autogrant_ struct tc_grant grant = {0};
    assert_int_equal(resolve(policy, &(struct ask){.tool = "x"}, &grant, &err), TOOLCAGE_EUSAGE);
    assert_non_null(strstr(tc_error_hint(err), "in [tool.x]"));
    assert_non_null(strstr(tc_error_hint(err), "exec --tool x --"));
}

/* Of several names that are near, the nearest, wherever it stands among them. */
static void the_nearest_name_is_meant(void **state)
{
    _autopolicy_ struct toolcage_policy *policy = compile("[tool.lint]\n[tool.lists]\n");
    _autoerror_ struct toolcage_error *err = NULL, *flag = NULL;
    _autogrant_ struct tc_grant grant = {0};
    assert_int_equal(resolve(policy, &(struct ask){.tool = "linst", .command = "ls"}, &grant, &err),
                     TOOLCAGE_ENOT_FOUND);
    assert_string_equal(tc_error_hint(err), "did you mean lint? its tools are lint, lists");
    assert_int_equal(tc_policy_check_narrowing("cpu", "1", &flag), TOOLCAGE_EUSAGE);
    assert_string_equal(tc_error_hint(flag), "did you mean \"cpus\"?"); /* not cwd */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(default_grant_is_the_strictest_useful),
        cmocka_unit_test(wide_directories_are_refused),
        cmocka_unit_test(flags_grant_where_no_policy_is),
        cmocka_unit_test(named_directories_need_no_working_directory),
        cmocka_unit_test(settings_follow_a_fallback),
        cmocka_unit_test(a_tools_own_backend_is_nearer_than_layers),
        cmocka_unit_test(a_tool_that_is_not_there_is_told_of),
        cmocka_unit_test(defaults_are_replaced_whole),
        cmocka_unit_test(most_specific_wins_and_denied_over_all),
        cmocka_unit_test(router_chooses),
        cmocka_unit_test(secrets_follow_the_network),
        cmocka_unit_test(settings_go_to_their_backend),
        cmocka_unit_test(upstream_goes_with_a_network),
        cmocka_unit_test(environment_is_clean),
        cmocka_unit_test(narrowing_never_widens),
        cmocka_unit_test(narrowing_narrows),
        cmocka_unit_test(unix_sockets),
        cmocka_unit_test(installs_are_apart),
        cmocka_unit_test(checks_narrowing_alone),
        cmocka_unit_test(a_command_has_a_place),
        cmocka_unit_test(the_nearest_name_is_meant),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
