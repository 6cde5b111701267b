/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What a hostile schema, or a model's value, costs: each of these once took minutes or gigabytes.
 */
#include <stdlib.h>
#include <time.h>

#include "policy/compare/compare.h"
#include "test.h"

#define HEAD "[tool.t]\ncommand = [\"x\"]\n"

/* Of processor time: what a virtual machine was kept from counts, too. */
static double most(void)
{
    return getenv("TC_TEST_EMULATED") ? 500 : 40;
}

static double now(void)
{
    return (double)clock() / CLOCKS_PER_SEC;
}

/* "BEFORE, BEFORE, ...": `count` times; with each its number when `numbered`. */
static void repeat(struct tc_buf *out, size_t count, const char *text, const char *after,
                   bool numbered)
{
    for (size_t i = 0; i < count; i++) {
        tc_buf_adds(out, text);
        if (numbered)
            tc_buf_addf(out, "%zu", i);
        tc_buf_adds(out, after);
    }
}

static void not_compiled(const struct tc_buf *text, const char *why)
{
    struct toolcage_policy *policy = NULL;
    _autoerror_ struct toolcage_error *err = NULL;
    double before = now();
    assert_int_equal(
        tc_policy_compile(text->data, text->len, "t.toml", "/srv/p", "/home/me", &policy, &err),
        TOOLCAGE_EPOLICY);
    assert_non_null(strstr(tc_error_report(err), why));
    assert_true(now() - before < most());
}

static void an_array(struct tc_buf *out, size_t count)
{
    tc_buf_adds(out, "{\"a\":[\"a\"");
    repeat(out, count - 1, ",\"a\"", "", false);
    tc_buf_adds(out, "]}");
}

static void many_patterns(void **state)
{
    _autobuf_ struct tc_buf many = TC_BUF_INIT, large = TC_BUF_INIT;
    tc_buf_adds(&many, HEAD);
    tc_buf_adds(&large, HEAD);
    tc_buf_adds(&many, "arguments.a = { type = \"string\", allOf = [");
    for (int i = 0; i < 60; i++) {
        tc_buf_addf(&many, "{ anyOf = [");
        for (int k = 0; k < 1000; k++)
            tc_buf_addf(&many, "{ pattern = \"a%d\" }, ", i * 1000 + k);
        tc_buf_adds(&many, "] }, ");
    }
    tc_buf_adds(&many, "] }\n");
    not_compiled(&many, "more than 1024 patterns");
    for (int i = 0; i < 10; i++) {
        tc_buf_addf(&large, "arguments.a%d = { type = \"string\", anyOf = [", i);
        repeat(&large, 1000, "{ pattern = \"((a{99}){99}){25}", "\" }, ", true);
        tc_buf_adds(&large, "] }\n");
    }
    not_compiled(&large, "take more than 64 MiB");
}

/* Those of one argument are found by their order. */
static void patterns_are_found(void **state)
{
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    tc_buf_adds(&text, HEAD "arguments.a = { type = \"string\", allOf = [");
    for (int i = 0; i < 300; i++)
        tc_buf_addf(&text, "{ not = { pattern = \"^%d$\" } }, ", (i * 7919) % 300);
    tc_buf_adds(&text, "] }\n");
    _autopolicy_ struct toolcage_policy *policy = compile(text.data);
    for (int i = 0; i < 301; i++) {
        char arguments[32];
        _autogrant_ struct tc_grant grant = {0};
        (void)snprintf(arguments, sizeof(arguments), "{\"a\":\"%d\"}", i);
        if (i < 300)
            refused(policy, (struct ask){.tool = "t", .arguments = arguments}, TOOLCAGE_EARGUMENTS,
                    "arguments.a", 3, "`not` excludes");
        else
            granted(policy, (struct ask){.tool = "t", .arguments = arguments}, &grant);
    }
}

static void long_texts_by_reference(void **state)
{
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    tc_buf_adds(&text, "[tool.t]\ninput_schema = '{\"type\":\"object\",\"additionalProperties\":"
                       "false,\"$defs\":{\"d\":{\"type\":\"string\",\"description\":\"");
    repeat(&text, 1 << 20, "x", "", false);
    tc_buf_adds(&text, "\"}},\"properties\":{");
    for (int i = 0; i < 100; i++)
        tc_buf_addf(&text, "%s\"p%d\":{\"$ref\":\"#/$defs/d\"}", i ? "," : "", i);
    tc_buf_adds(&text, "}}'\n");
    not_compiled(&text, "or 4 MiB");
}

static void many_arguments(void **state)
{
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    tc_buf_adds(&text, HEAD);
    repeat(&text, 1025, "arguments.a", " = {}\n", true);
    not_compiled(&text, "more than 1024 names");
}

/* What is told of a refusal within anyOf costs no more than the check. */
static void many_refusals(void **state)
{
    _autobuf_ struct tc_buf values = TC_BUF_INIT, branches = TC_BUF_INIT, given = TC_BUF_INIT;
    tc_buf_adds(&values, HEAD "arguments.a = { type = \"array\", items = { anyOf = [{ enum = [");
    for (int i = 0; i < 30; i++) {
        tc_buf_addf(&values, "\"%d", i);
        repeat(&values, 100000, "x", "", false);
        tc_buf_adds(&values, "\", ");
    }
    tc_buf_adds(&values, "] }, { type = \"string\" }] } }\n");
    tc_buf_adds(&branches, HEAD "arguments.a = { type = \"array\", items = { anyOf = [{ allOf = [{ "
                                "minLength = 9 }], anyOf = [");
    for (int i = 0; i < 30; i++) {
        tc_buf_adds(&branches, "{ anyOf = [");
        repeat(&branches, 1000, "{ enum = [\"a\"] }, ", "", false);
        tc_buf_adds(&branches, "] }, ");
    }
    tc_buf_adds(&branches, "] }, { type = \"string\" }] } }\n");
    an_array(&given, 100000);
    const char *texts[] = {values.data, branches.data};
    for (size_t i = 0; i < TC_COUNT(texts); i++) {
        _autopolicy_ struct toolcage_policy *policy = compile(texts[i]);
        _autogrant_ struct tc_grant grant = {0};
        double before = now();
        granted(policy, (struct ask){.tool = "t", .arguments = given.data}, &grant);
        assert_true(now() - before < most());
    }
}

static void many_members(void **state)
{
    _autobuf_ struct tc_buf text = TC_BUF_INIT, given = TC_BUF_INIT;
    tc_buf_adds(&text, HEAD "arguments.a = { anyOf = [{ type = \"object\" }], allOf = [");
    repeat(&text, 1000, "{ properties = {} }, ", "", false);
    tc_buf_adds(&text, "] }\n");
    tc_buf_adds(&given, "{\"a\":{\"x\":1");
    repeat(&given, 100000, ",\"", "\":1", true);
    tc_buf_adds(&given, "}}");
    _autopolicy_ struct toolcage_policy *policy = compile(text.data);
    refused(policy, (struct ask){.tool = "t", .arguments = given.data}, TOOLCAGE_EARGUMENTS,
            "arguments.a", 3, "takes too long");
}

static void many_paths(void **state)
{
    _autobuf_ struct tc_buf given = TC_BUF_INIT;
    _autopolicy_ struct toolcage_policy *policy =
        compile(HEAD "arguments.a = { type = \"array\", read = [\"/data\"] }\n");
    tc_buf_adds(&given, "{\"a\":[\"/data\"");
    repeat(&given, 4096, ",\"/data/", "\"", true);
    tc_buf_adds(&given, "]}");
    refused(policy, (struct ask){.tool = "t", .arguments = given.data}, TOOLCAGE_EARGUMENTS,
            "arguments.a", 3, "more than 4096 paths");
}

/* The schema's types are asked once, not for each place in a text. */
static void many_places(void **state)
{
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    tc_buf_adds(&text, "[tool.t]\ncommand = [\"x\", \"");
    repeat(&text, 40000, "{a}", "", false);
    tc_buf_adds(&text, "\"]\narguments.a = { anyOf = [");
    for (int i = 0; i < 30; i++) {
        tc_buf_adds(&text, "{ anyOf = [");
        repeat(&text, 1000, "{ enum = [\"a\"] }, ", "", false);
        tc_buf_adds(&text, "] }, ");
    }
    tc_buf_adds(&text, "] }\n");
    double before = now();
    _autopolicy_ struct toolcage_policy *policy = compile(text.data);
    assert_true(now() - before < most());
}

static void long_lists_are_compared(void **state)
{
    _autobuf_ struct tc_buf from = TC_BUF_INIT, to = TC_BUF_INIT;
    tc_buf_adds(&from, HEAD "arguments.a = { enum = [");
    tc_buf_adds(&to, HEAD "arguments.a = { enum = [");
    for (int i = 0; i < 100000; i++) {
        tc_buf_addf(&from, "\"%d\", ", i);
        tc_buf_addf(&to, "\"%d\", ", 99999 - i);
    }
    tc_buf_adds(&from, "] }\n");
    tc_buf_adds(&to, "] }\n");
    _autopolicy_ struct toolcage_policy *a = compile(from.data), *b = compile(to.data);
    _auto_(tc_differences_done) struct tc_differences all = {0};
    double before = now();
    assert_int_equal(tc_policy_compare(a, b, &test_facts, &all, NULL), 0);
    assert_int_equal(all.count, 0);
    assert_true(now() - before < most());
}

/* Many branches on a large value: the steps end before the machine's time does. */
static void no_schema_makes_a_check_last(void **state)
{
    _autobuf_ struct tc_buf text = TC_BUF_INIT, value = TC_BUF_INIT;
    tc_buf_adds(
        &text, "[tool.t]\ncommand = [\"x\", \"{*}\"]\narguments.a = { type = \"array\", anyOf = [");
    for (int i = 0; i < 1000; i++)
        tc_buf_adds(&text, "{ uniqueItems = true, items = { maxLength = 0 } }, ");
    tc_buf_adds(&text, "] }\n");
    tc_buf_adds(&value, "{\"a\":[");
    for (int i = 0; i < 100000; i++)
        tc_buf_adds(&value, i ? ",\"\"" : "\"\"");
    tc_buf_adds(&value, "]}");
    _autopolicy_ struct toolcage_policy *policy = compile(text.data);
    refused(policy, (struct ask){.tool = "t", .arguments = value.data}, TOOLCAGE_EARGUMENTS,
            "arguments.a", 3, "takes too long");
}

/* References make much of little, up to a bound. */
static void references_do_not_explode(void **state)
{
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    struct toolcage_policy *policy = NULL;
    _autoerror_ struct toolcage_error *err = NULL;
    tc_buf_adds(&text,
                "[tool.t]\ninput_schema = '{\"type\":\"object\",\"additionalProperties\":false,"
                "\"properties\":{\"n\":{\"$ref\":\"#/$defs/d0\"}},\"$defs\":{");
    for (int i = 0; i < 12; i++)
        tc_buf_addf(&text,
                    "\"d%d\":{\"anyOf\":[{\"$ref\":\"#/$defs/d%d\"},{\"$ref\":\"#/$defs/d%d\"},"
                    "{\"$ref\":\"#/$defs/d%d\"}]},",
                    i, i + 1, i + 1, i + 1);
    tc_buf_adds(&text, "\"d12\":{\"type\":\"null\"}}}'\n");
    assert_int_equal(
        tc_policy_compile(text.data, text.len, "t.toml", "/srv/p", "/home/me", &policy, &err),
        TOOLCAGE_EPOLICY);
    assert_non_null(strstr(tc_error_report(err), "65536 parts"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_patterns),
        cmocka_unit_test(patterns_are_found),
        cmocka_unit_test(many_arguments),
        cmocka_unit_test(long_texts_by_reference),
        cmocka_unit_test(many_refusals),
        cmocka_unit_test(many_members),
        cmocka_unit_test(many_paths),
        cmocka_unit_test(many_places),
        cmocka_unit_test(long_lists_are_compared),
        cmocka_unit_test(no_schema_makes_a_check_last),
        cmocka_unit_test(references_do_not_explode),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
