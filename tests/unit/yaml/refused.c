/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What YAML has and a policy has not: each with its place. */
#include "test.h"

#include <unistd.h>

static const struct {
    const char *text, *finding;
    size_t len; /* 0: strlen */
} cases[] = {
    {"a: 1\nb: 2\na: 3\n", "3:1: duplicate key \"a\", first in line 1", 0},
    {"a: 1\n\"a\": 3\n", "2:1: duplicate key \"a\"", 0},
    {"t: {b: 1, c: 2, b: 1}\n", "1:17: duplicate key \"b\"", 0},
    {"a: &x 1\n", "1:4: anchors and aliases", 0},
    {"a: *x\n", "1:4: anchors and aliases", 0},
    {"&x a: 1\n", "1:1: anchors and aliases", 0},
    {"*x : 1\n", "1:1: anchors and aliases", 0},
    {"a: &x [1]\n", "1:4: anchors and aliases", 0},
    {"a: &x {b: 1}\n", "1:4: anchors and aliases", 0},
    {"&x\na: 1\n", "1:1: anchors and aliases", 0},
    {"a: &a [x]\nb: &b [*a,*a]\nc: &c [*b,*b]\n", "1:4: anchors and aliases", 0},
    {"a: !!str x\n", "1:4: tags are not allowed", 0},
    {"a: ! x\n", "1:4: tags are not allowed", 0},
    {"a: !!binary aGk=\n", "1:4: tags are not allowed", 0},
    {"a: !!python/object/apply:os.system [x]\n", "1:4: tags are not allowed", 0},
    {"a: !x {b: 1}\n", "1:4: tags are not allowed", 0},
    {"a: !<tag:yaml.org,2002:str> x\n", "1:4: tags are not allowed", 0},
    {"!x a: 1\n", "1:1: tags are not allowed", 0},
    {"%TAG ! tag:x,2000:\n---\na: 1\n", "1:1: directives are not allowed", 0},
    {"%YAML 1.1\n---\na: 1\n", "1:1: directives are not allowed", 0},
    {"# x\n%YAML 1.2\n---\na: 1\n", "2:1: directives are not allowed", 0},
    {"a: 1\n---\nb: 2\n", "2:1: a second document", 0},
    {"--- {a: 1}\n--- {}\n", "2:1: a second document", 0},
    {"a: 1\n...\n---\nb: 2\n", "3:1: a second document", 0},
    {"t:\n  <<: {a: 1}\n", "2:3: merge keys are not allowed", 0},
    {"1: x\n", "1:1: a key must be a string", 0},
    {"1.5: x\n", "1:1: a key must be a string", 0},
    {"true: x\n", "1:1: a key must be a string", 0},
    {"~: x\n", "1:1: a key must be a string", 0},
    {": x\n", "1:1: syntax error: ", 0},
    {"2001-01-01: x\n", "1:1: a key must be a string", 0},
    {"? [a]\n: x\n", "1:3: a key must be a single string", 0},
    {"{a: b}: x\n", "1:1: a key must be a single string", 0},
    {"? {a: b}\n: x\n", "1:3: a key must be a single string", 0},
    {"a:\n", "1:1: there is no value here", 0},
    {"t:\n  b:\n  c: 1\n", "2:3: there is no value here", 0},
    {"a: [1, ~]\n", "1:8: there is no value here", 0},
    {"null\n", "1:1: there is no value here", 0},
    {"- a\n", "1:1: a policy is a table of keys", 0},
    {"a\n", "1:1: a policy is a table of keys", 0},
    {"a: \0\n", "1:4: the file contains a NUL", 5},
    {"a: \"x\\0\"\n", "1:4: the file contains a NUL", 0},
    {"a: b\nc: \"x\xff\"\n", "2:6: the file contains a NUL byte or is not UTF-8", 0},
    {"a: \xc3\n", "1:4: the file contains a NUL byte or is not UTF-8", 0},
    {"a: \xed\xa0\x80\n", "1:4: the file contains a NUL byte or is not UTF-8", 0},
    {"\xff\xfe"
     "a\0",
     "1:1: the file contains a NUL byte or is not UTF-8", 4},
    {"a: \"\\ud800\"\n", "1:4: syntax error: ", 0},
    {"t:\n\ta: {}\n", "2:1: syntax error: tab character", 0},
    {"t:\n  a:\n  \tb: 3\n", "3:3: syntax error: tab character", 0},
    {"a: [1\n", "2:1: syntax error: did not find expected ',' or ']'", 0},
    {"a: {b: 1\n", "2:1: syntax error: ", 0},
    {"a:\n  b: {}\n c: {}\n", "3:2: syntax error: ", 0},
    {"a: \"b\n", "1:4: syntax error: found unexpected end of stream", 0},
    {"a: 'b\n", "1:4: syntax error: found unexpected end of stream", 0},
    {"a: b: c\n", "1:5: syntax error: ", 0},
    {"a: @b\n", "1:4: syntax error: ", 0},
    {"a: `b\n", "1:4: syntax error: ", 0},
    {"\xc3\xa4: 1\n\xc3\xa4\xc3\xa4: {\xc3\xb6: *x}\n", "2:12: anchors and aliases", 0},
    {"|0\n a: b\n", "1:1: syntax error", 0},
    {"a: x\xc2\x85y\n", "1:5: a character that YAML 1.1 and 1.2 read differently", 0},
    {"a: 'x\xe2\x80\xa8'\n", "1:6: a character that YAML 1.1 and 1.2 read differently", 0},
    {"a: b\n\xef\xbb\xbf#\n", "2:1: a character that YAML 1.1 and 1.2 read differently", 0},
    {"a: [?b: c]\n", "1:6: a key that YAML 1.1 and 1.2 read differently", 0},
    {"a: b\x7f\n", "1:5: syntax error: control characters", 0},
    {"a: 1_000\n", "1:4: a number with underscores", 0},
    {"a: 010\n", "1:4: a number with a leading zero", 0},
    {"a: 0b1\n", "1:4: a number that YAML 1.2 reads as a string", 0},
    {"a: 2001-01-01\n", "1:4: a date or a time", 0},
};

static void refused_texts_name_the_reason(void **state)
{
    for (size_t i = 0; i < TC_COUNT(cases); i++) {
        _autofree_ char *got = canonical(tc_yaml_read, cases[i].text,
                                         cases[i].len ? cases[i].len : strlen(cases[i].text));
        if (!tc_startswith(got, cases[i].finding))
            fail_msg("%s\n  wanted %s\n  got    %s", cases[i].text, cases[i].finding, got);
    }
}

/* Strings of YAML whose meaning readers often miss. */
static void multiline_strings_are_read(void **state)
{
    static const char *const rows[][2] = {
        {"a: 'b\n  ''''c'\n", "{\"a\":\"b ''c\"}"},
        {"t:\n  a: >-\n  b: x\n", "{\"t\":{\"a\":\"\",\"b\":\"x\"}}"},
        {"t:\n- a: |\n  b: x\n", "{\"t\":[{\"a\":\"\",\"b\":\"x\"}]}"},
        {"t:\n  a: |\n\n  \"b\": x\n", "{\"t\":{\"a\":\"\",\"b\":\"x\"}}"},
        {"a: \"x\\\n\n  y\"\n", "{\"a\":\"x\\ny\"}"},
        {"a: |2-\n   \n", "{\"a\":\" \"}"},
        {"a: >-2 # x\n   b\n", "{\"a\":\" b\"}"},
        {"a: |\n  x", "{\"a\":\"x\\n\"}"},
    };
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        _autofree_ char *got = canonical(tc_yaml_read, rows[i][0], strlen(rows[i][0]));
        assert_string_equal(got, rows[i][1]);
    }
}

/* Quoted, the same words are texts. */
static void quoted_scalars_are_strings(void **state)
{
    static const char text[] =
        "{\"<<\": '*x', \"1\": '&x', 'true': \"!!str\", '~': '%TAG', \"null\": '2001-01-01'}";
    _autofree_ char *got = canonical(tc_yaml_read, text, strlen(text));
    assert_string_equal(
        got,
        "{\"1\":\"&x\",\"<<\":\"*x\",\"null\":\"2001-01-01\",\"true\":\"!!str\",\"~\":\"%TAG\"}");
}

/* The library has a voice of its own; the host's descriptors are not its to use. */
static void library_prints_nothing(void **state)
{
    char name[] = "/tmp/toolcage-yaml-XXXXXX";
    int file = mkstemp(name), saved[2] = {dup(1), dup(2)};
    assert_true(file >= 0 && saved[0] >= 0 && saved[1] >= 0);
    (void)fflush(NULL);
    assert_true(dup2(file, 1) >= 0 && dup2(file, 2) >= 0);
    for (size_t i = 0; i < TC_COUNT(cases); i++) {
        _auto_(tc_document_done) struct tc_document document = {0};
        (void)tc_yaml_read(&document, cases[i].text, strlen(cases[i].text));
    }
    (void)fflush(NULL);
    assert_true(dup2(saved[0], 1) >= 0 && dup2(saved[1], 2) >= 0);
    off_t said = lseek(file, 0, SEEK_END);
    (void)close(saved[0]);
    (void)close(saved[1]);
    (void)close(file);
    (void)unlink(name);
    assert_int_equal(said, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(refused_texts_name_the_reason),
                                       cmocka_unit_test(multiline_strings_are_read),
                                       cmocka_unit_test(quoted_scalars_are_strings),
                                       cmocka_unit_test(library_prints_nothing)};
    return cmocka_run_group_tests_name("yaml refused", tests, NULL, NULL);
}
