/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The tests of a policy: verdicts with their reasons, calls with arguments, other files, and what
 * of the policy they cover. */
#include "test.h"

#include <jansson.h>

#include "policy/explain/run_cases.h"

#define POLICY                                                               \
    "[defaults]\nfilesystem.denied = [\"/data/no\"]\n"                       \
    "[tool.x]\ncommand = [\"x\", \"{p}\"]\n"                                 \
    "arguments.p = { read = [\"/in\"] }\n"                                   \
    "arguments.n = { type = \"integer\", maximum = 9, optional = true }\n"   \
    "filesystem = { readable = [\"/data\"], writable = [\"/workspace\"] }\n" \
    "network = [\"a.example\"]\n"                                            \
    "setup = { command = [\"i\"], into = \"/opt/x\" }\n"

static json_t *run(const char *text, const char *apart)
{
    _autopolicy_ struct toolcage_policy *policy = compile(text);
    _autoerror_ struct toolcage_error *err = NULL;
    _autofree_ char *out = NULL;
    size_t length = apart ? strlen(apart) : 0;
    const char *name = "apart.toml";
    const struct tc_test_texts tests = {apart != NULL, &apart, &length, &name};
    if (tc_policy_test(policy, &tests, &test_facts, &out, &err))
        print_error("%s", tc_error_report(err));
    assert_null(err);
    json_t *all = json_loads(out, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(all);
    return all;
}

static int64_t number(const json_t *all, const char *a, const char *b)
{
    return json_integer_value(json_object_get(json_object_get(all, a), b));
}

/* A test's body, and how many points pass and fail. */
static const struct {
    const char *body;
    int passed, failed;
    const char *words; /* in the reason of the last point; NULL: any */
} rows[] = {
    {"allowed = [\"read /data/x\", \"write /workspace/y\", \"connect a.example:443\"]\n", 3, 0,
     NULL},
    {"allowed = [\"read /opt/x/f\"]\ndenied = [\"write /opt/x/f\", \"read /opt/y\"]\n", 3, 0, NULL},
    {"denied = [\"read /data/no/x\", \"read ~/.ssh/id\", \"write /data/x\"]\n", 3, 0, NULL},
    {"allowed = [\"read /data/no/x\"]\n", 0, 1, "denied by name"},
    {"denied = [\"read /data/x\"]\n", 0, 1, "granted with /data"},
    {"call = \"allowed\"\narguments = { p = \"/in/x\" }\n", 1, 0, NULL},
    {"call = \"denied\"\narguments = { p = \"/in/../etc\" }\n", 1, 0, "holds"},
    {"call = \"denied\"\narguments = { p = \"/in/x\" }\n", 0, 1, "the policy grants the call"},
    {"call = \"allowed\"\narguments = { p = \"/etc/x\" }\n", 0, 1, "outside the bounds"},
    {"call = \"allowed\"\narguments = { p = \"/in/x\", n = 10 }\n", 0, 1, NULL},
    {"call = \"denied\"\narguments = { p = \"/in/x\", n = 1.5 }\n", 1, 0, NULL},
    {"call = \"denied\"\n", 1, 0, NULL}, /* p is missing */
    /* without arguments, an access that one of them may grant is allowed */
    {"allowed = [\"read /in/x\", \"read /in\"]\n", 2, 0, "if the model's arguments name it"},
    {"denied = [\"write /in/x\", \"read /inn/x\"]\n", 2, 0, NULL},
    {"denied = [\"read /in/x\"]\n", 0, 1, "if the model's arguments name it"},
    {"denied = [\"read /in/x\"]\narguments = { p = \"/in/y\" }\n", 1, 0, NULL},
    {"arguments = { p = \"/in/x\" }\nallowed = [\"read /in/x\"]\ndenied = [\"read /in/y\"]\n", 2, 0,
     NULL},
    /* wrong arguments do not make a denied access pass */
    {"arguments = { p = \"/etc/x\" }\ndenied = [\"read /etc/x\"]\n", 0, 1, "outside the bounds"},
    {"arguments = { p = \"/etc/x\" }\ncall = \"denied\"\ndenied = [\"read /in/x\"]\n", 2, 0, NULL},
    {"allowed = [\"connect https://a.example/\"]\n", 0, 1, "is a URL"},
    {"denied = [\"connect https://a.example/\"]\n", 0, 1, "is a URL"},
};

static void test_points_pass_or_fail_with_a_reason(void **state)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        _autofree_ char *text = NULL;
        assert_true(asprintf(&text, POLICY "[[test]]\ntool = \"x\"\n%s", rows[i].body) > 0);
        json_t *all = run(text, NULL);
        const json_t *test = json_array_get(json_object_get(all, "tests"), 0);
        const json_t *points = json_object_get(test, "points");
        const json_t *last = json_array_get(points, json_array_size(points) - 1);
        const char *reason = json_string_value(json_object_get(last, "reason"));
        if (number(all, "counts", "passed") != rows[i].passed ||
            number(all, "counts", "failed") != rows[i].failed)
            print_error("%s: %s\n", rows[i].body, reason);
        assert_int_equal(number(all, "counts", "passed"), rows[i].passed);
        assert_int_equal(number(all, "counts", "failed"), rows[i].failed);
        assert_true(!rows[i].words || strstr(reason, rows[i].words));
        assert_true(json_integer_value(json_object_get(last, "line")) > 9);
        json_decref(all);
    }
}

static void a_failure_names_key_and_line(void **state)
{
    json_t *all = run(POLICY "[[test]]\ntool = \"x\"\ndenied = [\"read /data/x\"]\n", NULL);
    const json_t *test = json_array_get(json_object_get(all, "tests"), 0);
    const json_t *point = json_array_get(json_object_get(test, "points"), 0);
    assert_string_equal(json_string_value(json_object_get(point, "key")),
                        "tool.x.filesystem.readable");
    assert_int_equal(json_integer_value(json_object_get(point, "key_line")), 7);
    assert_int_equal(json_integer_value(json_object_get(point, "line")), 12);
    json_decref(all);
}

static void coverage_counts_entries_and_bounds(void **state)
{
    json_t *all = run(POLICY, NULL);
    assert_int_equal(number(all, "coverage", "total"), 5);
    assert_int_equal(number(all, "coverage", "covered"), 0);
    json_decref(all);
    all = run(POLICY "[[test]]\ntool = \"x\"\narguments = { p = \"/in/x\" }\n"
                     "allowed = [\"read /data/x\"]\ndenied = [\"read /data/no\"]\n",
              "[[test]]\ntool = \"x\"\nallowed = [\"connect a.example\"]\n");
    assert_int_equal(number(all, "coverage", "covered"), 4);
    const json_t *missing = json_object_get(json_object_get(all, "coverage"), "missing");
    assert_string_equal(json_string_value(json_object_get(json_array_get(missing, 0), "what")),
                        "/workspace");
    json_decref(all);
    /* what failed covers nothing */
    all = run(POLICY "[[test]]\ntool = \"x\"\ndenied = [\"read /data/x\"]\n", NULL);
    assert_int_equal(number(all, "coverage", "covered"), 0);
    json_decref(all);
}

static void a_file_of_tests_holds_nothing_else(void **state)
{
    static const char *const bad[] = {"[[test]]\ntool = \"y\"\n", "[[test]]\n",
                                      "[[test]]\ntool = \"x\"\nallowed = [\"fly /x\"]\n",
                                      "[[test]]\ntool = \"x\"\ncall = \"maybe\"\n"};
    _autopolicy_ struct toolcage_policy *policy = compile(POLICY);
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        _autoerror_ struct toolcage_error *err = NULL;
        size_t length = strlen(bad[i]);
        const char *name = "apart.toml";
        char *out = NULL;
        const struct tc_test_texts tests = {1, &bad[i], &length, &name};
        assert_int_equal(tc_policy_test(policy, &tests, &test_facts, &out, &err), TOOLCAGE_EPOLICY);
        assert_non_null(strstr(tc_error_report(err), "apart.toml:"));
        assert_null(out);
    }
}

static void a_policy_is_no_file_of_tests(void **state)
{
    static const char *const policies[] = {"[tool.y]\n", "extends = \"x.toml\"\n",
                                           "[[test]]\ntool = \"x\"\n[defaults]\npids = 3\n"};
    _autopolicy_ struct toolcage_policy *policy = compile(POLICY);
    for (size_t i = 0; i < sizeof(policies) / sizeof(*policies); i++) {
        _autoerror_ struct toolcage_error *err = NULL;
        size_t length = strlen(policies[i]);
        const char *name = "apart.toml";
        char *out = NULL;
        const struct tc_test_texts tests = {1, &policies[i], &length, &name};
        assert_int_equal(tc_policy_test(policy, &tests, &test_facts, &out, &err), TOOLCAGE_EUSAGE);
        assert_non_null(strstr(tc_error_message(err), "apart.toml is a policy"));
        assert_non_null(strstr(tc_error_hint(err), "--policy"));
        assert_null(out);
    }
}

/* Where they run, and what is set there, is no matter. */
static void answers_are_the_same_everywhere(void **state)
{
    static const char text[] = "[tool.x]\nenv.pass = [\"HOME\", \"SECRET\"]\n"
                               "filesystem.readable = [\"/workspace\", \"data\"]\n"
                               "[[test]]\ntool = \"x\"\nallowed = [\"read /workspace/a\", "
                               "\"read /srv/p/data/b\"]\n";
    _autopolicy_ struct toolcage_policy *policy = compile(text);
    const struct tc_facts other = {.cwd = "/home/me", .home = "/else"};
    _autofree_ char *a = NULL, *b = NULL;
    const struct tc_test_texts none = {0};
    assert_int_equal(tc_policy_test(policy, &none, &test_facts, &a, NULL), 0);
    assert_int_equal(tc_policy_test(policy, &none, &other, &b, NULL), 0);
    assert_string_equal(a, b);
    assert_non_null(strstr(a, "\"passed\":2,\"failed\":0"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_points_pass_or_fail_with_a_reason),
        cmocka_unit_test(a_failure_names_key_and_line),
        cmocka_unit_test(coverage_counts_entries_and_bounds),
        cmocka_unit_test(a_file_of_tests_holds_nothing_else),
        cmocka_unit_test(a_policy_is_no_file_of_tests),
        cmocka_unit_test(answers_are_the_same_everywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
