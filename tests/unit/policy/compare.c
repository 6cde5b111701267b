/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What one policy grants more or less than another: a table, and random pairs against what the
 * grants themselves say of sampled accesses. */
#include "test.h"

#include "policy/compare/compare.h"
#include "policy/endpoint.h"

#define TOOL "[tool.x]\ncommand = [\"t\"]\n"

#define SETUP "[tool.x.setup]\ncommand = [\"i\"]\ninto = \"/opt/x\"\n"

static bool widened(const struct tc_differences *all)
{
    bool more = false;
    for (size_t i = 0; i < all->count; i++)
        more |= all->items[i].kind == TC_DIFFERENCE_MORE;
    return more;
}

static struct tc_differences diff(const char *from, const char *to)
{
    struct tc_differences all = {0};
    _autopolicy_ struct toolcage_policy *a = compile(from), *b = compile(to);
    assert_int_equal(tc_policy_compare(a, b, &test_facts, &all, NULL), 0);
    return all;
}

static const struct {
    const char *narrow, *wide, *words; /* of the change from narrow to wide */
} rows[] = {
    {TOOL, TOOL "filesystem.readable = [\"/data\"]", "/data is readable"},
    {TOOL "filesystem.readable = [\"/data/x\"]", TOOL "filesystem.readable = [\"/data\"]",
     "/data is readable"},
    {TOOL "filesystem.readable = [\"/data\"]", TOOL "filesystem.writable = [\"/data\"]",
     "/data is writable, before readable"},
    {TOOL "filesystem = { readable = [\"/data\"], denied = [\"/data/s\"] }",
     TOOL "filesystem.readable = [\"/data\"]", "/data/s is readable, before nothing"},
    {TOOL "filesystem = { writable = [\"/w\"], readable = [\"/w/r\"] }",
     TOOL "filesystem.writable = [\"/w\"]", "/w/r is writable, before readable"},
    {TOOL "filesystem.denied = [\"/usr/share/x\"]", TOOL, "/usr/share/x is readable"},
    {TOOL "filesystem.readable = [\"/home/me\"]",
     TOOL "filesystem.readable = [\"/home/me\", \"/home/me/.ssh\"]", "/home/me/.ssh is readable"},
    {TOOL "filesystem.writable = [\"/w\"]",
     TOOL "filesystem.writable = [\"/w\", \"/w/.git/hooks\"]", "steering file"},
    {TOOL "filesystem.writable = [\"/w\"]", TOOL "filesystem.writable = [\"/w\", \"/w/CLAUDE.md\"]",
     "steering file"},
    {TOOL "filesystem = { writable = [\"/w\"], steering.add = [\"own.cfg\"] }",
     TOOL "filesystem = { writable = [\"/w\", \"/w/a/own.cfg\"], steering.add = [\"own.cfg\"] }",
     "/w/a/own.cfg is writable by name"},
    {"[defaults]\nfilesystem.denied = [\"/data/s\"]\n" TOOL "filesystem.readable = [\"/data\"]",
     TOOL "filesystem.readable = [\"/data\"]", "/data/s is readable"},
    {TOOL, TOOL "network = [\"a.example\"]", "reaches a.example:443"},
    {TOOL "network = [\"a.example\"]", TOOL "network = [\"*\"]", "reaches *:443"},
    {TOOL "network = [\"*\", { host = \"a.example\", methods = [\"GET\"] }]",
     TOOL "network = [\"*\"]", "reaches a.example:443"},
    {TOOL "network = [{ host = \"a.example\", methods = [\"GET\"] }]",
     TOOL "network = [{ host = \"a.example\", methods = [\"GET\", \"PUT\"] }]",
     "reaches a.example:443 with"},
    {TOOL "network = [{ host = \"a.example\", paths = [\"/v1/x\"] }]",
     TOOL "network = [{ host = \"a.example\", paths = [\"/v1\"] }]", "with these methods"},
    {TOOL, TOOL "unix_sockets = \"own\"", "creates its own unix sockets"},
    {TOOL, TOOL "fallback = [\"gvisor\"]", "may also run on backend gvisor"},
    {TOOL, TOOL "syscalls = { allow = [\"ptrace\"] }", "may make the system call ptrace"},
    {TOOL "syscalls = { deny = [\"mlock\"] }", TOOL, "no longer denied the system call mlock"},
    {TOOL "network = [\"a.example\"]",
     TOOL "network = [\"a.example\"]\nsecrets.S = { from = \"env:S\", hosts = "
          "[\"a.example:443\"], header = \"X: {secret}\" }",
     "has the secret S"},
    {TOOL, TOOL "timeout = \"31s\"", "timeout is 31s, before 30s"},
    {TOOL "cpu_time = \"1s\"", TOOL, "cpu_time is unset, before 1s"},
    {TOOL "memory = \"512MiB\"", TOOL, "each process separately"},
    {TOOL "output = { limit = \"1MiB\", over = \"kill\" }", TOOL, "does not end the call"},
    {TOOL "tier = \"HumanApprove\"\nbackend = \"process\"", TOOL, "less human approval"},
    {TOOL "tier = \"ManualOnly\"\nbackend = \"process\"",
     TOOL "tier = \"HumanApprove\"\nbackend = \"process\"", "less human approval"},
    {TOOL "backend = \"gvisor\"", TOOL, "backend process instead of gvisor"},
    {TOOL "tier = \"Assisted\"", TOOL "tier = \"Assisted\"\n[tier.Assisted]\nbackend = \"process\"",
     "backend process instead of gvisor"},
    {TOOL "workspace = { mode = \"overlay\", commit = \"ask\" }", TOOL, "staged"},
    {TOOL "denials = \"paths\"", TOOL, "fewer accesses are recorded"},
    {TOOL, TOOL "without = [\"proc.own\"]", "may run without proc.own"},
    {TOOL, TOOL "env.pass = [\"TZ\"]", "variable TZ"},
    {TOOL, TOOL "programs = [\"python3\"]", "program python3"},
    {TOOL, TOOL "collect = [\"*.csv\"]", "collects files"},
    {TOOL "deterministic = true", TOOL, "results may differ"},
    {TOOL, TOOL SETUP, "is new"},
    {TOOL SETUP, TOOL SETUP "filesystem.readable = [\"/data\"]", "/data is readable"},
    {TOOL SETUP, TOOL SETUP "timeout = \"1h\"", "1h"},
    {TOOL SETUP, TOOL SETUP "inputs = [\"a\"]", "reads the input a"},
    {"[server.s]\ncommand = [\"s\"]\n",
     "[server.s]\ncommand = [\"s\"]\n"
     "setup = { command = [\"i\"], into = \"/opt/s\" }",
     "is new"},
    {TOOL, TOOL "[tool.y]\ncommand = [\"u\"]", "is new"},
    {TOOL, TOOL "[tool.y]\ncommand = [\"u\", \"a b\"]", "the command is [\"u\", \"a b\"]"},
    {TOOL, TOOL "[tool.y]\nfilesystem.readable = [{ path = \"/x\", from = \"/data\" }]",
     "/x is readable, from /data"},
    {TOOL, "[defaults]\nnetwork = [\"a.example\"]\n" TOOL, "reaches a.example:443"},
    {TOOL, TOOL "[tool.y]\ntimeout = \"31s\"", "timeout is 31s"},
    {TOOL, TOOL "[tool.y]\nenv.set = { A = \"1\" }", "sets the variable A=1"},
    {TOOL, TOOL "[tool.y]\ncommand = [\"u\", \"{p}\"]\narguments.p = { read = [\"/data\"] }",
     "argument p may name paths read below /data"},
    {TOOL,
     TOOL "[tool.y]\ncommand = [\"u\"]\n[tool.y.setup]\ncommand = [\"i\"]\ninto = \"/opt/y\"\n"
          "network = [\"a.example\"]",
     "reaches a.example:443"},
    {TOOL, TOOL "[server.s]\ncommand = [\"s\"]\nfilesystem.readable = [\"/data\"]",
     "/data is readable"},
    {TOOL "arguments.a = { maxLength = 3 }", TOOL "arguments.a = { maxLength = 4 }",
     "values that it did not"},
    {TOOL "arguments.a = { enum = [\"p\"] }", TOOL "arguments.a = { enum = [\"p\", \"q\"] }",
     "values that it did not"},
    {TOOL "arguments.a = { type = \"integer\", minimum = 2 }",
     TOOL "arguments.a = { type = \"integer\", minimum = 1 }", "values that it did not"},
    {TOOL "arguments.a = { pattern = \"^a\" }", TOOL "arguments.a = {}", "values that it did not"},
    {TOOL "arguments.a = { format = \"date\" }", TOOL "arguments.a = {}", "values that it did not"},
    {TOOL "arguments.a = { type = \"object\", properties.m = {}, required = [\"m\"] }",
     TOOL "arguments.a = { type = \"object\", properties.m = {} }", "values that it did not"},
    {TOOL "arguments.a = { type = \"array\", items = { type = \"array\", maxItems = 2 } }",
     TOOL "arguments.a = { type = \"array\", items = { type = \"array\" } }",
     "values that it did not"},
    {TOOL "arguments.a = { type = \"integer\", minimum = 9007199254740993 }",
     TOOL "arguments.a = { type = \"integer\", minimum = 9007199254740992 }",
     "values that it did not"},
    {TOOL "arguments.a = { type = \"integer\", enum = [9007199254740993, 1] }",
     TOOL "arguments.a = { type = \"integer\", enum = [1, 9007199254740992, 9007199254740993] }",
     "values that it did not"},
    {TOOL "arguments.a = {}", TOOL "arguments.a = { type = [\"string\", \"null\"] }",
     "values that it did not"},
    {TOOL "arguments.a = { type = \"integer\" }", TOOL "arguments.a = { type = \"number\" }",
     "values that it did not"},
    {TOOL "arguments.a = { not = { const = \"x\" } }", TOOL "arguments.a = {}",
     "values that it did not"},
    {TOOL "arguments.a = { type = \"array\", items = false }",
     TOOL "arguments.a = { type = \"array\" }", "values that it did not"},
    {TOOL "input_schema = { type = \"object\", additionalProperties = false, minProperties = 1 }",
     TOOL "input_schema = { type = \"object\", additionalProperties = false }", "no longer bound"},
    {TOOL "arguments.a = {}", TOOL "arguments.a = { optional = true }", "may be absent"},
    {TOOL "arguments.a = { read = [\"/data/x\"] }", TOOL "arguments.a = { read = [\"/data\"] }",
     "read below /data"},
    {TOOL "arguments.a = { read = [\"/data\"] }", TOOL "arguments.a = { write = [\"/data\"] }",
     "written below /data"},
    {TOOL "workspace.mode = \"copy\"\nreview.ignore = []", TOOL "workspace.mode = \"copy\"",
     "summarises in a review"},
    {"[server.s]\ncommand = [\"s\"]\n", "[server.s]\ncommand = [\"s\"]\ntool.t = {}\n", "is new"},
    {"[server.s]\ncommand = [\"s\"]\n",
     "[server.s]\ncommand = [\"s\"]\nnetwork = [\"a.example\"]\n", "reaches a.example:443"},
    {TOOL "filesystem.writable = [\"/w\"]",
     TOOL "filesystem = { writable = [\"/w\"], steering.remove = [\".tool\"] }",
     "may write the steering file .tool"},
    {"[server.s]\ncommand = [\"s\"]\n", "[server.s]\ncommand = [\"s\"]\ntool.\"*\" = {}\n",
     "is new"},
    {"[server.s]\ncommand = [\"s\"]\ntool.t = { arguments.a = {} }\ntool.\"*\" = {}\n",
     "[server.s]\ncommand = [\"s\"]\ntool.\"*\" = {}\n", "any arguments"},
    {"[server.s]\ncommand = [\"s\"]\ntool.t = { arguments.a = {} }\n",
     "[server.s]\ncommand = [\"s\"]\ntool.t = {}\n", "any arguments"},
};

static bool says(const struct tc_differences *all, const char *words)
{
    for (size_t i = 0; i < all->count; i++)
        if (all->items[i].kind == TC_DIFFERENCE_MORE && strstr(all->items[i].text, words))
            return true;
    return false;
}

static void wider_policy_is_reported_as_wider(void **state)
{
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        _auto_(tc_differences_done) struct tc_differences more = diff(rows[i].narrow, rows[i].wide),
                                                          less = diff(rows[i].wide, rows[i].narrow),
                                                          none = diff(rows[i].wide, rows[i].wide);
        if (!says(&more, rows[i].words) || widened(&less) || !less.count || none.count)
            print_error("row %zu: %s\n%s %s\n", i, rows[i].words,
                        more.count ? more.items[0].text : "nothing",
                        less.count ? less.items[0].text : "nothing");
        assert_true(says(&more, rows[i].words));
        assert_true(less.count > 0 && !widened(&less));
        assert_int_equal(none.count, 0);
    }
}

static void meaning_not_text(void **state)
{
    static const char *const same[][2] = {
        {TOOL "pids = 64\ntimeout = \"60s\"", TOOL "# a comment\ntimeout = \"1m\"\npids = 64"},
        {TOOL, TOOL "timeout = \"30s\"\nnetwork = \"none\"\nfilesystem = \"none\"\npids = 128"},
        {TOOL "pids = 5", "[defaults]\npids = 5\n[tool.x]\ncommand = [\"t\"]\n[defaults.env]\n"},
        {TOOL "network = [\"a.example\", \"b.example\"]",
         TOOL "network = [\"allowlist:b.example:443\", { host = \"A.example\" }]"},
    };
    for (size_t i = 0; i < TC_COUNT(same); i++) {
        _auto_(tc_differences_done) struct tc_differences all = diff(same[i][0], same[i][1]);
        for (size_t n = 0; n < all.count; n++)
            assert_string_equal(all.items[n].place, "defaults"); /* of the third: a bare command */
        assert_true(i == 2 || !all.count);
    }
}

static void not_comparable_is_more(void **state)
{
    static const char *const pairs[][2] = {
        {TOOL, "[tool.x]\ncommand = [\"u\"]\n"},
        {TOOL, TOOL "env.set = { A = \"b\" }"},
        {TOOL "backend = \"wasm\"", TOOL "backend = \"gvisor\""},
        {TOOL "stdin = \"a\"", TOOL "stdin = \"b\""},
        {TOOL "cwd = \"/usr\"", TOOL "cwd = \"/bin\""},
        {TOOL "image = \"/a\"", TOOL "image = \"/b\""},
        {TOOL "warm = [\"a\"]", TOOL "warm = [\"b\"]"},
        /* what is added to `to` turns what a word speaks of */
        {TOOL "arguments.a = { type = \"array\", items = { type = \"integer\" } }", TOOL
         "arguments.a = { type = \"array\", items = { type = \"integer\" }, prefixItems = [{}] }"},
        {TOOL "arguments.a = { type = \"array\", contains = { const = \"x\" } }",
         TOOL "arguments.a = { type = \"array\", contains = { const = \"x\" }, minContains = 0 }"},
        {TOOL "arguments.a = { type = \"object\", additionalProperties = { type = \"integer\" } }",
         TOOL "arguments.a = { type = \"object\", additionalProperties = { type = \"integer\" }, "
              "patternProperties.x = {} }"},
        {TOOL
         "input_schema = { type = \"object\", additionalProperties = false, minProperties = 1 }",
         TOOL
         "input_schema = { type = \"object\", additionalProperties = false, maxProperties = 1 }"},
        {TOOL "arguments.a = { type = \"integer\", const = 9007199254740993 }",
         TOOL "arguments.a = { type = \"integer\", const = 9007199254740992 }"},
    };
    for (size_t i = 0; i < TC_COUNT(pairs); i++) {
        _auto_(tc_differences_done) struct tc_differences there = diff(pairs[i][0], pairs[i][1]),
                                                          back = diff(pairs[i][1], pairs[i][0]);
        assert_true(widened(&there) && widened(&back));
    }
}

/* ---- random pairs ---- */

static uint64_t seed = 88172645463325252u;

static unsigned below(unsigned n)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (unsigned)((seed >> 11) % n);
}

static const char *const paths[] = {
    "/w",      "/w/a",         "/w/a/b",          "/w/.git/config", "/data",
    "/data/x", "/workspace",   "/workspace/p",    "/home/me",       "/home/me/.ssh",
    "/tmp/z",  "/usr/share/q", "/home/me/.ssh/id"};
static const char *const hosts[] = {"a.example", "b.example", "10.0.0.1"};
static const char *const entries[] = {"\"a.example\"",
                                      "\"b.example:80\"",
                                      "\"*\"",
                                      "\"10.0.0.1:443\"",
                                      "{ host = \"a.example\", methods = [\"GET\"] }",
                                      "\"*:80\""};

static void add_paths(struct tc_buf *out, const char *key, unsigned most)
{
    tc_buf_addf(out, "filesystem.%s = [", key);
    for (unsigned i = below(most + 1); i > 0; i--)
        tc_buf_addf(out, "\"%s\",", paths[below(TC_COUNT(paths))]);
    tc_buf_adds(out, "]\n");
}

static struct toolcage_policy *random_policy(void)
{
    struct toolcage_policy *policy = NULL;
    while (!policy) {
        _autobuf_ struct tc_buf out = TC_BUF_INIT;
        tc_buf_adds(&out, below(3) ? "" : "[defaults]\nfilesystem.denied = [\"/w/a\"]\n");
        tc_buf_adds(&out, TOOL);
        if (below(5)) {
            add_paths(&out, "readable", 2);
            add_paths(&out, "writable", 1);
            add_paths(&out, "denied", 1);
        }
        tc_buf_adds(&out, "network = [");
        for (unsigned i = below(3); i > 0; i--)
            tc_buf_addf(&out, "%s,", entries[below(TC_COUNT(entries))]);
        tc_buf_addf(&out, "]\npids = %u\n", 64 + below(2));
        /* a system path that was drawn as writable does not compile: draw again */
        (void)tc_policy_compile(out.data, out.len, "r.toml", "/srv/p", "/home/me", &policy, NULL);
    }
    return policy;
}

static bool reaches(const struct tc_grant *grant, const char *host, unsigned port)
{
    return tc_endpoint_find(grant->net, grant->net_count, host, port);
}

/* Nothing that the first refuses is allowed by the second. */
static void check_samples(const struct tc_grant *a, const struct tc_grant *b)
{
    static const char *const tails[] = {"", "/f", "/.ssh", "/a/b", "/.git/config"};
    for (size_t p = 0; p < TC_COUNT(paths); p++)
        for (size_t t = 0; t < TC_COUNT(tails); t++) {
            char path[128];
            (void)snprintf(path, sizeof(path), "%s%s", paths[p], tails[t]);
            char x = access_of(a, path), y = access_of(b, path);
            bool system = strncmp(path, "/usr", 4) == 0;
            assert_false(y == 'w' && x != 'w');
            assert_false(y == 'r' && x != 'r' && x != 'w' && !(system && x == '-'));
            assert_false(system && y == '-' && x == 'd');
        }
    for (size_t h = 0; h < TC_COUNT(hosts); h++) {
        assert_false(reaches(b, hosts[h], 443) && !reaches(a, hosts[h], 443));
        assert_false(reaches(b, hosts[h], 80) && !reaches(a, hosts[h], 80));
    }
    assert_true(b->limits.pids <= a->limits.pids);
}

static void random_pairs(void **state)
{
    size_t narrower = 0;
    const unsigned pairs = rounds(4000);
    seed += first_round();
    for (unsigned i = 0; i < pairs; i++) {
        _autopolicy_ struct toolcage_policy *a = random_policy(), *b = random_policy();
        _auto_(tc_differences_done) struct tc_differences all = {0}, none = {0};
        _autogrant_ struct tc_grant x = {0}, y = {0};
        const struct ask ask = {.tool = "x"};
        assert_int_equal(tc_policy_compare(a, a, &test_facts, &none, NULL), 0);
        assert_int_equal(none.count, 0);
        assert_int_equal(tc_policy_compare(a, b, &test_facts, &all, NULL), 0);
        if (widened(&all) || resolve(b, &ask, &y, NULL) || resolve(a, &ask, &x, NULL))
            continue;
        check_samples(&x, &y);
        narrower++;
    }
    assert_true(narrower > pairs / 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wider_policy_is_reported_as_wider),
        cmocka_unit_test(meaning_not_text),
        cmocka_unit_test(not_comparable_is_more),
        cmocka_unit_test(random_pairs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
