/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * docs/lint.md and the rules say the same: each rule has a section, with an example that it speaks
 * of and one that it does not. And what stands beside the rules: places, silences, sums, size. */
#include "test.h"

#include <fcntl.h>
#include <jansson.h>
#include <time.h>

#include "base/fd.h"
#include "policy/lint/lint_rules.h"

static const struct tc_lint_backend backends[] = {
    {"process", ~TC_CLAUSE_BIT(TC_CLAUSE_NET_SECRET), ~TC_FEATURE_BIT(IMAGE), false},
    {"gvisor", ~TC_CLAUSE_BIT(TC_CLAUSE_NET_SECRET), TC_FEATURE_BIT(IMAGE) | TC_FEATURE_BIT(HOST),
     false},
    {"oci", ~(TC_CLAUSE_BIT(TC_CLAUSE_NET_SECRET) | TC_CLAUSE_BIT(TC_CLAUSE_NET_ALLOW)),
     TC_FEATURE_BIT(IMAGE) | TC_FEATURE_BIT(HOST), false},
    {"not-a-security-boundary", 0, ~(tc_features)0, true}};
static const char suffixes[] = "// the list\n\nio\ngithub.io\nco.uk\n*.ck\n!www.ck\n";

/* A file or a variable whose name has "absent" does not exist. */
static bool exists(const char *name)
{
    return !strstr(name, "absent") && !strstr(name, "ABSENT");
}

static json_t *lint_with(const char *text, const char *list)
{
    _autopolicy_ struct toolcage_policy *policy = compile(text);
    _autofree_ char *out = NULL;
    const struct tc_lint_facts facts = {backends,
                                        sizeof(backends) / sizeof(*backends),
                                        list,
                                        list ? strlen(list) : 0,
                                        .exists = exists,
                                        .variable = exists};
    assert_int_equal(tc_policy_lint(policy, text, strlen(text), &facts, &out, NULL), 0);
    json_t *all = json_loads(out, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(all);
    return all;
}

static json_t *lint(const char *text)
{
    return lint_with(text, suffixes);
}

static const char *text_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

/* The first finding of this id that is not silenced, or NULL. */
static json_t *find(json_t *all, const char *id)
{
    size_t i;
    json_t *one;
    json_array_foreach(json_object_get(all, "findings"), i,
                       one) if (strcmp(text_of(one, "id"), id) == 0 &&
                                !text_of(one, "silenced")) return one;
    return NULL;
}

/* The block that begins with `head` after `at`, and ends before `stop`; owned. */
static char *block(const char *at, const char *stop, const char *head)
{
    const char *start = strstr(at, head), *end = start ? strstr(start + strlen(head), "```") : NULL;
    assert_non_null(end);
    assert_true(end < stop);
    return strndup(start + strlen(head), (size_t)(end - start) - strlen(head));
}

static void check_section(const char *text, const struct tc_lint_rule *rule)
{
    _autofree_ char *head = NULL;
    assert_true(asprintf(&head, "\n## %s\n", rule->id) > 0);
    const char *at = strstr(text, head);
    if (!at)
        print_error("docs/lint.md has no section %s\n", rule->id);
    assert_non_null(at);
    const char *stop = strstr(at + 4, "\n## ");
    stop = stop ? stop : text + strlen(text);
    _autofree_ char *bad = block(at, stop, "```toml triggers\n"),
                    *good = block(at, stop, "```toml\n");
    static const char *const words[] = {"\nA note.", "\nA warning.", "\nAn error."};
    const char *word = strstr(at, words[rule->severity]);
    assert_true(word && word < stop);
    json_t *told = lint(bad), *quiet = lint(good);
    const json_t *finding = find(told, rule->id);
    if (!finding || find(quiet, rule->id))
        print_error("%s: its example %s\n", rule->id,
                    finding ? "without it is told" : "with it is not told");
    assert_non_null(finding);
    assert_null(find(quiet, rule->id));
    assert_true(json_integer_value(json_object_get(finding, "line")) > 0);
    assert_true(json_integer_value(json_object_get(finding, "column")) > 0);
    assert_true(text_of(finding, "hint")[0] && text_of(finding, "message")[0]);
    assert_non_null(strstr(text_of(finding, "text"), "^"));
    json_decref(told);
    json_decref(quiet);
}

/* No hint leads to where there is nothing. */
static void hints_name_backends_that_can(void **state)
{
    static const struct {
        const char *text, *hint;
    } all[] = {
        {"[tool.x]\nbackend = \"process\"\nnetwork = [\"a.example:443\"]\nsecrets.K = { from = "
         "\"env:E\", hosts = [\"a.example:443\"], header = \"A: {secret}\" }\n",
         "no backend of this version can: remove it from the policy"},
        {"[tool.x]\nbackend = \"oci\"\nnetwork = [\"a.example:443\"]\n",
         "backend = \"process\", or backend = \"gvisor\" can; until then each call is refused"},
    };
    for (size_t i = 0; i < TC_COUNT(all); i++) {
        json_t *told = lint(all[i].text);
        const json_t *finding = find(told, "unenforceable");
        assert_non_null(finding);
        assert_string_equal(text_of(finding, "hint"), all[i].hint);
        json_decref(told);
    }
}

static void every_rule_is_documented(void **state)
{
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    size_t sections = 0, rules = 0;
    assert_int_equal(tc_read_file(AT_FDCWD, TEST_DOCS "/lint.md", &text), 0);
    for (const struct tc_lint_rule *rule = tc_lint_rules; rule->id; rule++, rules++)
        check_section(text.data, rule);
    for (const char *at = strstr(text.data, "\n## "); at; at = strstr(at + 4, "\n## "))
        sections++;
    assert_int_equal(sections, rules);
}

#define SETUP_OF(command) \
    "[tool.x]\ncommand = [\"x\"]\n[tool.x.setup]\ninto = \"/opt/x\"\ncommand = [" command "]\n"
#define SETUP SETUP_OF("\"i\"")

/* Text, id, and whether it is told. */
static const struct {
    const char *text, *id;
    bool told;
} rows[] = {
    /* secrets come by variables and inherited networks, too */
    {"[defaults]\nnetwork = [\"a.example\"]\n[tool.x]\nenv.pass = [\"GITHUB_TOKEN\"]\n",
     "secret-and-network", true},
    {"[tool.x]\nenv.pass = [\"TZ\"]\nnetwork = [\"a.example\"]\n", "secret-and-network", false},
    {"[tool.x]\nfilesystem.readable = [\"/data/tokenizer\"]\nnetwork = [\"a.example\"]\n",
     "secret-and-network", false},
    {"[tool.x]\nfilesystem.readable = [{ path = \"/k\", from = \"~/.ssh/id\" }]\n",
     "secret-readable", true},
    {"[tool.x]\nfilesystem.denied = [\"/data/.env\"]\nfilesystem.readable = [\"/data\"]\n"
     "network = [\"a.example\"]\n",
     "secret-and-network", false},
    /* what another tool runs is looked for on the host */
    {"[tool.w]\nfilesystem.writable = [{ path = \"/out\", from = \"/srv/bin\" }]\n"
     "[tool.r]\ncommand = [\"/bin2/x\"]\n"
     "filesystem.readable = [{ path = \"/bin2\", from = \"/srv/bin\" }]\n",
     "writable-and-run", true},
    {"[tool.w]\nfilesystem.writable = [{ path = \"/bin2\", from = \"/srv/other\" }]\n"
     "[tool.r]\ncommand = [\"/bin2/x\"]\n"
     "filesystem.readable = [{ path = \"/bin2\", from = \"/srv/bin\" }]\n",
     "writable-and-run", false},
    {"[tool.r]\ncommand = [\"/workspace/x\"]\nfilesystem.writable = [\"/workspace\"]\n",
     "writable-and-run", false},
    {"[tool.w]\nfilesystem.writable = [\"/workspace\"]\n"
     "[tool.r]\ncommand = [\"bash\", \"-e\", \"/workspace/x.sh\"]\n",
     "writable-and-run", true},
    {"[tool.w]\nfilesystem.writable = [\"/workspace\"]\n"
     "[tool.r]\ncommand = [\"cat\", \"/workspace/x.sh\"]\n",
     "writable-and-run", false},
    {"[tool.w]\ncommand = [\"w\", \"{p}\"]\narguments.p = { write = [\"/srv/bin\"] }\n"
     "[tool.r]\ncommand = [\"/srv/bin/x\"]\n",
     "writable-and-run", true},
    {"[tool.x]\ncommand = [\"w\", \"{p}\"]\narguments.p = { read = [\"~/.ssh\"] }\n"
     "network = [\"a.example\"]\n",
     "secret-and-network", true},
    {"[tool.x]\ncommand = [\"w\", \"{p}\"]\narguments.p = { read = [\"/data\"] }\n"
     "network = [\"*\"]\n",
     "any-host-and-data", true},
    {"[tool.x]\nfilesystem.writable = [\"/srv/p/.git/hooks\"]\n", "host-runs", true},
    {"[tool.x]\nfilesystem.writable = [\"~\"]\n", "host-runs", true},
    {"[tool.x]\nfilesystem.writable = [\"/etc/cron.d\"]\n", "host-runs", true},
    {"[tool.x]\nfilesystem.readable = [\"/etc/cron.d\"]\n", "host-runs", false},
    {"[tool.x]\ncommand = [\"a\", \"{p}\"]\narguments.p = { write = [\"~/.bashrc\"] }\n",
     "host-runs", true},
    /* addresses in all their forms */
    {"[tool.x]\nnetwork = [\"[fd00::1]:80\"]\n", "private-address", true},
    {"[tool.x]\nnetwork = [\"[::1]:80\"]\n", "private-address", true},
    {"[tool.x]\nnetwork = [\"[::ffff:10.0.0.1]:80\"]\n", "private-address", true},
    {"[tool.x]\nnetwork = [\"172.32.0.1:80\"]\n", "private-address", false},
    {"[tool.x]\nnetwork = [\"172.31.255.255:80\"]\n", "private-address", true},
    {"[tool.x]\nnetwork = [\"localhost:80\"]\n", "private-address", true},
    {"[tool.x]\nnetwork = [\"[2001:db8::1]:80\"]\n", "address-literal", true},
    {"[tool.x]\nnetwork = [\"[fd00:ec2::254]:80\"]\n", "metadata-address", true},
    {"[tool.x]\nnetwork = [\"metadata.google.internal:80\"]\n", "metadata-address", true},
    {"[tool.x]\ncommand = [\"a\", \"{h}\"]\narguments.h = { host = [\"169.254.169.254:80\"] }\n",
     "metadata-address", true},
    {"[tool.x]\nnetwork = [\"x.ck\"]\n", "public-suffix", true},
    {"[tool.x]\nnetwork = [\"www.ck\"]\n", "public-suffix", false},
    {"[tool.x]\nnetwork = [\"db\"]\n", "public-suffix", false},
    /* a shell's own words are fine, and so is a tool that is a shell */
    {"[tool.x]\ncommand = [\"sh\", \"-c\", \"{c}\"]\narguments.c = {}\n", "argument-in-shell",
     false},
    {"[tool.x]\ncommand = [\"/bin/bash\", \"-lc\", \"ls {c}\"]\narguments.c = {}\n",
     "argument-in-shell", true},
    /* entries */
    {"[tool.x]\nfilesystem.readable = [\"/data\"]\nfilesystem.writable = [\"/data/out\"]\n",
     "shadowed-entry", false},
    {"[tool.x]\nfilesystem.readable = [\"/data\", { path = \"/data/x\", from = \"/y\" }]\n",
     "shadowed-entry", false},
    {"[tool.x]\nfilesystem.writable = [\"/d\"]\nfilesystem.readable = [\"/d/in\", "
     "\"/d/in/deep\"]\n",
     "shadowed-entry", true},
    {"[tool.x]\nfilesystem.readable = [\"/data\", \"/data2\"]\n", "shadowed-entry", false},
    /* commands that are there, or of which the text cannot tell */
    {"[defaults]\nfilesystem.readable = [\"/opt\"]\n[tool.x]\ncommand = [\"/opt/x/y\"]\n",
     "command-outside", false},
    {"[defaults]\nfilesystem.readable = [\"/opt/z\"]\n[tool.x]\ncommand = [\"/opt/x/y\"]\n",
     "command-outside", true},
    {"[tool.x]\ncommand = [\"/usr/bin/env\"]\n", "command-outside", false},
    {"[tool.x]\ncommand = [\"/tmp/x\"]\n", "command-outside", false},
    {"[tool.x]\ncommand = [\"name\"]\n", "command-outside", false},
    {"[tool.x]\ncommand = [\"/opt/x\"]\nprograms = [\"y\"]\n", "command-outside", false},
    {"[tool.x]\nbackend = \"gvisor\"\nimage = \"/img\"\ncommand = [\"/opt/x\"]\n",
     "command-outside", false},
    {"[tool.x]\ncwd = \"/opt\"\ncommand = [\"bin/x\"]\n", "command-outside", true},
    {"[tool.x]\ncommand = [\"bin/x\"]\n", "command-outside", false},
    {"[server.x]\ncommand = [\"/opt/x\"]\n", "command-outside", true},
    {SETUP_OF("\"/opt/y/i\""), "command-outside", false},
    {"[tool.x]\ncommand = [\"/opt/x/y\"]\n[tool.x.setup]\ninto = \"/opt/x\"\ncommand = [\"i\"]\n",
     "command-outside", false},
    {"[tool.x]\ncommand = [\"/workspace/y\"]\nfilesystem.writable = [\"/workspace\"]\n",
     "command-outside", false},
    /* who chooses before a module does */
    {"[defaults]\nrisk = \"untrusted\"\n[tool.x]\nmodule = \"/m.wasm\"\n", "module-not-run", true},
    {"[tool.x]\nmodule = \"/m.wasm\"\nbackend = \"process\"\n", "module-not-run", true},
    {"[tool.x]\nmodule = \"/m.wasm\"\ntier = \"Auto\"\n", "module-not-run", true},
    {"[tool.x]\nmodule = \"/m.wasm\"\nrisk = \"pure_compute\"\n", "module-not-run", false},
    {"[risk.build_test]\nbackend = \"wasm\"\n[tool.x]\nmodule = \"/m.wasm\"\n"
     "risk = \"build_test\"\n",
     "module-not-run", false},
    {"[tool.x]\nmodule = \"/m.wasm\"\n", "module-not-run", false},
    /* tools of nothing */
    {"[tool.x]\n", "empty-tool", true},
    {"[defaults]\ntimeout = \"5s\"\n[tool.x]\n", "empty-tool", true},
    {"[defaults]\nfilesystem.readable = [\"/data\"]\n[tool.x]\n", "empty-tool", false},
    {"[tool.x]\ntimeout = \"5s\"\n", "empty-tool", false},
    {"[tool.x]\nnetwork = \"none\"\n", "empty-tool", false},
    {"[tool.x]\nnetwork = [\"*\", \"a.example\"]\n", "shadowed-entry", true},
    {"[tool.x]\nnetwork = [\"*\", \"a.example:80\", \"1.1.1.1\"]\n", "shadowed-entry", false},
    {"[tool.x]\nfilesystem.denied = [\"/usr/bin/curl\"]\n", "denied-nothing", false},
    {"[tool.x]\nfilesystem.denied = [\"/d\"]\nfilesystem.readable = [\"/d/x\"]\n", "denied-nothing",
     false},
    {"[tool.x]\ncommand = [\"a\", \"{p}\"]\narguments.p = { read = [\"/d\"] }\n"
     "filesystem.denied = [\"/d/x\"]\n",
     "denied-nothing", false},
    {"[defaults]\nfilesystem.denied = [\"/d/x\"]\n[tool.x]\n", "denied-nothing", false},
    {"[defaults]\nfilesystem.denied = [\"/d\"]\n[tool.x]\nfilesystem.readable = [\"/d/x\"]\n",
     "denied-all", true},
    {"[tool.x]\ncommand = [\"a\"]\nstdin = \"{*}\"\narguments.p = {}\n", "unused-argument", false},
    {"[tool.x]\narguments.p = {}\n", "unused-argument", false},
    {"[server.x]\ncommand = [\"a\"]\ntool.y = { arguments.p = {} }\n", "unused-argument", false},
    {"[defaults]\nnetwork = \"none\"\n[tool.x]\nnetwork = \"none\"\n", "same-as-default", true},
    {"[defaults]\nnetwork = \"none\"\n[tool.x]\nnetwork = [\"a.example\"]\n", "same-as-default",
     false},
    {"[defaults]\ncollect = [\"a\"]\n[tool.x]\ncollect = [\"a\"]\n", "same-as-default", true},
    {"[defaults]\ncollect = [\"a\"]\n[tool.x]\ncollect = [\"b\"]\n", "same-as-default", false},
    {"[defaults]\ncwd = \"/a\"\n[tool.x]\ncwd = \"/a\"\n", "same-as-default", true},
    {"[defaults]\ncwd = \"/a\"\n[tool.x]\ncwd = \"/b\"\n", "same-as-default", false},
    {"[defaults]\ndenials = \"off\"\n[tool.x]\ndenials = \"off\"\n", "same-as-default", true},
    {"[defaults]\ndenials = \"off\"\n[tool.x]\ndenials = \"paths\"\n", "same-as-default", false},
    {"[server.x]\ncommand = [\"a\"]\ntimeout = \"10h\"\n", "long-timeout", false},
    {"[tool.x]\ntier = \"HumanApprove\"\nfilesystem.writable = [\"/workspace\"]\n"
     "workspace = { mode = \"overlay\", commit = \"always\" }\n",
     "auto-writes", false},
    {"[tool.x]\nfilesystem.writable = [\"/workspace\"]\n"
     "workspace = { mode = \"overlay\", commit = \"always\" }\n",
     "auto-writes", true},
    /* an install phase has the same dangers, at its own place */
    {SETUP "filesystem.readable = [\"~/.aws\"]\nnetwork = [\"a.example\"]\n", "secret-and-network",
     true},
    {SETUP "filesystem.readable = [\"/data\"]\nnetwork = [\"a.example\"]\n", "secret-and-network",
     false},
    {"[defaults]\nnetwork = [\"a.example\"]\n" SETUP "env.pass = [\"GITHUB_TOKEN\"]\n",
     "secret-and-network", true},
    {SETUP "filesystem.readable = [\"~/.aws\"]\n[tool.y]\nnetwork = [\"a.example\"]\n",
     "secret-and-network", false}, /* the one has no part of the other's */
    {SETUP "filesystem.readable = [\"~/.aws\"]\n", "secret-readable", true},
    {SETUP "filesystem.readable = [\"/data\"]\n", "secret-readable", false},
    {SETUP "filesystem.readable = [\"~\"]\n", "home-granted", true},
    {SETUP "filesystem.readable = [\"~/wheels\"]\n", "home-granted", false},
    {SETUP_OF("\"/srv/tools/install\"") "[tool.w]\nfilesystem.writable = [\"/srv/tools\"]\n",
     "writable-and-run", true},
    {SETUP_OF("\"/srv/tools/install\"") "[tool.w]\nfilesystem.writable = [\"/srv/other\"]\n",
     "writable-and-run", false},
    {SETUP_OF("\"sh\", \"/srv/i.sh\"") "[tool.w]\nfilesystem.writable = [\"/srv\"]\n",
     "writable-and-run", true},
    {SETUP "inputs = [\"r.txt\"]\n[tool.w]\nfilesystem.writable = [\".\"]\n", "writable-and-run",
     true},
    {SETUP "inputs = [\"r.txt\"]\n[tool.w]\nfilesystem.writable = [\"out\"]\n", "writable-and-run",
     false},
    {SETUP "unix_sockets = [\"/var/run/docker.sock\"]\n", "root-socket", true},
    {SETUP "unix_sockets = \"own\"\n", "root-socket", false},
    {SETUP "network = [\"169.254.169.254:80\"]\n", "metadata-address", true},
    {SETUP "network = [\"pypi.example\"]\n", "metadata-address", false},
    {SETUP "backend = \"not-a-security-boundary\"\n", "no-boundary", true},
    {SETUP "backend = \"process\"\n", "no-boundary", false},
    {SETUP "filesystem.readable = [\"/data\"]\nnetwork = [\"*\"]\n", "any-host-and-data", true},
    {SETUP "network = [\"*\"]\n", "any-host-and-data", false},
    {SETUP "network = [\"github.com\"]\n", "anybody-publishes", true},
    {SETUP "network = [\"a.example\"]\n", "anybody-publishes", false},
    {SETUP "network = [\"github.io\"]\n", "public-suffix", true},
    {SETUP "network = [\"me.github.io\"]\n", "public-suffix", false},
    {SETUP "network = [\"10.0.0.1:80\"]\n", "private-address", true},
    {SETUP "network = [\"11.0.0.1:80\"]\n", "private-address", false},
    {SETUP "network = [\"11.0.0.1:80\"]\n", "address-literal", true},
    {SETUP "network = [\"a.example:80\"]\n", "address-literal", false},
    {SETUP "without = [\"proc.own\"]\n", "gives-up-clauses", true},
    {SETUP "without = []\n", "gives-up-clauses", false},
    {SETUP "timeout = \"61m\"\n", "long-timeout", true},
    {SETUP "timeout = \"1h\"\n", "long-timeout", false},
    {SETUP "memory = { max = \"8GiB\", by = \"any\" }\npids = 1000\n", "memory-by-process", true},
    {SETUP "memory = { max = \"1GiB\", by = \"any\" }\n", "memory-by-process", true},
    {SETUP "memory = \"8GiB\"\npids = 1000\n", "memory-by-process", false},
    {SETUP "memory = \"64MiB\"\ndisk = \"65MiB\"\n", "disk-over-memory", true},
    {SETUP "memory = \"64MiB\"\ndisk = \"64MiB\"\n", "disk-over-memory", false},
    {SETUP "memory = { max = \"64MiB\", by = \"any\" }\ndisk = \"65MiB\"\n", "disk-over-memory",
     false},
    {SETUP "output = \"8MiB\"\n", "large-output", false}, /* no model reads it */
    {"[defaults]\nfilesystem.writable = [\"/w\"]\n" SETUP "disk = \"1GiB\"\n", "disk-and-bind",
     false}, /* it reads there */
    {"[defaults]\nfilesystem.writable = [\"/w\"]\ndisk = \"9MiB\"\n"
     "workspace = { mode = \"overlay\" }\n" SETUP "disk = \"1GiB\"\n",
     "unbounded-writes", false},
    {SETUP "backend = \"firecracker\"\n", "no-backend", true},
    {SETUP "backend = \"gvisor\"\n", "no-backend", false},
    {SETUP "network = [{ host = \"a.example\", paths = [\"/v1\"] }]\n", "unenforceable", false},
    {SETUP "network = \"none\"\n", "unenforceable", false},
    {"[tool.x]\nbackend = \"gvisor\"\ndenials = \"paths\"\n", "unenforceable", true},
    {"[tool.x]\nbackend = \"gvisor\"\ndenials = \"calls\"\n", "unenforceable", false},
    {"[tool.x]\nbackend = \"gvisor\"\nunix_sockets = \"own\"\n", "unenforceable", true},
    {"[tool.x]\nbackend = \"gvisor\"\nsyscalls.allow = [\"ptrace\"]\n", "unenforceable", true},
    {"[tool.x]\nbackend = \"gvisor\"\nimage = \"/image\"\n", "unenforceable", false},
    {"[tool.x]\nbackend = \"gvisor\"\nnetwork = [{ host = \"a.example\", ports = \"any\" }]\n",
     "unenforceable", true},
    {"[tool.x]\nbackend = \"gvisor\"\nworkspace = { mode = \"bind\" }\n"
     "filesystem.writable = [\"/workspace\"]\n",
     "unenforceable", true},
    {"[tool.x]\nbackend = \"gvisor\"\nworkspace = { mode = \"bind\" }\n", "unenforceable", false},
    {"[tool.x]\nbackend = \"process\"\nimage = \"/image\"\n", "unenforceable", true},
    {"[tool.x]\nbackend = \"gvisor\"\ndeterministic = true\n", "unenforceable", true},
    {"[tool.x]\nbackend = \"gvisor\"\ndeterministic = false\n", "unenforceable", false},
    {"[tool.x]\nbackend = \"gvisor\"\ndenials = \"paths\"\nfallback = [\"process\"]\n",
     "unenforceable", false},
    {SETUP "filesystem.readable = [\"/data\", \"/data/x\"]\n", "shadowed-entry", true},
    {SETUP "filesystem.readable = [\"/data\", \"/srv/x\"]\n", "shadowed-entry", false},
    {SETUP "filesystem.denied = [\"/srv/x\"]\n", "denied-nothing", true},
    {SETUP "filesystem.denied = [\"/setup/x\", \"/opt/x/y\"]\n", "denied-nothing", false},
    {SETUP "filesystem = { readable = [\"/d/x\"], denied = [\"/d\"] }\n", "denied-all", true},
    {SETUP "filesystem = { readable = [\"/d\"], denied = [\"/d/x\"] }\n", "denied-all", false},
    {"[defaults]\npids = 9\n" SETUP "pids = 9\n", "same-as-default", true},
    {"[defaults]\npids = 9\n" SETUP "pids = 8\n", "same-as-default", false},
    /* an install phase does not have it from there */
    {"[defaults]\ncwd = \"/a\"\n" SETUP "cwd = \"/a\"\n", "same-as-default", false},
    {"[server.x]\ncommand = [\"x\"]\n[server.x.setup]\ncommand = [\"i\"]\ninto = \"/opt/x\"\n"
     "network = [\"10.0.0.1:80\"]\n",
     "private-address", true},
    {SETUP "# toolcage: allow(long-timeout) a compiler\ntimeout = \"9h\"\n", "long-timeout", false},
    /* a comment is one outside of strings */
    {"[tool.x]\ndescription = \"# toolcage: allow(long-timeout) no\"\ntimeout = \"1h\"\n",
     "long-timeout", true},
    {"[tool.x]\ndescription = '''\n# toolcage: allow(long-timeout) no\n'''\ntimeout = \"1h\"\n",
     "long-timeout", true},
    {"[tool.x]\n# toolcage: allow(long-timeout) why\n# more of it\n\ntimeout = \"1h\"\n",
     "long-timeout", false},
    {"[tool.x]\n# toolcage: allow(large-output) a\n# toolcage: allow(long-timeout) b\n"
     "timeout = \"1h\"\n# toolcage: allow(large-output) c\noutput = \"2MiB\"\n",
     "silence-unused", true},
    {"[tool.x]\n# toolcage: allow(long-timeout) a\n# toolcage: allow(same-as-default) b\n"
     "timeout = \"1h\"\n# toolcage: allow(large-output) c\noutput = \"2MiB\"\n",
     "large-output", false},
    {"[tool.x]\n# toolcage: allow(long-timeout) a\n# and more\n"
     "timeout = \"1h\"\n# toolcage: allow(large-output) c\noutput = \"2MiB\"\n",
     "silence-unused", false},
    {"[tool.x]\n# toolcage: allow(large-output, long-timeout) why\ntimeout = \"1h\"\n",
     "silence-unused", true},
    {"[tool.x]\n# toolcage: allow(long-timeout) why\ntimeout = \"1h\"\noutput = \"2MiB\"\n",
     "large-output", true},
    {"[tool.x]\ntimeout = \"1h\" # toolcage: allow(long-timeout\n", "silence-without-reason", true},
};

static void the_edges_of_rules(void **state)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        json_t *all = lint(rows[i].text);
        bool told = find(all, rows[i].id) != NULL;
        if (told != rows[i].told)
            print_error("%s is %s:\n%s", rows[i].id, told ? "told" : "not told", rows[i].text);
        assert_int_equal(told, rows[i].told);
        json_decref(all);
    }
}

static void inherited_finding_is_reported_once(void **state)
{
    json_t *all = lint("[defaults]\ntimeout = \"1h\"\n[tool.a]\npids = 4\n[tool.b]\npids = 5\n");
    assert_int_equal(json_array_size(json_object_get(all, "findings")), 1);
    assert_string_equal(text_of(find(all, "long-timeout"), "key"), "defaults.timeout");
    json_decref(all);
}

static void an_install_phase_has_its_place(void **state)
{
    json_t *all = lint(SETUP "pids = 3\nnetwork = [\"10.0.0.1:80\"]\ninputs = [\"r.txt\"]\n"
                             "[tool.w]\nfilesystem.writable = [\".\"]\n");
    const json_t *net = find(all, "private-address"), *input = find(all, "writable-and-run");
    assert_string_equal(text_of(net, "key"), "tool.x.setup.network");
    assert_int_equal(json_integer_value(json_object_get(net, "line")), 7);
    assert_int_equal(json_integer_value(json_object_get(net, "column")), 13);
    assert_string_equal(text_of(input, "key"), "tool.x.setup.inputs");
    assert_non_null(strstr(text_of(input, "message"), "installs with r.txt, which tool.w may"));
    json_decref(all);
}

static void places_and_sums(void **state)
{
    json_t *all =
        lint("[tool.x]\ntimeout = \"1h\"\nnetwork = [\n  \"a.example\",\n  \"10.0.0.1:80\"]\n"
             "pids = 3 # toolcage: allow(nothing) x\n");
    const json_t *finding = find(all, "private-address"), *counts = json_object_get(all, "counts");
    assert_int_equal(json_integer_value(json_object_get(finding, "line")), 5);
    assert_int_equal(json_integer_value(json_object_get(finding, "column")), 4);
    assert_int_equal(json_integer_value(json_object_get(finding, "span")), 8);
    assert_int_equal(json_integer_value(json_object_get(counts, "warning")), 3);
    assert_int_equal(json_integer_value(json_object_get(counts, "error")), 0);
    assert_int_equal(json_array_size(json_object_get(all, "unchecked")), 0);
    json_decref(all);
    all = lint_with("[tool.x]\nnetwork = [\"github.io\"]\n", NULL);
    assert_null(find(all, "public-suffix"));
    assert_int_equal(json_array_size(json_object_get(all, "unchecked")), 1);
    json_decref(all);
}

/* Findings hold what a policy says, and end on terminals. */
static void nothing_steers_the_terminal(void **state)
{
    json_t *all = lint("[tool.x]\nfilesystem.readable = [\"/data/\\u202e/.env\"]\n");
    assert_null(strstr(text_of(find(all, "secret-readable"), "text"), "\xe2\x80\xae"));
    json_decref(all);
}

static double seconds(size_t tools)
{
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    struct timespec a, b;
    tc_buf_adds(&text, "[defaults]\nfilesystem.writable = [\"/workspace\"]\n");
    for (size_t i = 0; i < tools; i++)
        tc_buf_addf(&text,
                    "[tool.t%zu]\ncommand = [\"/srv/%zu/bin/x\"]\ntimeout = \"1h\"\n"
                    "filesystem = { readable = [\"/srv/%zu\"], writable = [\"/srv/%zu/bin\"] }\n",
                    i, i + 1, i, i);
    _autopolicy_ struct toolcage_policy *policy = compile(text.data);
    _autofree_ char *out = NULL;
    const struct tc_lint_facts facts = {backends, 3, suffixes, strlen(suffixes)};
    assert_int_equal(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a), 0);
    assert_int_equal(tc_policy_lint(policy, text.data, text.len, &facts, &out, NULL), 0);
    assert_int_equal(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b), 0);
    return (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) / 1e9;
}

/* Tools that write what others run: the rule that compares tools must not compare each with each.
 * Sixteen times the tools may take four times as long for each; a square would take sixteen. */
static void time_grows_with_the_number_of_tools(void **state)
{
    double few = seconds(250), many = seconds(4000);
    print_message("# lint: 250 tools %.2f ms, 4000 tools %.2f ms\n", few * 1e3, many * 1e3);
    assert_true(many < few * 16 * 4 + 0.05);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hints_name_backends_that_can),
        cmocka_unit_test(every_rule_is_documented),
        cmocka_unit_test(the_edges_of_rules),
        cmocka_unit_test(inherited_finding_is_reported_once),
        cmocka_unit_test(an_install_phase_has_its_place),
        cmocka_unit_test(places_and_sums),
        cmocka_unit_test(nothing_steers_the_terminal),
        cmocka_unit_test(time_grows_with_the_number_of_tools),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
