/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * For every n the n-th allocation fails: the answer is always "out of memory", never an abort,
 * never a policy or grant with something missing. */
#include "test.h"

#include "policy/explain/explain.h"
#include "policy/explain/run_cases.h"
#include "policy/lint/lint.h"

#include <jansson.h>
#include <stdlib.h>

static long countdown = -1; /* allocations until the failing one; negative: none fails */
static bool hit;

bool allocation_fails(void);
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t size);

bool allocation_fails(void)
{
    if (countdown < 0 || countdown-- > 0)
        return false;
    hit = true;
    return true;
}

void *__wrap_malloc(size_t size)
{
    return allocation_fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return allocation_fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return allocation_fails() ? NULL : __real_realloc(old, size);
}

char *__wrap_strdup(const char *text)
{
    return allocation_fails() ? NULL : __real_strdup(text);
}

char *__wrap_strndup(const char *text, size_t size)
{
    return allocation_fails() ? NULL : __real_strndup(text, size);
}

static const char text[] =
    "[defaults]\nfilesystem.denied = [\"/data/no\"]\n"
    "[tool.x]\ndescription = \"d\"\ncommand = [\"cat\", \"-n\", \"{n...}\", \"--\", "
    "\"{p}\"]\nstdin = \"{*}\"\n"
    "arguments.p = { read = [\"/data\"] }\narguments.n = { type = \"array\", items = { enum = "
    "[\"a\"] }, optional = true }\n"
    "arguments.u = { host = [\"example.com\"] }\n"
    "filesystem = { readable = [{ path = \"/h\", from = \"~/\" }], writable = [\"/workspace\"] }\n"
    "network = [{ host = \"api.example.com\", methods = [\"GET\"], paths = [\"/v1\"] }]\n"
    "memory = \"1GiB\"\noutput = { limit = \"2KiB\" }\nenv = { pass = [\"TZ\"], set = { A = "
    "\"{p}\" } }\n"
    "programs = [\"python3\"]\ncollect = [\"*.csv\"]\ntier = \"HumanApprove\"\n"
    "setup = { command = [\"i\"], into = \"/opt/x\", inputs = [\"a\"], env.set = { B = \"b\" } }\n"
    "[tool.j]\ncommand = [\"cat\", \"--\", \"{a}\"]\ninput_schema = '{\"type\":\"object\","
    "\"additionalProperties\":false,\"required\":[\"a\"],\"properties\":{\"a\":{\"type\":"
    "\"string\","
    "\"default\":\"x\"},\"b\":{\"type\":\"array\",\"items\":{\"type\":\"number\",\"minimum\":0.5}},"
    "\"c\":{\"$ref\":\"#/$defs/d\",\"title\":\"t\"},\"e\":{\"$ref\":\"#/$defs/d\",\"not\":{}}},"
    "\"$defs\":{\"d\":{\"anyOf\":[{\"type\":[\"null\",\"array\"],\"default\":[{\"z\":0.5}],"
    "\"prefixItems\":[{\"const\":\"y\","
    "\"title\":\"t\"}],"
    "\"items\":false},{\"type\":\"object\",\"additionalProperties\":{\"type\":\"null\"},"
    "\"patternProperties\":{\"^x\":{\"enum\":[\"y\"]}}}]}}}'\n"
    "syscalls = { deny = [\"mlock\"], allow = [\"kcmp\"] }\n"
    "[server.s]\ncommand = [\"s\"]\ntool.t = { arguments.q = { write = [\"/workspace\"] } }\n"
    "[tool.k]\ncommand = [\"cat\"]\narguments.o = { type = \"object\", patternProperties.\"^x\" = "
    "{}, "
    "propertyNames = { maxLength = 9 }, dependentRequired.xa = [\"xb\"], dependentSchemas.xa = { "
    "maxProperties = 3 }, oneOf = [{ required = [\"xa\"] }, { not = { minProperties = 2 } }] }\n"
    "arguments.l = { type = \"array\", uniqueItems = true, contains = { const = \"a\" }, if = { "
    "maxItems = 1 }, then = { prefixItems = [{ enum = [\"a\"] }] } }\n"
    "[tier.HumanApprove]\nbackend = \"process\"\n[[test]]\ntool = \"x\"\nallowed = [\"read "
    "/data\"]\n";

static const char broken[] = "[tool.x]\nmemory = 512\nunknown = 1\nnetwork = [\"*.a\"]\n";

/* Everything that the policy does, once. 0 or the first failure. */
static int whole_life(struct toolcage_error **err)
{
    const struct tc_narrowing narrow[] = {{(char *)"read", (char *)"/h/project"},
                                          {(char *)"timeout", (char *)"1s"},
                                          {(char *)"network", (char *)"api.example.com"}};
    const struct tc_request request = {
        .tool = "x",
        .arguments = "{\"p\":\"/data/f\",\"n\":[\"a\"],\"u\":\"https://example.com/x\"}",
        .narrow = narrow,
        .narrow_count = 2};
    _autopolicy_ struct toolcage_policy *policy = NULL;
    const struct tc_request install = {.tool = "x.setup"};
    const struct tc_request parts = {
        .tool = "k", .arguments = "{\"o\":{\"xa\":\"1\",\"xb\":\"2\"},\"l\":[\"a\"]}"};
    _autogrant_ struct tc_grant grant = {0}, other = {0}, whole = {0};
    _auto_(tc_verdict_done) struct tc_verdict verdict = {0};
    _autofree_ char *explained = NULL, *tools = NULL;
    int rc = tc_policy_compile(text, strlen(text), "t.toml", "/srv/p", "/home/me", &policy, err);
    if (!rc)
        rc = tc_policy_resolve(policy, &request, &test_facts, &grant, err);
    if (!rc)
        rc = tc_policy_resolve(policy, &install, &test_facts, &other, err);
    if (!rc)
        rc = tc_policy_resolve(policy, &parts, &test_facts, &whole, err);
    if (!rc)
        rc = tc_policy_verdict(policy, &grant, "read /h/project/x", &verdict, err);
    if (!rc)
        rc = tc_policy_explain(policy, &grant, &verdict, NULL, &explained, err);
    if (!rc)
        rc = tc_policy_tools_json(policy, "toolcage", &tools, err);
    if (!rc)
        assert_true(grant.fs_count > 4 && grant.digest[0] && other.digest[0] && explained && tools);
    return rc;
}

/* What judges a policy: its findings and its tests. */
static int judges(struct toolcage_error **err)
{
    static const char dangerous[] =
        "[defaults]\ntimeout = \"1h\" # toolcage: allow(long-timeout) why\n"
        "[tool.w]\nfilesystem = { writable = [\"/srv/bin\", \"~/.local/bin\"], denied = [\"/x\"] "
        "}\n"
        "timeout = \"1h\"\nwithout = [\"proc.own\"]\n"
        "[tool.r]\ncommand = [\"/srv/bin/r\", \"{p}\"]\nfilesystem.readable = [\"/d/.env\", "
        "\"/d\"]\n"
        "network = [\"a.example\", \"10.0.0.1\"]\narguments.p = { read = [\"/in\"] }\n"
        "arguments.q = { pattern = \"(?:a?)*\" }\n"
        "[tier.Auto]\nbackend = \"process\"\n"
        "[[test]]\ntool = \"r\"\narguments = { p = \"/in/x\", q = \"\" }\ncall = \"allowed\"\n"
        "allowed = [\"read /d/x\", \"connect a.example\"]\ndenied = [\"exec /z\"]\n";
    static const char list[] = "com\nio\n";
    static const struct tc_lint_backend backend = {"process", ~TC_CLAUSE_BIT(TC_CLAUSE_NET_SECRET),
                                                   false};
    const struct tc_lint_facts known = {&backend, 1, list, strlen(list)};
    const struct tc_test_texts none = {0};
    _autopolicy_ struct toolcage_policy *policy = NULL;
    _autofree_ char *findings = NULL, *tests = NULL;
    int rc = tc_policy_compile(dangerous, strlen(dangerous), "t.toml", "/srv/p", "/home/me",
                               &policy, err);
    if (!rc)
        rc = tc_policy_lint(policy, dangerous, strlen(dangerous), &known, &findings, err);
    if (!rc)
        rc = tc_policy_test(policy, &none, &test_facts, &tests, err);
    if (!rc) /* and no finding less for want of memory */
        assert_true(strstr(findings, "writable-and-run") &&
                    strstr(findings, "secret-and-network") &&
                    strstr(findings, "\"silenced\":\"why\"") && strstr(findings, "unused-class") &&
                    strstr(tests, "\"passed\":4,\"failed\":0"));
    return rc;
}

static int refusal(struct toolcage_error **err)
{
    struct toolcage_policy *policy = NULL;
    int rc = tc_policy_compile(broken, strlen(broken), "t.toml", "/srv/p", NULL, &policy, err);
    assert_null(policy);
    return rc;
}

static void sweep(int (*run)(struct toolcage_error **), int wanted)
{
    long n = 0;
    for (;; n++) {
        struct toolcage_error *err = NULL;
        hit = false;
        countdown = n;
        int rc = run(&err);
        countdown = -1;
        bool right =
            hit ? rc == TOOLCAGE_EMEMORY || tc_error_code(err) == TOOLCAGE_EMEMORY : rc == wanted;
        /* a failure that nothing depended on (a shorter hint, say) leaves the answer right */
        if (!right && !(hit && rc == wanted))
            fail_msg("allocation %ld: %d, %s", n, rc, err ? tc_error_report(err) : "");
        tc_error_free(err);
        if (!hit)
            break;
    }
    assert_true(n > 50);
}

static void every_allocation_may_fail(void **state)
{
    json_set_alloc_funcs(__wrap_malloc, free);
    sweep(whole_life, 0);
    sweep(judges, 0);
    sweep(refusal, TOOLCAGE_EPOLICY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
