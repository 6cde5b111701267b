/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Patterns of arguments: what ECMA-262 says of a text, what is not read, and what a hostile text
 * costs. */
#include <stdlib.h>
#include <time.h>

#include "schema/pattern.h"
#include "test.h"

enum { STEPS = 8 << 20 };

static enum tc_pattern_verdict verdict(const char *pattern, const char *text, size_t len)
{
    struct tc_pattern *made = NULL;
    struct tc_complaint c = {0};
    uint64_t budget = STEPS;
    int rc = tc_pattern_new(pattern, &made, &c);
    if (rc)
        print_error("%s: %s\n", pattern, c.what);
    assert_int_equal(rc, 0);
    enum tc_pattern_verdict found = tc_pattern_match(made, text, len, &budget);
    tc_pattern_free(made);
    return found;
}

static void patterns_match_as_ecmascript(void **state)
{
    static const struct {
        const char *pattern, *text;
        bool fits;
    } rows[] = {
        {"", "", true},
        {"b", "abc", true},
        {"^b", "abc", false},
        {"^b", "a\nb", false},
        {"c$", "abc", true},
        {"c$", "abc\n", false},
        {"^$", "\n", false},
        {"^[a-z]+$", "abc", true},
        {"^[a-z]+$", "aBc", false},
        {"^(?:ab|cd){2,3}$", "abcdab", true},
        {"^(ab|cd){2,3}$", "ab", false},
        {"^a{2}$", "aa", true},
        {"^a{2,}$", "a", false},
        {"^a*?b+?$", "aab", true},
        {"^(?!.*\\.\\.).*$", "a/../b", false},
        {"^(?!.*\\.\\.).*$", "a/b", true},
        {"^(?=a).b", "ab", true},
        {"^\\d$", "7", true},
        {"^\\d$", "\xd9\xa3", false}, /* a digit of another script */
        {"^\\w$", "\xc3\xa9", false},
        {"^\\W$", "\xc3\xa9", true},
        {"^\\w+$", "aZ_9", true},
        {"^\\s$", "\xc2\xa0", true},
        {"^\\s$", "\xef\xbb\xbf", true},
        {"^\\s$", "\xe2\x80\xa8", true},
        {"^\\s$", "\xc2\x85", false},
        {"^\\s$", "\x1c", false},
        {"^\\S$", "\xc2\x85", true},
        {"^[\\S]$", " ", false},
        {"^[^\\s]$", " ", false},
        {"^[\\D]$", "x", true},
        {"^.$", "\n", false},
        {"^.$", "\r", false},
        {"^.$", "\xe2\x80\xa9", false},
        {"^.$", "\x0b", true},
        {"^.$", "\xf0\x9d\x84\x9e", true},
        {"^\\uD834\\uDD1E$", "\xf0\x9d\x84\x9e", true},
        {"^\\u{1d11e}$", "\xf0\x9d\x84\x9e", true},
        {"^[\\x41-\\x43]$", "B", true},
        {"^[a\\-z]$", "-", true},
        {"^[a-]$", "-", true},
        {"^[-a]$", "-", true},
        {"^[[]$", "[", true},
        {"^[.*+]$", "*", true},
        {"^[.*+]$", "a", false},
        {"^[\\b]$", "\b", true},
        {"\\bfoo\\b", "a foo b", true},
        {"\\bfoo\\b", "a food", false},
        {"^#-~ %&_,;:!\"'<>=@`$", "#-~ %&_,;:!\"'<>=@`", true},
        {"^a|b$", "xb", true},
        {"\xc3\xa4", "x\xc3\xa4y", true},
    };
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        enum tc_pattern_verdict found =
            verdict(rows[i].pattern, rows[i].text, strlen(rows[i].text));
        if (found != (rows[i].fits ? TC_PATTERN_FITS : TC_PATTERN_DIFFERS))
            print_error("%s of %s: %d\n", rows[i].pattern, rows[i].text, found);
        assert_int_equal(found, rows[i].fits ? TC_PATTERN_FITS : TC_PATTERN_DIFFERS);
    }
}

static void unsupported_constructs_are_named(void **state)
{
    static const char *const rows[][2] = {{"(*UTF)a", "(*"},
                                          {"a(*COMMIT)", "(*"},
                                          {"(?i)a", "(?i"},
                                          {"(?<n>a)", "(?<"},
                                          {"(?<=a)b", "(?<"},
                                          {"(?<!a)b", "(?<"},
                                          {"(?P<n>a)", "(?P"},
                                          {"(?>a)", "(?>"},
                                          {"(?#x)a", "(?#"},
                                          {"(?R)", "(?R"},
                                          {"(?|a)", "(?|"},
                                          {"a++", "\"+\""},
                                          {"a*+", "\"+\""},
                                          {"a{2}+", "\"+\""},
                                          {"a??\?", "\"?\""},
                                          {"\\Qa\\E", "\\Q"},
                                          {"\\Ga", "\\G"},
                                          {"a\\Kb", "\\K"},
                                          {"\\Aa", "\\A"},
                                          {"a\\Z", "\\Z"},
                                          {"a\\z", "\\z"},
                                          {"\\h", "\\h"},
                                          {"\\R", "\\R"},
                                          {"\\X", "\\X"},
                                          {"\\C", "\\C"},
                                          {"\\N", "\\N"},
                                          {"\\p{L}", "\\p"},
                                          {"(a)\\1", "\\1"},
                                          {"\\k<n>", "\\k"},
                                          {"\\07", "\\0"},
                                          {"\\x{41}", "\\x"},
                                          {"\\x4", "\\x"},
                                          {"\\uD834", "\\u"},
                                          {"\\u{110000}", "\\u"},
                                          {"\\cA", "\\c"},
                                          {"\\e", "\\e"},
                                          {"\\a", "\\a"},
                                          {"\\-", "\\-"},
                                          {"\\", "\\"},
                                          {"[[:alpha:]]", "[:"},
                                          {"[a", "does not end"},
                                          {"[]", "[]"},
                                          {"[^]", "[^]"},
                                          {"[z-a]", "ends before"},
                                          {"[\\d-z]", "-z"},
                                          {"[a-\\d]", "\\d"},
                                          {"a]", "]"},
                                          {"a}", "}"},
                                          {"a{", "{"},
                                          {"a{,2}", "{,2}"},
                                          {"a{3,2}", "{3,2"},
                                          {"a{99999}", "{999"},
                                          {"*a", "*"},
                                          {"^*", "*"},
                                          {"(?=a)*", "*"},
                                          {"\\b+", "+"},
                                          {"|?", "?"},
                                          {"(a", "does not end"},
                                          {"a)", "without ("},
                                          {"(?:(?:(?:a{999}){999}){999}){9}", "too large"}};
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        struct tc_pattern *made = NULL;
        struct tc_complaint c = {0};
        int rc = tc_pattern_new(rows[i][0], &made, &c);
        if (rc != TOOLCAGE_EPOLICY || !strstr(c.what, rows[i][1]) || !c.hint[0])
            print_error("%s: %d %s; %s\n", rows[i][0], rc, c.what, c.hint);
        assert_int_equal(rc, TOOLCAGE_EPOLICY);
        assert_non_null(strstr(c.what, rows[i][1]));
        assert_true(c.hint[0]);
    }
}

static void has_bounds(void **state)
{
    char text[TC_PATTERN_BYTES_MAX + 2];
    struct tc_pattern *made = NULL;
    struct tc_complaint c = {0};
    memset(text, 'a', sizeof(text));
    text[TC_PATTERN_BYTES_MAX + 1] = '\0';
    assert_int_equal(tc_pattern_new(text, &made, &c), TOOLCAGE_EPOLICY);
    text[TC_PATTERN_BYTES_MAX] = '\0';
    assert_int_equal(tc_pattern_new(text, &made, &c), 0);
    tc_pattern_free(made);
    made = NULL;
    memset(text, '(', 33);
    text[33] = '\0';
    assert_int_equal(tc_pattern_new(text, &made, &c), TOOLCAGE_EPOLICY);
    assert_non_null(strstr(c.what, "deeper than 32"));
    assert_int_equal(verdict("a",
                             "\xff"
                             "a",
                             2),
                     TC_PATTERN_DIFFERS);
    assert_int_equal(verdict("a", "\xc3", 1), TC_PATTERN_DIFFERS);
}

static double seconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* A text of `unit` again and again. */
static enum tc_pattern_verdict long_verdict(const char *pattern, const char *unit, size_t len,
                                            double *ret)
{
    char *text = malloc(len + 1);
    assert_non_null(text);
    for (size_t i = 0; i < len; i++)
        text[i] = unit[i % strlen(unit)];
    text[len] = '\0';
    double start = seconds();
    enum tc_pattern_verdict found = verdict(pattern, text, len);
    *ret = seconds() - start;
    free(text);
    return found;
}

static void ends_soon(void **state)
{
    static const struct {
        const char *pattern, *unit;
    } rows[] = {{"^(a+)+$", "a"},
                {"^(a+)+b", "a"},
                {"(a|aa)+b", "a"},
                {"(a*)*b", "a"},
                {"\\s+$", " "},
                {"a*a*a*a*a*b", "a"},
                {"^(.*a){12}b", "a"},
                {"(.*)(.*)(.*)x", "y"},
                {"(x+x+)+y", "x"},
                {"^(?:(?=.*$).)*!", "ab"},
                {"^(([a-z])+.)+[A-Z]([a-z])+$", "a"},
                {"(?:a?){30}a{30}!", "a"},
                {"[a-z]{30000}!", "a"}};
    static const size_t lengths[] = {30, 1000, 60000, 128 << 10};
    const double most = getenv("TC_TEST_EMULATED") ? 500 : 5; /* of processor time */
    for (size_t i = 0; i < TC_COUNT(rows); i++)
        for (size_t l = 0; l < TC_COUNT(lengths); l++) {
            double took = 0;
            enum tc_pattern_verdict found =
                long_verdict(rows[i].pattern, rows[i].unit, lengths[l], &took);
            bool fits = i == 0 && lengths[l] <= TC_PATTERN_SUBJECT_MAX;
            fits |= rows[i].unit[0] == ' ' && lengths[l] <= TC_PATTERN_SUBJECT_MAX;
            if (took > most || (found == TC_PATTERN_FITS && !fits))
                print_error("%s of %zu: %d, %.1f s\n", rows[i].pattern, lengths[l], found, took);
            assert_true(took < most);
            assert_true(found != TC_PATTERN_MEMORY);
            if (lengths[l] > TC_PATTERN_SUBJECT_MAX)
                assert_int_equal(found, TC_PATTERN_COSTLY);
        }
}

static void refuses_by_the_policy(void **state)
{
    _autopolicy_ struct toolcage_policy *policy =
        compile("[tool.t]\ncommand = [\"t\", \"--\", \"{*}\"]\n"
                "arguments.a = { pattern = \"^[a-z]+$\", optional = true }\n"
                "arguments.b = { type = \"array\", items = { pattern = \"^(x+x+)+y$\" }, "
                "optional = true }\n");
    _autogrant_ struct tc_grant grant = {0};
    granted(policy, (struct ask){.tool = "t", .arguments = "{\"a\":\"abc\",\"b\":[\"xxy\"]}"},
            &grant);
    static const char *const rows[][3] = {
        {"{\"a\":\"a\\nb\"}", "a does not match the pattern ^[a-z]+$: got \"a\\nb\"", "fits"},
        {"{\"a\":\"abc\\n\"}", "a does not match", "fits"},
        {"{\"b\":[\"xxy\",\"y\"]}", "b[1] does not match", "fits"},
        {"{\"b\":[\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"]}", "b[0] takes too long",
         "shorter"}};
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        struct tc_grant none = {0};
        _autoerror_ struct toolcage_error *err = NULL;
        const struct ask ask = {.tool = "t", .arguments = rows[i][0]};
        assert_int_equal(resolve(policy, &ask, &none, &err), TOOLCAGE_EARGUMENTS);
        if (!strstr(tc_error_message(err), rows[i][1]))
            print_error("%s\n", tc_error_message(err));
        assert_non_null(strstr(tc_error_message(err), rows[i][1]));
        assert_non_null(strstr(tc_error_hint(err), rows[i][2]));
        tc_grant_done(&none);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(patterns_match_as_ecmascript),
                                       cmocka_unit_test(unsupported_constructs_are_named),
                                       cmocka_unit_test(has_bounds), cmocka_unit_test(ends_soon),
                                       cmocka_unit_test(refuses_by_the_policy)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
