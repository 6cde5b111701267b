/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * One policy in both forms is one policy: equal digests. */
#include "test.h"

#include "policy/policy.h"

static void digest_of(tc_document_reader *reader, const char *text, char out[TC_DIGEST_SIZE])
{
    struct toolcage_policy *policy = NULL;
    _autoerror_ struct toolcage_error *err = NULL;
    if (tc_policy_compile_by(reader, text, strlen(text), "t", "/srv/p", "/home/me", &policy, &err))
        fail_msg("%s", tc_error_report(err));
    tc_strcopy(out, TC_DIGEST_SIZE, tc_policy_digest(policy));
    (void)tc_policy_unref(policy);
}

static const char *const pairs[][2] = {
    {"", ""},
    {"", "# a comment\n"},
    {"", "---\n"},
    {"", "{}\n"},
    {"", "\xef\xbb\xbf# a byte order mark\n{}\n...\n"},
    {"[tool.a]\n", "tool: {a: {}}\n"},
    {"[tool.a]\n", "\"tool\":\n  'a': {\n  }\n"},
    {"[tool.a]\npids = 3\ntimeout = \"60s\"\n[tool.b]\nmemory = \"1MiB\"\n",
     "tool:\n  b:\n    memory: 1024KiB\n  a:\n    timeout: 1m # as long\n    pids: 0x3\n"},
    {"[tool.a]\npids = 0o17\ncpus = 2.0\n", "tool: {a: {pids: 15, cpus: 2}}\n"},
    {"[tool.a]\ncpus = 0.5\n", "tool: {a: {cpus: .5}}\n"},
    {"[tool.a]\ncommand = [\"sh\", \"-c\", \"no\", \"1\", \"true\"]\n",
     "tool:\n  a:\n    command:\n    - sh\n    - -c\n    - no\n    - \"1\"\n    - 'true'\n"},
    {"[tool.a]\ndescription = \"a b\\nc\\n\"\n",
     "tool:\n  a:\n    description: |\n      a b\n      c\n"},
    {"[tool.a]\ndescription = \"a b c\"\n",
     "tool:\n  a:\n    description: >-\n      a\n      b\n      c\n"},
    {"[tool.a]\ndescription = \"a b c\"\n", "tool:\n  a:\n    description: a\n      b\n      c\n"},
    {"[tool.a]\ndescription = \"\\u00e4\\t\\\"\\\\\"\n",
     "tool: {a: {description: \"\\u00e4\\t\\\"\\\\\"}}\n"},
    {"[tool.a]\ncommand = [\"a\", \"\", \"it's\"]\n",
     "tool:\n  a:\n    command: [\n      a,\n      '',\n      'it''s',\n    ]\n"},
    {"[tool.a]\ncommand = [\"x''y\", \"''\", \"a' ''b'''\"]\n",
     "tool: {a: {command: ['x''''y', '''''', 'a'' ''''b''''''']}}\n"},
    {"[tool.a]\nnetwork = [\"allowlist:A.example.com\", \"b:80\"]\n",
     "tool: {a: {network: [{port: 80, host: b}, 'a.example.com:443']}}\n"},
    {"[tool.a]\nfilesystem = { readable = [\"/b\", { path = \"/a\", optional = true }] }\n",
     "tool:\n  a:\n    filesystem:\n      readable:\n      - {optional: true, path: /a}\n      - "
     "/b\n"},
    {"[tool.a]\narguments.n = { type = \"number\", minimum = 1.5, maximum = 1e3 }\n",
     "tool: {a: {arguments: {n: {maximum: 1000, minimum: 15e-1, type: number}}}}\n"},
    {"[tool.a]\nenv = { pass = [\"LANG\"], set = { A = \"no\", B = \"1_0\" } }\n",
     "tool: {a: {env: {set: {B: \"1_0\", A: no}, pass: [LANG]}}}\n"},
    {"[[test]]\ntool = \"a\"\nallowed = [\"read /x\"]\n[tool.a]\n",
     "test:\n- tool: a\n  allowed: [read /x]\ntool:\n  a: {}\n"},
    {"[defaults]\nmemory = { max = \"512MiB\", by = \"any\" }\n",
     "{\"defaults\": {\"memory\": {\"max\": \"512MiB\", \"by\": \"any\"}}}"},
    {"[tool.a]\r\npids = 3\r\n", "tool:\r\n  a:\r\n    pids: 3\r\n"},
};

static void equal_policies_have_one_digest(void **state)
{
    for (size_t i = 0; i < TC_COUNT(pairs); i++) {
        char one[TC_DIGEST_SIZE], other[TC_DIGEST_SIZE];
        digest_of(tc_document_read_toml, pairs[i][0], one);
        digest_of(tc_yaml_read, pairs[i][1], other);
        if (strcmp(one, other) != 0)
            fail_msg("these differ:\n%s\n%s", pairs[i][0], pairs[i][1]);
    }
}

/* Members and tables in another order are the same policy. */
static void key_order_changes_no_digest(void **state)
{
    static const char *const members[] = {"timeout: 3s", "pids: 4", "network: none",
                                          "memory: 1MiB"};
    char first[TC_DIGEST_SIZE] = "", other[TC_DIGEST_SIZE];
    for (size_t i = 0; i < 24; i++) {
        _autobuf_ struct tc_buf text = TC_BUF_INIT;
        size_t left[] = {0, 1, 2, 3}, code = i;
        tc_buf_adds(&text, "tool: {a: {");
        for (size_t n = 4; n > 0; code /= n, n--) {
            size_t at = code % n;
            tc_buf_addf(&text, "%s, ", members[left[at]]);
            left[at] = left[n - 1];
        }
        tc_buf_adds(&text, "}}");
        digest_of(tc_yaml_read, text.data, other);
        if (!first[0])
            tc_strcopy(first, sizeof(first), other);
        assert_string_equal(first, other);
    }
}

/* The policy's own findings have the places of the YAML text. */
static void findings_have_yaml_places(void **state)
{
    static const char text[] = "tool:\n  a:\n    tiemout: 3s\n    pids: many\n";
    _autoerror_ struct toolcage_error *err = NULL;
    struct toolcage_policy *policy = NULL;
    assert_int_equal(tc_policy_compile_by(tc_yaml_read, text, strlen(text), "t.yaml", "/srv/p",
                                          NULL, &policy, &err),
                     TOOLCAGE_EPOLICY);
    const char *report = tc_error_report(err);
    assert_non_null(strstr(report, "t.yaml:3:5: error: unknown key \"tiemout\""));
    assert_non_null(strstr(report, "    3 |     tiemout: 3s\n      |     ^~~~~~~\n"));
    assert_non_null(strstr(report, "t.yaml:4:11: error: pids must be an integer"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(equal_policies_have_one_digest),
                                       cmocka_unit_test(key_order_changes_no_digest),
                                       cmocka_unit_test(findings_have_yaml_places)};
    return cmocka_run_group_tests_name("yaml pairs", tests, NULL, NULL);
}
