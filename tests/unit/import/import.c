/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Settings of other sandboxes: what comes over, what is left out, what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "import/import.h"
#include "policy/policy.h"

static const struct tc_import_facts facts = {.cwd = "/home/me/project", .home = "/home/me"};

static const struct {
    const char *format, *settings, *says, *left;
} rows[] = {
    {"srt", "{\"filesystem\":{\"allowWrite\":[\"src/\"]}}", "writable = [\"src/\"]",
     "allow reading everything"},
    {"srt", "{\"filesystem\":{\"allowWrite\":[\".\"],\"denyRead\":[\"s\"]}}", "denied = [\"s\"",
     ""},
    {"srt", "{\"filesystem\":{\"allowWrite\":[\".\"],\"denyWrite\":[\"c\"]}}", "readable = [\"c\"",
     ""},
    {"srt", "{\"filesystem\":{\"allowWrite\":[\"a/b\"],\"denyWrite\":[\"a\"]}}", "writable = []",
     "denyWrite covers it"},
    {"srt", "{\"filesystem\":{\"allowWrite\":[\"a\"],\"denyRead\":[\"~\"]}}", "writable = []",
     "denyRead covers it"},
    {"srt", "{\"filesystem\":{\"denyRead\":[\"~\"],\"allowRead\":[\".\"]}}", "readable = [\".\"]",
     ""},
    {"srt", "{\"filesystem\":{\"allowWrite\":[\".\"],\"denyRead\":[\"s/*.pem\"]}}",
     "denied = [\"s/\"", "its whole directory"},
    {"srt", "{\"filesystem\":{\"allowWrite\":[\"*.c\"]}}", "writable = []", "a pattern"},
    {"srt", "{\"network\":{\"allowedDomains\":[\"a.example\"]}}", "\"a.example:443\"",
     "every port"},
    {"srt", "{\"network\":{\"allowedDomains\":[\"*.a.example\"]}}", "network = []", "pattern"},
    {"srt",
     "{\"network\":{\"allowedDomains\":[\"x.a.example:1\"],\"deniedDomains\":[\"*.a.example\"]}}",
     "network = []", "deniedDomains covers it"},
    {"srt", "{\"network\":{\"allowedDomains\":[\"a.example:1\"],\"deniedDomains\":[\"*\"]}}",
     "network = []", "deniedDomains covers it"},
    {"srt", "{\"network\":{\"allowAllUnixSockets\":true}}", "network = []", "allowAllUnixSockets"},
    {"srt", "{\"a\\nb\\u202e\":1}", "[defaults]", "a?b???: a policy has no such setting"},
    {"vscode",
     "{\"servers\":{\"s\":{\"command\":\"c\",\"args\":[\"${workspaceFolder}/x\"],},},} // c",
     "command = [\"c\", \"/workspace/x\"]", "without a sandbox"},
    {"vscode", "{\"servers\":{\"s\":{\"command\":\"c\",\"args\":[\"${input:key}\"]}}}", "#",
     "command has"},
    {"vscode", "{\"servers\":{\"s\":{\"url\":\"u\"}}}", "#", "does not run a command"},
    {"vscode",
     "{\"servers\":{\"s\":{\"command\":\"c\",\"sandboxEnabled\":true,\"sandbox\":{\"filesystem\":"
     "{\"allowWrite\":[\"${workspaceFolder}\"],\"denyRead\":[\"/home/me/project/.env\"]}}}}}",
     "denied = [\"/workspace/.env\"]", ""},
    {"vscode", "{\"servers\":{\"s\":{\"command\":\"c\",\"args\":\"-y\"}}}", "#", "command has"},
    {"vscode", "{\"servers\":{\"s\":{\"command\":\"c\",\"env\":[1]}}}", "[\"c\"]",
     "s.env: is not an object"},
    {"vscode", "{\"servers\":{\"s\":{\"command\":\"c\",\"type\":\"sse\"}}}", "[\"c\"]",
     "only stdio"},
    {"vscode",
     "{\"servers\":{\"s\":{\"command\":\"c\",\"sandboxEnabled\":true,\"sandbox\":{\"allowPty\":"
     "true}}}}",
     "network = []", "s.sandbox.allowPty"},
    {"vscode", "{\"sandbox\":{\"allowPty\":true}}", "#", "sandbox: no server"},
    {"vscode", "{\"chat.tools.terminal.sandbox.enabled\":true}", "#",
     "default permissions are not granted"},
    {"srt",
     "{\"filesystem\":{\"denyRead\":[\"/\",\"/a/b\"],\"allowRead\":[\"/a\",\"/a/b/c\"],"
     "\"allowWrite\":[\"/a/x\",\"/a/b/x\",\"/a/b/c/x\",\"/x\"]}}",
     "writable = [\"/a/x\", \"/a/b/c/x\"]", "allowWrite /a/b/x: denyRead covers it"},
    {"vscode", "{\"servers\":{\"s\":{\"command\":\"c\\\"\\n[tool.x]\"}}}",
     "\"c\\\"\\U0000000A[tool.x]\"", ""},
};

static void settings_are_imported(void **state)
{
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        _autofree_ char *text = NULL, *left = NULL;
        struct tc_import_fault fault;
        struct toolcage_policy *policy = NULL;
        if (tc_import_settings(rows[i].format, rows[i].settings, strlen(rows[i].settings), &facts,
                               &text, &left, &fault))
            print_error("row %zu: %s\n", i, fault.text);
        assert_non_null(text);
        assert_int_equal(
            tc_policy_compile(text, strlen(text), "i.toml", facts.cwd, facts.home, &policy, NULL),
            0);
        tc_policy_unref(policy);
        if (!strstr(text, rows[i].says) || !strstr(left, rows[i].left))
            print_error("row %zu: %s\n%s\n", i, text, left);
        assert_non_null(strstr(text, rows[i].says));
        assert_non_null(strstr(left, rows[i].left));
    }
}

static void unusable_settings_are_refused(void **state)
{
    static const char *const bad[] = {"",
                                      "[]",
                                      "{",
                                      "{\"a\":1,\"a\":2}",
                                      "{\"filesystem\":[]}",
                                      "{\"filesystem\":{\"allowWrite\":\"x\"}}",
                                      "{\"network\":{\"allowedDomains\":[1]}}",
                                      "{\"filesystem\":{\"denyRead\":[\"~other\"]}}",
                                      "{\"filesystem\":{\"denyRead\":[\"a\\nb\"]}}"};
    char deep[200];
    memset(deep, '[', sizeof(deep) - 1);
    deep[sizeof(deep) - 1] = '\0';
    for (size_t i = 0; i <= TC_COUNT(bad); i++) {
        const char *text = i < TC_COUNT(bad) ? bad[i] : deep;
        char *out = NULL, *left = NULL;
        struct tc_import_fault fault;
        assert_int_equal(tc_import_settings("srt", text, strlen(text), &facts, &out, &left, &fault),
                         TOOLCAGE_EPOLICY);
        assert_null(out);
        assert_true(fault.text[0] && fault.hint[0]);
    }
}

static void formats_are_known(void **state)
{
    char *out = NULL, *left = NULL;
    struct tc_import_fault fault;
    assert_int_equal(tc_import_settings("docker", "{}", 2, &facts, &out, &left, &fault),
                     TOOLCAGE_EUSAGE);
    assert_string_equal(fault.text, "there is no format \"docker\"");
    assert_string_equal(fault.hint, "the formats are srt and vscode");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(settings_are_imported),
                                       cmocka_unit_test(unusable_settings_are_refused),
                                       cmocka_unit_test(formats_are_known)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
