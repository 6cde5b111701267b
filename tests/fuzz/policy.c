/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Reaches src/policy: document, parse, resolve, explain, tools, lint, tests. Input: a policy text;
 * after a NUL, when there is one, the JSON arguments of a call. Every tool is resolved; a grant
 * never holds what its own denials name, never a whole file system, and has the same digest twice.
 */
#include "fuzz.h"

#include <string.h>

#include "base/error.h"
#include "base/path.h"
#include "policy/edit/amend.h"
#include "policy/explain/explain.h"
#include "policy/explain/run_cases.h"
#include "policy/lint/lint.h"
#include "policy/model.h"
#include "policy/policy.h"

static const struct tc_facts facts = {.cwd = "/home/me/project",
                                      .home = "/home/me",
                                      .state = "/home/me/.toolcage",
                                      .config = "/home/me/.config/toolcage"};

static void check_entry(const struct tc_grant *grant, const struct tc_fs_entry *entry)
{
    INVARIANT(entry->path[0] == '/' && !strstr(entry->path, "/../"));
    if (entry->access == TC_ACCESS_DENY) {
        INVARIANT(tc_grant_find(grant, entry->path)->access == TC_ACCESS_DENY);
        return;
    }
    INVARIANT(entry->from && entry->from[0] == '/');
    INVARIANT(!tc_streq(entry->path, "/") && !tc_streq(entry->from, "/"));
    INVARIANT(!tc_path_within("/proc", entry->from) && !tc_path_within("/dev", entry->path));
    INVARIANT(!tc_path_within(facts.state, entry->from));
    INVARIANT(!entry->argument || tc_path_within(entry->bound, entry->from));
}

static void check_grant(const struct tc_grant *grant)
{
    INVARIANT((grant->clauses & tc_clauses_always()) == tc_clauses_always());
    INVARIANT(grant->limits.timeout_ms > 0 && grant->limits.memory > 0 && grant->limits.pids > 0);
    INVARIANT(!(grant->clauses & TC_CLAUSE_BIT(TC_CLAUSE_NET_NONE)) == (grant->net_count > 0));
    for (size_t i = 0; i < grant->fs_count; i++)
        check_entry(grant, &grant->fs[i]);
}

static void try_tool(const struct toolcage_policy *policy, const char *tool, const char *arguments)
{
    const struct tc_request request = {.tool = tool, .arguments = arguments, .explain = !arguments};
    struct tc_grant grant = {0}, again = {0};
    struct tc_verdict v = {0};
    struct toolcage_error *err = NULL;
    char *text = NULL;
    if (tc_policy_resolve(policy, &request, &facts, &grant, &err)) {
        INVARIANT(err && tc_error_message(err)[0] && tc_error_hint(err)[0]);
        tc_error_free(err);
        return;
    }
    check_grant(&grant);
    INVARIANT(tc_policy_resolve(policy, &request, &facts, &again, NULL) == 0);
    INVARIANT(tc_streq(grant.digest, again.digest));
    INVARIANT(tc_policy_verdict(policy, &grant, "read /home/me/.ssh/id", &v, NULL) == 0);
    INVARIANT(tc_policy_explain(policy, &grant, &v, NULL, &text, NULL) == 0);
    tc_verdict_done(&v);
    free(text);
    tc_grant_done(&grant);
    tc_grant_done(&again);
}

/* One more path for one tool, and nothing else for anybody. */
static void try_amend(const struct toolcage_policy *policy, const char *text, const char *tool)
{
    struct toolcage_policy *after = NULL;
    struct toolcage_error *err = NULL;
    char *next = NULL;
    const struct tc_policy_source source = {
        .text = text, .length = strlen(text), .name = "fuzz.toml", .reader = tc_document_read_toml};
    if (tc_policy_amend(policy, &source, tool, "write /fuzz/path", &next, &err)) {
        INVARIANT(err && tc_error_message(err)[0] && tc_error_hint(err)[0]);
        tc_error_free(err);
        return;
    }
    INVARIANT(tc_policy_compile(next, strlen(next), "fuzz.toml", "/srv/p", "/home/me", &after,
                                NULL) == 0);
    INVARIANT(after->tool_count == policy->tool_count);
    INVARIANT(after->defaults.fs_count == policy->defaults.fs_count);
    for (size_t i = 0; i < policy->tool_count; i++) {
        bool same = tc_streq(policy->tools[i].name, tool);
        INVARIANT(tc_streq(after->tools[i].name, policy->tools[i].name));
        INVARIANT(after->tools[i].fs_count == policy->tools[i].fs_count + same);
        INVARIANT(after->tools[i].net_count == policy->tools[i].net_count);
    }
    tc_policy_unref(after);
    free(next);
}

/* What is dangerous in it, and its tests: always an answer, and the same one twice. */
static void try_judges(const struct toolcage_policy *policy, const char *text)
{
    static const struct tc_lint_backend backend = {"process", ~(tc_clauses)0, false};
    static const char list[] = "com\n*.ck\n!www.ck\n";
    const struct tc_lint_facts known = {&backend, 1, list, sizeof(list) - 1};
    const struct tc_test_texts none = {0},
                               own = {1, &text, &(size_t){strlen(text)}, &(const char *){"t"}};
    char *findings = NULL, *again = NULL, *tests = NULL;
    struct toolcage_error *err = NULL;
    INVARIANT(tc_policy_lint(policy, text, strlen(text), &known, &findings, NULL) == 0);
    INVARIANT(tc_policy_lint(policy, text, strlen(text), &known, &again, NULL) == 0);
    INVARIANT(tc_streq(findings, again));
    free(again);
    free(findings);
    INVARIANT(tc_policy_test(policy, &none, &facts, &tests, NULL) == 0);
    free(tests);
    if (tc_policy_test(policy, &own, &facts, &tests, &err) == 0)
        free(tests);
    tc_error_free(err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *cut = size ? memchr(data, '\0', size) : NULL;
    size_t length = cut ? (size_t)(cut - data) : size;
    _autofree_ char *text = strndup((const char *)data, length);
    _autofree_ char *arguments = cut ? strndup((const char *)cut + 1, size - length - 1) : NULL;
    struct toolcage_policy *policy = NULL;
    struct toolcage_error *err = NULL;
    char *tools = NULL;
    if (tc_policy_compile((const char *)data, length, "fuzz.toml", "/srv/p", "/home/me", &policy,
                          &err)) {
        INVARIANT(err && tc_error_message(err)[0] && strstr(tc_error_report(err), ": error: "));
        tc_error_free(err);
        return 0;
    }
    INVARIANT(tc_policy_tools_json(policy, "toolcage", &tools, NULL) == 0);
    free(tools);
    if (text)
        try_judges(policy, text);
    try_tool(policy, NULL, arguments);
    for (size_t i = 0; i < policy->tool_count; i++)
        try_tool(policy, policy->tools[i].name, arguments);
    for (size_t i = 0; text && i < policy->tool_count; i++)
        try_amend(policy, text, policy->tools[i].name);
    tc_policy_unref(policy);
    return 0;
}
