/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Schemas of several parts: which values fit, what a place of a command gets, what stays bounded.
 */
#include "test.h"

struct row {
    const char *argument, *value, *why; /* NULL: it fits */
};

static const struct row rows[] = {
    {"type = [\"string\", \"null\"]", "null", NULL},
    {"type = [\"string\", \"null\"]", "\"x\"", NULL},
    {"type = [\"string\", \"null\"]", "1", "must be of type string or null, not an integer"},
    {"type = \"null\"", "null", NULL},
    {"type = \"null\"", "false", "must be of type null"},
    {"type = \"integer\"", "2.0", NULL},
    {"type = \"integer\"", "1e300", NULL},
    {"type = \"integer\"", "2.5", "must be of type integer, not a number"},
    {"type = \"integer\", multipleOf = 2", "3.0", "not a multiple of 2"},
    {"type = \"integer\", multipleOf = 2", "-4.0", NULL},
    {"type = \"integer\", multipleOf = 7", "1e22", "not a multiple of 7"},
    {"type = \"integer\", multipleOf = 5", "-1e22", NULL},
    {"type = \"integer\", multipleOf = 9223372036854775807", "1e300", "not a multiple"},
    {"type = \"integer\", multipleOf = 4611686018427387904", "1e300", NULL},
    {"type = \"number\", maximum = 9007199254740993", "9007199254740994", "is more than"},
    {"type = [\"integer\", \"array\"], maxItems = 1", "[]", NULL},
    {"type = [\"integer\", \"array\"], maxItems = 1", "[1]", "must be of type string"},

    {"anyOf = [{ maxLength = 1 }, { type = \"integer\" }]", "7", NULL},
    {"anyOf = [{ maxLength = 1 }, { type = \"integer\" }]", "\"a\"", NULL},
    {"anyOf = [{ maxLength = 1 }, { type = \"integer\" }]", "\"ab\"",
     "none of 2 schemas matches: a has 2 characters"},
    {"anyOf = [{ maxLength = 1 }, { type = \"integer\" }]", "true", "must be of type string"},
    {"anyOf = [{ minLength = 9 }, { maxLength = 1 }], type = \"string\"", "\"ab\"", "none of 2"},
    {"oneOf = [{ pattern = \"a\" }, { pattern = \"b\" }]", "\"ab\"", "more than one"},
    {"oneOf = [{ pattern = \"a\" }, { pattern = \"b\" }]", "\"b\"", NULL},
    {"oneOf = [{ pattern = \"a\" }, { pattern = \"b\" }]", "\"c\"", "does not match"},
    {"allOf = [{ type = \"integer\" }, { minimum = 3 }]", "3", NULL},
    {"allOf = [{ type = \"integer\" }, { minimum = 3 }]", "2", "is less than 3"},
    {"allOf = [{ type = \"integer\" }, { minimum = 3 }]", "\"x\"", "must be of type integer"},
    {"type = \"integer\", not = { minimum = 3, maximum = 5 }", "4", "`not` excludes"},
    {"type = \"integer\", not = { minimum = 3, maximum = 5 }", "6", NULL},
    {"type = \"number\", not = { type = \"integer\" }", "2.0", "`not` excludes"},
    {"not = { not = { const = \"a\" } }", "\"a\"", NULL},
    {"not = { not = { const = \"a\" } }", "\"b\"", "`not` excludes"},
    {"type = \"string\", not = {}", "\"a\"", "`not` excludes"},

    {"type = \"array\", prefixItems = [{ type = \"integer\" }, {}]", "[1, \"x\"]", NULL},
    {"type = \"array\", prefixItems = [{ type = \"integer\" }, {}]", "[1]", NULL},
    {"type = \"array\", prefixItems = [{ type = \"integer\" }, {}]", "[\"x\", \"x\"]",
     "a[0] must be of type integer"},
    {"type = \"array\", prefixItems = [{ type = \"integer\" }, {}]", "[1, \"x\", 2]", "at most 2"},
    {"type = \"array\", prefixItems = [{}], items = { type = \"integer\" }", "[\"x\", 1, 2]", NULL},
    {"type = \"array\", prefixItems = [{}], items = { type = \"integer\" }", "[\"x\", \"y\"]",
     "a[1] must be of type integer"},
    {"type = \"array\", items = false", "[]", NULL},
    {"type = \"array\", items = false", "[1]", "at most 0"},

    /* each branch that bears the type is closed; what stands beside it only narrows */
    {"anyOf = [{ type = \"object\", properties.x = {} }, { type = \"null\" }]", "{\"x\":\"1\"}",
     NULL},
    {"anyOf = [{ type = \"object\", properties.x = {} }, { type = \"null\" }]", "{\"y\":\"1\"}",
     "not declared"},
    {"type = \"object\", properties = { x = {}, y = {} }, anyOf = [{ required = [\"x\"] }, { "
     "required = [\"y\"] }]",
     "{\"y\":\"1\"}", NULL},
    {"type = \"object\", properties = { x = {}, y = {} }, anyOf = [{ required = [\"x\"] }, { "
     "required = [\"y\"] }]",
     "{}", "lacks the member x"},
    {"type = \"object\", properties = { x = {}, y = {} }, anyOf = [{ required = [\"x\"] }, { "
     "required = [\"y\"] }]",
     "{\"x\":\"1\",\"z\":\"1\"}", "not declared"},
    {"type = \"object\", properties = { x = {} }, not = { properties.x = { const = \"1\" } }",
     "{\"x\":\"1\"}", "`not` excludes"},

    {"type = \"object\", additionalProperties = { type = \"integer\" }", "{\"x\":1,\"y\":2}", NULL},
    {"type = \"object\", additionalProperties = { type = \"integer\" }", "{\"x\":\"1\"}",
     "a.x must be of type integer"},
    {"type = \"object\", patternProperties.\"^x\" = { maxLength = 1 }", "{\"x1\":\"a\"}", NULL},
    {"type = \"object\", patternProperties.\"^x\" = { maxLength = 1 }", "{\"x1\":\"ab\"}",
     "a.x1 has 2 characters"},
    {"type = \"object\", patternProperties.\"^x\" = {}", "{\"y\":\"a\"}", "not declared"},
    {"type = \"object\", patternProperties.\"^x\" = {}, properties.xa = { const = \"b\" }",
     "{\"xa\":\"c\"}", "not the value"},
    {"type = \"object\", additionalProperties = {}, propertyNames = { maxLength = 2 }",
     "{\"abc\":\"1\"}", "a name of a has 3 characters"},
    {"type = \"object\", additionalProperties = {}, minProperties = 1", "{}", "at least 1"},
    {"type = \"object\", additionalProperties = {}, maxProperties = 1", "{\"x\":\"1\",\"y\":\"1\"}",
     "at most 1"},
    {"type = \"object\", additionalProperties = {}, dependentRequired = { x = [\"y\"] }",
     "{\"x\":\"1\"}", "lacks the member y, which is required with x"},
    {"type = \"object\", additionalProperties = {}, dependentRequired = { x = [\"y\"] }",
     "{\"z\":\"1\"}", NULL},
    {"type = \"object\", additionalProperties = {}, dependentSchemas.x = { minProperties = 2 }",
     "{\"x\":\"1\"}", "at least 2"},
    {"type = \"array\", contains = { const = \"a\" }", "[\"b\",\"a\"]", NULL},
    {"type = \"array\", contains = { const = \"a\" }", "[\"b\"]", "has no element"},
    {"type = \"array\", contains = { const = \"a\" }, minContains = 0", "[]", NULL},
    {"type = \"array\", contains = { const = \"a\" }, maxContains = 1", "[\"a\",\"a\"]",
     "at most 1"},
    {"if = { pattern = \"^a\" }, then = { minLength = 2 }, else = { maxLength = 1 }", "\"a\"",
     "at least 2"},
    {"if = { pattern = \"^a\" }, then = { minLength = 2 }, else = { maxLength = 1 }", "\"b\"",
     NULL},
    {"if = { pattern = \"^a\" }, then = { minLength = 2 }, else = { maxLength = 1 }", "\"bb\"",
     "at most 1"},
    {"type = \"array\", items = { type = \"number\" }, enum = [[1], [2, 3.5]]", "[1.0]", NULL},
    {"type = \"array\", items = { type = \"number\" }, enum = [[1], [2, 3.5]]", "[2]",
     "is none of"},

    /* a text that costs too much is refused, also where that would turn round */
    {"not = { pattern = \"^(a+)+$\" }", "COSTLY", "takes too long"},
    {"not = { not = { pattern = \"^(a+)+$\" } }", "COSTLY", "takes too long"},
    {"oneOf = [{ maxLength = 99 }, { pattern = \"^(a+)+$\" }]", "COSTLY", "takes too long"},
    {"if = { pattern = \"^(a+)+$\" }, then = { minLength = 99 }", "COSTLY", "takes too long"},
    {"type = [\"string\", \"object\"], additionalProperties = {}, patternProperties.\"^(a+)+$\" = "
     "{}",
     "{\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!\":\"\"}", "takes too long"},
    {"anyOf = [{ pattern = \"^(a+)+$\" }, { minLength = 1 }]", "COSTLY", "takes too long"},
};

static void values_fit_or_not(void **state)
{
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        char text[512], arguments[256];
        bool costly = !strcmp(rows[i].value, "COSTLY");
        (void)snprintf(text, sizeof(text),
                       "[tool.t]\ncommand = [\"x\", \"{*}\"]\narguments.a = { %s }\n",
                       rows[i].argument);
        (void)snprintf(arguments, sizeof(arguments), "{\"a\":%s}",
                       costly ? "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!\"" : rows[i].value);
        _autopolicy_ struct toolcage_policy *policy = compile(text);
        _autogrant_ struct tc_grant grant = {0};
        print_message("# %zu: %s: %s\n", i, rows[i].argument, rows[i].value);
        if (rows[i].why)
            refused(policy, (struct ask){.tool = "t", .arguments = arguments}, TOOLCAGE_EARGUMENTS,
                    "arguments.a", 3, rows[i].why);
        else
            granted(policy, (struct ask){.tool = "t", .arguments = arguments}, &grant);
    }
}

static void null_is_no_value(void **state)
{
    _autopolicy_ struct toolcage_policy *policy =
        compile("[tool.t]\ncommand = [\"x\", \"--a={a}\", \"{l...}\", \"{*}\"]\n"
                "env.set = { A = \"<{a}>\" }\n"
                "arguments.a = { type = [\"integer\", \"null\"] }\n"
                "arguments.l = { anyOf = [{ type = \"array\" }, { type = \"null\" }] }\n");
    _autogrant_ struct tc_grant none = {0}, some = {0};
    granted(policy, (struct ask){.tool = "t", .arguments = "{\"a\":null,\"l\":null}"}, &none);
    assert_int_equal(none.argv.count, 2);
    assert_string_equal(none.argv.items[1], "{\"a\":null,\"l\":null}");
    for (size_t i = 0; i < none.env.count; i++)
        assert_memory_not_equal(none.env.items[i], "A=", 2);
    granted(policy, (struct ask){.tool = "t", .arguments = "{\"a\":5,\"l\":[\"y\",\"z\"]}"}, &some);
    assert_int_equal(some.argv.count, 5);
    assert_string_equal(some.argv.items[1], "--a=5");
    _autogrant_ struct tc_grant large = {0};
    granted(policy, (struct ask){.tool = "t", .arguments = "{\"a\":-1e21,\"l\":null}"}, &large);
    assert_string_equal(large.argv.items[1], "--a=-1000000000000000000000");
    assert_string_equal(some.argv.items[3], "z");
}

static void no_part_opens_a_bound(void **state)
{
    _autopolicy_ struct toolcage_policy *policy =
        compile("[tool.t]\ncommand = [\"x\", \"{a}\", \"{l...}\"]\n"
                "arguments.a = { type = [\"string\", \"null\"], read = [\"/data\"], anyOf = [{ "
                "pattern = \"x$\" }, { const = \"/etc/passwd\" }, { type = \"null\" }] }\n"
                "arguments.l = { type = \"array\", optional = true, prefixItems = [{}], items = { "
                "enum = [\"-v\"] } }\n");
    _autogrant_ struct tc_grant grant = {0}, none = {0};
    granted(policy, (struct ask){.tool = "t", .arguments = "{\"a\":\"/data/x\"}"}, &grant);
    assert_int_equal(access_of(&grant, "/data/x"), 'r');
    assert_int_equal(access_of(&grant, "/data/y"), '-');
    granted(policy, (struct ask){.tool = "t", .arguments = "{\"a\":null}"}, &none);
    assert_int_equal(access_of(&none, "/data/x"), '-');
    refused(policy, (struct ask){.tool = "t", .arguments = "{\"a\":\"/etc/passwd\"}"},
            TOOLCAGE_EARGUMENTS, "arguments.a", 3, "outside the bounds of the argument");
    /* what prefixItems takes is not what items lists */
    refused(policy, (struct ask){.tool = "t", .arguments = "{\"a\":null,\"l\":[\"-rf\",\"-v\"]}"},
            TOOLCAGE_EARGUMENTS, "arguments", 2, "would be read as an option");
}

static void arguments_fit_together(void **state)
{
    static const char schema[] =
        "[tool.t]\ncommand = [\"x\", \"{*}\"]\ninput_schema = '{\"type\":\"object\","
        "\"additionalProperties\":false,\"properties\":{\"a\":{\"type\":\"null\"},\"b\":{\"type\":"
        "\"null\"}},\"oneOf\":[{\"required\":[\"a\"]},{\"$ref\":\"#/$defs/d\"}],\"$defs\":{\"d\":{"
        "\"required\":[\"b\"]}}}'\n";
    _autopolicy_ struct toolcage_policy *policy = compile(schema);
    _autogrant_ struct tc_grant grant = {0};
    _autofree_ char *mcp = NULL, *openai = NULL;
    granted(policy, (struct ask){.tool = "t", .arguments = "{\"b\":null}"}, &grant);
    refused(policy, (struct ask){.tool = "t", .arguments = "{}"}, TOOLCAGE_EARGUMENTS, "arguments",
            3, "the call lacks the member a");
    refused(policy, (struct ask){.tool = "t", .arguments = "{\"a\":null,\"b\":null}"},
            TOOLCAGE_EARGUMENTS, "arguments", 3, "more than one");
    assert_int_equal(tc_policy_tools_json(policy, "mcp", &mcp, NULL), 0);
    assert_non_null(
        strstr(mcp, "\"additionalProperties\":false,\"oneOf\":[{\"required\":[\"a\"]}"));
    assert_int_equal(tc_policy_tools_json(policy, "openai", &openai, NULL), 0);
    assert_null(strstr(openai, "oneOf"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_fit_or_not),
        cmocka_unit_test(null_is_no_value),
        cmocka_unit_test(no_part_opens_a_bound),
        cmocka_unit_test(arguments_fit_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
