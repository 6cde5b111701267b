/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What a word without quotes means: that of the core schema, or an error. Where TOML reads the same
 * word, it reads the same value. */
#include "test.h"

static const struct {
    const char *word, *meaning; /* canonical JSON; NULL: refused */
} words[] = {
    {"a", "\"a\""},
    {"no", "\"no\""},
    {"yes", "\"yes\""},
    {"on", "\"on\""},
    {"off", "\"off\""},
    {"y", "\"y\""},
    {"true", "true"},
    {"True", "true"},
    {"TRUE", "true"},
    {"false", "false"},
    {"tRue", "\"tRue\""},
    {"0", "0"},
    {"-0", "0"},
    {"12", "12"},
    {"+12", "12"},
    {"-12", "-12"},
    {"9223372036854775807", "9223372036854775807"},
    {"-9223372036854775808", "-9223372036854775808"},
    {"9223372036854775808", NULL},
    {"99999999999999999999999999999999999999999999999999999999999999999999999", NULL},
    {"0o17", "15"},
    {"0x1F", "31"},
    {"0xdeadBEEF", "3735928559"},
    {"0o18", "\"0o18\""},
    {"0xg", "\"0xg\""},
    {"0x", "\"0x\""},
    {"1.5", "1.5"},
    {"-1.5e3", "-1500"},
    {".5", "0.5"},
    {"1.", "1"},
    {"1e400", NULL},
    {"512MB", "\"512MB\""},
    {"30s", "\"30s\""},
    {"1.2.3.4", "\"1.2.3.4\""},
    {"10.0.0.0/8", "\"10.0.0.0/8\""},
    {"127.0.0.1:80", "\"127.0.0.1:80\""},
    {"example.com:443", "\"example.com:443\""},
    {"1a_b", "\"1a_b\""},
    {"a_1", "\"a_1\""},
    {"-", NULL},
    {"--flag", "\"--flag\""},
    {"/a/b", "\"/a/b\""},
    {"a b", "\"a b\""},
    {"=", "\"=\""},
    {"2001-01-01x", "\"2001-01-01x\""},
    {"12-01-01", "\"12-01-01\""},
    {"inf", "\"inf\""},
    {"nan", "\"nan\""},
    /* one thing here, another elsewhere */
    {"1_000", NULL},
    {"-1_0", NULL},
    {"0x_ff", NULL},
    {"0xdead_beef", NULL},
    {"1_0.5", NULL},
    {"0b101", NULL},
    {"-0x1F", NULL},
    {"+0o7", NULL},
    {"010", NULL},
    {"-010", NULL},
    {"00", NULL},
    {"01.5", NULL},
    {"2001-01-01", NULL},
    {"1979-05-27T07:32:00Z", NULL},
    {"1979-05-27 07:32:00", NULL},
    {"07:32:00", NULL},
    {"07:32:00.5", NULL},
    {"1:30", NULL},
    {"22:22", NULL},
    /* nothing */
    {"~", NULL},
    {"null", NULL},
    {"Null", NULL},
    {"NULL", NULL},
    {"", NULL},
    {"nUll", "\"nUll\""},
};

static void plain_scalars_have_their_type(void **state)
{
    for (size_t i = 0; i < TC_COUNT(words); i++) {
        _autofree_ char *text = tc_format("k: %s\n", words[i].word),
                        *got = canonical(tc_yaml_read, text, strlen(text)),
                        *want = words[i].meaning ? tc_format("{\"k\":%s}", words[i].meaning) : NULL;
        if (want ? !tc_streq(got, want) : got[0] == '{')
            fail_msg("%s means %s", words[i].word, got);
    }
}

/* Where both read a word without quotes, they agree; quoted, it is the same text in both. */
static void toml_agrees(void **state)
{
    size_t both = 0;
    for (size_t i = 0; i < TC_COUNT(words); i++) {
        _autofree_ char *as_toml = tc_format("k = %s\n", words[i].word),
                        *as_yaml = tc_format("k: %s\n", words[i].word),
                        *toml = canonical(tc_document_read_toml, as_toml, strlen(as_toml)),
                        *yaml = canonical(tc_yaml_read, as_yaml, strlen(as_yaml));
        if (toml[0] == '{' && yaml[0] == '{' && strcmp(words[i].word, "inf") != 0 &&
            strcmp(words[i].word, "nan") != 0) {
            both++;
            if (!tc_streq(toml, yaml))
                fail_msg("%s: TOML %s, YAML %s", words[i].word, toml, yaml);
        }
        _autofree_ char *quoted_toml = tc_format("k = \"%s\"\n", words[i].word),
                        *quoted_yaml = tc_format("k: \"%s\"\n", words[i].word),
                        *one = canonical(tc_document_read_toml, quoted_toml, strlen(quoted_toml)),
                        *other = canonical(tc_yaml_read, quoted_yaml, strlen(quoted_yaml));
        assert_string_equal(one, other);
    }
    assert_true(both >= 12);
}

static void infinite_numbers_equal_toml(void **state)
{
    static const char *const pairs[][2] = {
        {"k = inf", "k: .inf"}, {"k = -inf", "k: -.INF"}, {"k = nan", "k: .NaN"}};
    for (size_t i = 0; i < TC_COUNT(pairs); i++) {
        _autofree_ char *one = canonical(tc_document_read_toml, pairs[i][0], strlen(pairs[i][0])),
                        *other = canonical(tc_yaml_read, pairs[i][1], strlen(pairs[i][1]));
        assert_string_equal(one, other);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(plain_scalars_have_their_type),
                                       cmocka_unit_test(toml_agrees),
                                       cmocka_unit_test(infinite_numbers_equal_toml)};
    return cmocka_run_group_tests_name("yaml plain", tests, NULL, NULL);
}
