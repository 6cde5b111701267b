/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What is told of a grant, and the tools as models want them. */
#include "test.h"

#include <jansson.h>

#include "../source.h"
#include "policy/explain/explain.h"

static void json_done(json_t **value)
{
    json_decref(*value);
}
#define _autojson_ _auto_(json_done)

static const char text[] = "[tool.x]\n"
                           "title = \"X\"\n"
                           "description = \"Does x.\"\n"
                           "command = [\"x\", \"{n...}\", \"{m}\"]\n"
                           "arguments.n = { type = \"array\", items = { type = \"integer\", "
                           "minimum = 1 }, optional = true }\n"
                           "arguments.m = { description = \"An m\", enum = [\"a\", \"b\"] }\n"
                           "filesystem = { readable = [\"/data\"], writable = [\"/workspace\"], "
                           "denied = [\"/data/no\"] }\n"
                           "network = [\"api.example.com\"]\n"
                           "timeout = \"5s\"\n"
                           "tier = \"HumanApprove\"\n"
                           "[tool.profile]\n";

static json_t *explain(const struct toolcage_policy *policy, struct ask ask, const char *access)
{
    _autogrant_ struct tc_grant grant = {0};
    _autofree_ char *out = NULL;
    _auto_(tc_verdict_done) struct tc_verdict v = {0};
    granted(policy, ask, &grant);
    if (access)
        assert_int_equal(tc_policy_verdict(policy, &grant, access, &v, NULL), 0);
    assert_int_equal(tc_policy_explain(policy, &grant, access ? &v : NULL, NULL, &out, NULL), 0);
    json_t *value = json_loads(out, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(value);
    return value;
}

static const char *text_at(const json_t *value, const char *a, const char *b)
{
    const json_t *inner = json_object_get(value, a);
    return json_string_value(b ? json_object_get(inner, b) : inner);
}

static void explanation_lists_grants_with_origins(void **state)
{
    _autopolicy_ struct toolcage_policy *policy = compile(text);
    _autojson_ json_t *all =
        explain(policy, (struct ask){.tool = "x", .explain = true, .narrow = {"pids", "5"}}, NULL);
    assert_string_equal(text_at(all, "tool", NULL), "x");
    assert_string_equal(text_at(all, "backend", NULL), "gvisor");
    assert_true(json_is_true(json_object_get(all, "approval")));
    const json_t *limits = json_object_get(all, "limits");
    assert_string_equal(text_at(limits, "timeout", "value"), "5s");
    assert_string_equal(text_at(limits, "timeout", "origin"), "tool.x.timeout:9");
    assert_string_equal(text_at(limits, "memory", "origin"), "default");
    assert_string_equal(text_at(limits, "pids", "origin"), "this call");
    assert_int_equal(json_array_size(json_object_get(all, "filesystem")), 3);
    assert_null(json_object_get(all, "verdict"));
    assert_string_equal(text_at(all, "file", NULL), "t.toml");
    assert_true(json_is_null(json_object_get(all, "within")));
    assert_string_equal(text_at(all, "policy", NULL), tc_policy_digest(policy));
    assert_memory_equal(text_at(all, "grant", NULL), "sha256:", 7);
    assert_true(json_array_size(json_object_get(all, "clauses")) > 20);
    assert_non_null(text_at(all, "syscalls", "mechanism"));
    const json_t *endpoint = json_array_get(json_object_get(all, "network"), 0);
    assert_true(json_is_false(json_object_get(endpoint, "inspected")));
}

/* All that a grant may hold, and how it is told: a member that is left out breaks the text. */
static void explanation_lists_every_grant_field(void **state)
{
    _autopolicy_ struct toolcage_policy *policy = compile(

        "[tool.x]\nworkspace.mode = \"overlay\"\nreview.ignore = [\"*.o\"]\n"
        "network = [\"a.example\", \"udp:b.example:123\", { host = \"c.example\", ports = \"any\" "
        "}]\nsecrets.A = { from = \"env:A\", hosts = [\"a.example\"], header = \"X: {secret}\" }\n"
        "secrets.B = { from = \"env:B\", hosts = [\"a.example\"], header = \"Y: {secret}\" }\n");
    _autojson_ json_t *all = explain(policy, (struct ask){.tool = "x", .command = "t"}, NULL);
    const json_t *network = json_object_get(all, "network");
    assert_string_equal(text_at(json_array_get(network, 0), "transport", NULL), "tcp");
    assert_string_equal(text_at(json_array_get(network, 1), "transport", NULL), "udp");
    assert_string_equal(text_at(json_array_get(network, 2), "port", NULL), "any");
    const json_t *ignored = json_object_get(json_object_get(all, "review"), "ignore");
    assert_string_equal(json_string_value(json_array_get(ignored, 0)), "*.o");
    const json_t *secrets = json_object_get(all, "secrets");
    assert_string_equal(text_at(json_array_get(secrets, 0), "name", NULL), "A");
    assert_string_equal(text_at(json_array_get(secrets, 1), "header", NULL), "Y: {secret}");
    assert_true(json_is_null(json_object_get(all, "upstream")));
    _autopolicy_ struct toolcage_policy *away =
        compile("[egress]\nupstream = \"socks5://proxy.example:1080\"\n"
                "[tool.x]\nnetwork = [\"a.example\"]\n");
    _autojson_ json_t *upstream = explain(away, (struct ask){.tool = "x", .command = "t"}, NULL);
    assert_string_equal(text_at(upstream, "upstream", "url"), "socks5://proxy.example:1080");
}

static void explanation_names_the_backends_origin(void **state)
{
    static const struct {
        const char *said, *narrow, *why, *key;
        int line;
    } rows[] = {
        {"", NULL, "nothing selects another", "", 0},
        {"backend = \"oci\"", NULL, "named", "tool.x.backend", 2},
        {"backend = \"oci\"", "oci", "named", "tool.x.backend", 2},
        {"tier = \"Assisted\"", NULL, "tier Assisted selects it", "tool.x.tier", 2},
        {"risk = \"file_ops\"", NULL, "risk file_ops selects it", "tool.x.risk", 2},
        {"layers = [\"gvisor\", \"wasm\"]", NULL, "its layers select it", "tool.x.layers", 2},
        {"image = \"a\"", NULL, "image a selects it", "tool.x.image", 2},
    };
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        _autofree_ char *made = tc_format("[tool.x]\n%s\n", rows[i].said);
        _autopolicy_ struct toolcage_policy *policy = compile(made);
        _autojson_ json_t *all =
            explain(policy,
                    (struct ask){.tool = "x",
                                 .command = "t",
                                 .narrow = {rows[i].narrow ? "backend" : NULL, rows[i].narrow}},
                    "read /usr/lib");
        const json_t *line = json_object_get(json_object_get(all, "chosen_by"), "line");
        assert_string_equal(text_at(all, "chosen_by", "why"), rows[i].why);
        assert_string_equal(text_at(all, "chosen_by", "key"), rows[i].key);
        assert_int_equal(json_integer_value(line), rows[i].line);
    }
    _autopolicy_ struct toolcage_policy *none = NULL, *layered = NULL;
    layered = compile("[defaults]\nbackend = \"oci\"\n"
                      "[tool.x]\nlayers = [\"gvisor\", \"wasm\"]\n");
    _autojson_ json_t *nearer =
        explain(layered, (struct ask){.tool = "x", .command = "t"}, "read /usr/lib");
    assert_string_equal(text_at(nearer, "chosen_by", "key"), "tool.x.layers");
    assert_int_equal(tc_policy_new_default(&none, NULL), 0);
    _autojson_ json_t *all = explain(
        none, (struct ask){.command = "t", .narrow = {"backend", "gvisor"}}, "read /usr/lib");
    assert_string_equal(text_at(all, "chosen_by", "why"), "chosen for this call");
    assert_string_equal(text_at(all, "chosen_by", "key"), "");
}

/* What another file says is told with the lines that brought that file in. */
static void explanation_names_the_policy_files(void **state)
{
    static const struct file files[] = {
        {"/srv/p/a.toml", "extends = \"b.toml\"\n"},
        {"/srv/p/b.toml", "[defaults]\ntimeout = \"5s\"\nfilesystem.denied = [\"/no\"]\n"},
        {0}};
    const struct tc_policy_source source =
        source_of("\nextends = \"a.toml\"\n[tool.x]\n", read_one, files);
    _autopolicy_ struct toolcage_policy *policy = NULL;
    assert_int_equal(tc_policy_compile_source(&source, "/srv/p", NULL, &policy, NULL), 0);
    _autojson_ json_t *all =
        explain(policy, (struct ask){.tool = "x", .command = "t"}, "read /no/a");
    const json_t *chain = json_object_get(json_object_get(all, "verdict"), "extended_by");
    const json_t *timeout = json_object_get(json_object_get(all, "limits"), "timeout");
    assert_string_equal(text_at(timeout, "origin", NULL), "defaults.timeout:2 of /srv/p/b.toml");
    assert_int_equal(json_array_size(chain), 2);
    assert_string_equal(text_at(json_array_get(chain, 0), "file", NULL), "/srv/p/a.toml");
    assert_int_equal(json_integer_value(json_object_get(json_array_get(chain, 0), "line")), 1);
    assert_string_equal(text_at(json_array_get(chain, 1), "file", NULL), "t.toml");
    assert_int_equal(json_integer_value(json_object_get(json_array_get(chain, 1), "line")), 2);
    _autojson_ json_t *own =
        explain(policy, (struct ask){.tool = "x", .command = "t"}, "read /usr/lib");
    assert_null(json_object_get(json_object_get(own, "verdict"), "extended_by"));
}

static void explanation_lists_the_install_phase(void **state)
{
    _autopolicy_ struct toolcage_policy *policy =
        compile("[tool.x]\nsetup = { command = [\"i\"], into = \"/opt/x\" }\n");
    _autojson_ json_t *all = explain(policy, (struct ask){.tool = "x", .command = "t"}, NULL);
    assert_string_equal(text_at(all, "setup", "key"), "tool.x.setup");
    assert_string_equal(text_at(all, "setup", "into"), "/opt/x");
}

static void explanation_warns_of_powerful_sockets(void **state)
{
    _autopolicy_ struct toolcage_policy *policy =
        compile("[tool.x]\nunix_sockets = [\"/run/a\", \"/run/docker.sock\"]\n");
    _autojson_ json_t *all = explain(policy, (struct ask){.tool = "x", .command = "t"}, NULL);
    const json_t *sockets = json_object_get(all, "unix_sockets");
    assert_true(json_is_null(json_object_get(json_array_get(sockets, 0), "risk")));
    assert_non_null(text_at(json_array_get(sockets, 1), "risk", NULL));
}

static void answers_about_one_access(void **state)
{
    static const struct {
        const char *access;
        bool allowed;
        const char *target, *key;
        int line;
    } rows[] = {
        {"read /data/a", true, "/data/a", "tool.x.filesystem.readable", 7},
        {"write /data/a", false, "/data/a", "tool.x.filesystem.readable", 7},
        {"read /data/no/a", false, "/data/no/a", "tool.x.filesystem.denied", 7},
        {"write /workspace/a", true, "/workspace/a", "tool.x.filesystem.writable", 7},
        {"write a", true, "/workspace/a", "tool.x.filesystem.writable", 7},
        {"read ~/.ssh/id_ed25519", false, "/home/me/.ssh/id_ed25519", "tool.x.filesystem", 7},
        {"exec /data/tool", true, "/data/tool", "tool.x.filesystem.readable", 7},
        {"exec python3", true, "/usr/sbin/python3", "", 0},
        {"read /usr/lib/x", true, "/usr/lib/x", "", 0},
        {"write /usr/lib/x", false, "/usr/lib/x", "", 0},
        {"read /etc/shadow", false, "/etc/shadow", "tool.x.filesystem", 7},
        {"read /etc/passwd", true, "/etc/passwd", "", 0},
        {"read /etc/ssl/private/k", false, "/etc/ssl/private/k", "tool.x.filesystem", 7},
        {"write /tmp/x", true, "/tmp/x", "", 0},
        {"read /data/../etc/shadow", false, "/etc/shadow", "tool.x.filesystem", 7},
        {"read /workspaces", false, "/workspaces", "tool.x.filesystem", 7},
        {"connect api.example.com", true, "api.example.com:443", "tool.x.network", 8},
        {"connect api.example.com:80", false, "api.example.com:80", "tool.x.network", 8},
    };
    _autopolicy_ struct toolcage_policy *policy = compile(text);
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        _autojson_ json_t *all =
            explain(policy, (struct ask){.tool = "x", .explain = true}, rows[i].access);
        const json_t *verdict = json_object_get(all, "verdict");
        bool same = json_is_true(json_object_get(verdict, "allowed")) == rows[i].allowed &&
                    tc_streq(text_at(verdict, "key", NULL), rows[i].key) &&
                    json_integer_value(json_object_get(verdict, "line")) == rows[i].line;
        if (!same || (i != 7 && !tc_streq(text_at(verdict, "target", NULL), rows[i].target)))
            fail_msg("%s: %s, key %s", rows[i].access, text_at(verdict, "reason", NULL),
                     text_at(verdict, "key", NULL));
        assert_true(rows[i].allowed || text_at(verdict, "hint", NULL)[0]);
    }
}

static void refuses_other_questions(void **state)
{
    static const char *const rows[] = {
        "", "read", "read ", "red /x", "/x", "connect *.example.com", "read /a*"};
    _autopolicy_ struct toolcage_policy *policy = compile(text);
    _autogrant_ struct tc_grant grant = {0};
    granted(policy, (struct ask){.tool = "x", .explain = true}, &grant);
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        _autoerror_ struct toolcage_error *err = NULL;
        struct tc_verdict v = {0};
        assert_int_equal(tc_policy_verdict(policy, &grant, rows[i], &v, &err), TOOLCAGE_EUSAGE);
        assert_null(v.target);
        assert_true(tc_error_hint(err)[0]);
    }
}

static void lists_tools(void **state)
{
    static const char schema[] =
        "{\"type\":\"object\",\"properties\":{\"n\":{\"items\":{\"minimum\":1,\"type\":\"integer\"}"
        ",\"type\":\"array\"},"
        "\"m\":{\"description\":\"An "
        "m\",\"enum\":[\"a\",\"b\"],\"type\":\"string\"}},\"required\":[\"m\"],"
        "\"additionalProperties\":false}";
    static const char asked[] = "HumanApprove\"", free_of_it[] = "Assisted\"    ";
    _autofree_ char *openai = NULL, *mcp = NULL, *own = NULL, *none_openai = NULL, *none_mcp = NULL,
                    *other = strdup(text);
    assert_non_null(other);
    memcpy(strstr(other, asked), free_of_it, strlen(asked));
    _autopolicy_ struct toolcage_policy *policy = compile(text), *callable = compile(other);
    /* a person must approve each call, and nobody can be asked */
    assert_int_equal(tc_policy_tools_json(policy, "openai", &none_openai, NULL), 0);
    assert_int_equal(tc_policy_tools_json(policy, "mcp", &none_mcp, NULL), 0);
    assert_string_equal(none_openai, "[]");
    assert_string_equal(none_mcp, "[]");
    assert_int_equal(tc_policy_tools_json(callable, "openai", &openai, NULL), 0);
    _autofree_ char *wanted = tc_format(
        "[{\"type\":\"function\",\"function\":{\"name\":\"x\",\"description\":\"Does x.\","
        "\"parameters\":%s}}]",
        schema);
    assert_string_equal(openai, wanted);
    assert_int_equal(tc_policy_tools_json(callable, "mcp", &mcp, NULL), 0);
    _autofree_ char *wanted_mcp =
        tc_format("[{\"name\":\"x\",\"title\":\"X\",\"description\":\"Does x.\",\"inputSchema\":%s,"
                  "\"annotations\":{\"readOnlyHint\":false,\"destructiveHint\":true,"
                  "\"openWorldHint\":true}}]",
                  schema);
    assert_string_equal(mcp, wanted_mcp);
    assert_int_equal(tc_policy_tools_json(policy, "toolcage", &own, NULL), 0);
    _autojson_ json_t *value = json_loads(own, 0, NULL);
    assert_int_equal(json_array_size(value), 2);
    assert_string_equal(text_at(json_array_get(value, 0), "tier", NULL), "HumanApprove");
    assert_string_equal(text_at(json_array_get(value, 1), "name", NULL), "profile");
    _autoerror_ struct toolcage_error *err = NULL;
    char *none = NULL;
    assert_int_equal(tc_policy_tools_json(policy, "yaml", &none, &err), TOOLCAGE_EUSAGE);
    assert_null(none);
}

/* What a client is told of a tool follows from its grant. */
static void hints_follow_the_grant(void **state)
{
    static const struct {
        const char *tool, *format, *has;
    } rows[] = {
        {"arguments.a = {}", "openai", ",\"strict\":true}}"},
        {"arguments.a = { maxLength = 3 }", "openai", "\"additionalProperties\":false}}}"},
        {"arguments.a = { optional = true }", "openai", "\"additionalProperties\":false}}}"},
        {"", "mcp", "\"readOnlyHint\":true,\"destructiveHint\":false,\"openWorldHint\":false"},
        {"network = [\"a.example\"]", "mcp",
         "\"readOnlyHint\":false,\"destructiveHint\":true,\"openWorldHint\":true"},
        {"arguments.a = { host = [\"a.example\"] }", "mcp", "\"openWorldHint\":true"},
    };
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        _autofree_ char *made = tc_format("[tool.x]\ncommand = [\"t\"]\n%s\n", rows[i].tool);
        _autopolicy_ struct toolcage_policy *policy = compile(made);
        _autofree_ char *json = NULL;
        assert_int_equal(tc_policy_tools_json(policy, rows[i].format, &json, NULL), 0);
        assert_non_null(strstr(json, rows[i].has));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(explanation_lists_grants_with_origins),
        cmocka_unit_test(explanation_lists_every_grant_field),
        cmocka_unit_test(explanation_names_the_backends_origin),
        cmocka_unit_test(explanation_names_the_policy_files),
        cmocka_unit_test(explanation_lists_the_install_phase),
        cmocka_unit_test(explanation_warns_of_powerful_sockets),
        cmocka_unit_test(answers_about_one_access),
        cmocka_unit_test(refuses_other_questions),
        cmocka_unit_test(hints_follow_the_grant),
        cmocka_unit_test(lists_tools),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
