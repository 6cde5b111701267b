/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "capture.h"
#include "cli/cli.h"
#include "cli/show/foreign_options.h"
#include "cli/show/opts.h"

static int count(char **argv)
{
    int argc = 0;
    while (argv[argc])
        argc++;
    return argc;
}

static int parse(const struct tc_verb *verb, char **argv, struct tc_args *args)
{
    return tc_args_parse(verb, count(argv), argv, args);
}

static void the_first_word_starts_the_command(void **state)
{
    char *argv[] = {(char *)"-m", (char *)"1GiB",   (char *)"--timeout=5s",
                    (char *)"-e", (char *)"A=b",    (char *)"ls",
                    (char *)"-m", (char *)"--json", NULL};
    struct tc_args args;
    assert_int_equal(parse(&tc_verb_exec, argv, &args), 0);
    assert_string_equal(tc_args_value(&args, "memory"), "1GiB");
    assert_string_equal(tc_args_value(&args, "timeout"), "5s");
    assert_string_equal(tc_args_value(&args, "env"), "A=b");
    assert_false(tc_args_has(&args, "json"));
    assert_int_equal(args.operand_count, 3);
    assert_string_equal(args.operands[0], "ls");
    assert_string_equal(args.operands[2], "--json");
    assert_null(args.operands[3]);
    tc_args_done(&args);
}

static void two_dashes_end_the_options(void **state)
{
    char *argv[] = {(char *)"--", (char *)"--json", NULL};
    struct tc_args args;
    assert_int_equal(parse(&tc_verb_exec, argv, &args), 0);
    assert_false(tc_args_has(&args, "json"));
    assert_string_equal(args.operands[0], "--json");
    tc_args_done(&args);
}

static void a_single_dash_is_a_word(void **state)
{
    char *argv[] = {(char *)"tool", (char *)"-", (char *)"--json", NULL};
    struct tc_args args;
    assert_int_equal(parse(&tc_verb_call, argv, &args), 0);
    assert_true(tc_args_has(&args, "json"));
    assert_int_equal(args.operand_count, 2);
    assert_string_equal(args.operands[1], "-");
    tc_args_done(&args);
}

static void the_last_value_counts_and_all_are_kept(void **state)
{
    char *argv[] = {(char *)"-t5s", (char *)"-t", (char *)"9s", (char *)"x", NULL};
    struct tc_args args;
    assert_int_equal(parse(&tc_verb_exec, argv, &args), 0);
    assert_string_equal(tc_args_value(&args, "timeout"), "9s");
    assert_int_equal(args.given_count, 2);
    assert_string_equal(args.given[0].value, "5s");
    assert_string_equal(args.given[0].option->key, "timeout");
    tc_args_done(&args);
}

/* What is said, of option and of hint; both must be there, and no help page. */
static void expect(const struct tc_verb *verb, char **argv, const char *said)
{
    struct tc_args args;
    struct capture c;
    capture_begin(&c, STDERR_FILENO);
    int rc = parse(verb, argv, &args);
    const char *text = capture_end(&c);
    tc_args_done(&args);
    assert_int_equal(rc, TC_EXIT_FAILURE);
    assert_string_equal(text, said);
}

#define EXPECT(said, ...) expect(&tc_verb_exec, (char *[]){__VA_ARGS__, NULL}, said)

static void mistakes_are_named(void **state)
{
    EXPECT("toolcage: unknown option --memroy=1GiB\nhint: did you mean --memory?\n",
           (char *)"--memroy=1GiB");
    EXPECT("toolcage: unknown option --frobnicate\nhint: toolcage exec --help lists the options\n",
           (char *)"--frobnicate");
    EXPECT("toolcage: --timeout needs a value: --timeout TIME\nhint: toolcage exec --help has "
           "examples\n",
           (char *)"--timeout");
    EXPECT("toolcage: --json takes no value\nhint: write --json alone\n", (char *)"--json=yes");
    expect(&tc_verb_call, (char *[]){NULL},
           "toolcage: call: TOOL is missing\nhint: toolcage call [options] TOOL [ARGUMENTS]\n");
    expect(
        &tc_verb_call, (char *[]){(char *)"a", (char *)"{}", (char *)"c", NULL},
        "toolcage: call: unexpected argument c\nhint: toolcage call [options] TOOL [ARGUMENTS]\n");
}

static void habits_are_answered(void **state)
{
    EXPECT("toolcage: unknown option -v\nhint: write --write /dst=/src\n", (char *)"-v",
           (char *)"/src:/dst");
    EXPECT("toolcage: unknown option --volume=/a:/a:ro\nhint: write --read /a\n",
           (char *)"--volume=/a:/a:ro");
    EXPECT("toolcage: unknown option -v\nhint: paths are granted by --read PATH[=FROM] and --write "
           "PATH[=FROM]\n",
           (char *)"-v");
    EXPECT("toolcage: unknown option --ro-bind\nhint: write --read /usr\n", (char *)"--ro-bind",
           (char *)"/usr", (char *)"/usr");
    EXPECT("toolcage: unknown option --bind\nhint: write --write /b=/a\n", (char *)"--bind",
           (char *)"/a", (char *)"/b");
    EXPECT("toolcage: unknown option --rm\nhint: leave it out: a cage ends with its call\n",
           (char *)"--rm");
    EXPECT("toolcage: unknown option -it\n"
           "hint: leave it out; a command that needs a terminal has one in toolcage shell\n",
           (char *)"-it");
    EXPECT("toolcage: unknown option --net=none\n"
           "hint: write --network none, or --network HOST:PORT for each endpoint\n",
           (char *)"--net=none");
    EXPECT("toolcage: unknown option --privileged\n"
           "hint: there is no such thing: grant paths with --read and --write\n",
           (char *)"--privileged");
    EXPECT("toolcage: unknown option --unshare-all\nhint: leave it out: a cage has "
           "its own namespaces\n",
           (char *)"--unshare-all");
    expect(&tc_verb_wrap, (char *[]){(char *)"--rm", NULL},
           "toolcage: unknown option --rm\nhint: toolcage wrap --help lists the options\n");
}

/* What each verb says to an option of a habit. */
static void expect_hint(const struct tc_verb *verb, const char *option, const char *hint)
{
    _autofree_ char *word = strdup(option), *said = NULL;
    assert_true(asprintf(&said, "toolcage: unknown option %s\nhint: %s\n", option, hint) > 0);
    expect(verb, (char *[]){word, NULL}, said);
}

static void expect_option(const struct tc_verb *verb, const char *text)
{
    const struct tc_option *o = verb->options;
    size_t length = strcspn(text, " ,");
    while (o->name && (strlen(o->name) != length || memcmp(o->name, text, length) != 0))
        o++;
    assert_non_null(o->name);
}

static void suggested_options_exist(void **state)
{
    const struct tc_verb *const verbs[] = {&tc_verb_exec, &tc_verb_call, &tc_verb_shell,
                                           &tc_verb_learn};
    for (size_t i = 0; i < TC_COUNT(verbs); i++)
        for (const struct tc_foreign_option *habit = tc_foreign_options; habit->options; habit++) {
            _autofree_ char *options = strdup(habit->options);
            char *rest = options, *option, *verb_name;
            while ((option = strsep(&rest, " ")))
                expect_hint(verbs[i], option, habit->hint);
            for (const char *at = habit->hint; (at = strstr(at, "--")); at++)
                expect_option(verbs[i], at + 2);
            int words;
            const char *verb = strstr(habit->hint, " in toolcage ");
            verb_name = (char *)(uintptr_t)(verb ? verb + strlen(" in toolcage ") : "shell");
            assert_non_null(tc_verb_find(1, &verb_name, &words));
        }
}

static void shared_networks_are_refused(void **state)
{
    char *argv[] = {(char *)"--network", (char *)"host", (char *)"x", NULL};
    char *fine[] = {(char *)"--network", (char *)"api.example.com:443", (char *)"x", NULL};
    struct tc_args args;
    struct capture c;
    assert_int_equal(parse(&tc_verb_exec, argv, &args), 0);
    capture_begin(&c, STDERR_FILENO);
    int rc = tc_foreign_values(&args);
    assert_non_null(
        strstr(capture_end(&c), "--network host: a cage never shares a network\nhint: "));
    assert_int_equal(rc, TC_EXIT_FAILURE);
    tc_args_done(&args);
    assert_int_equal(parse(&tc_verb_exec, fine, &args), 0);
    assert_int_equal(tc_foreign_values(&args), 0);
    tc_args_done(&args);
}

static void a_command_line_in_one_word_is_seen(void **state)
{
    static const struct {
        char *words[3];
        const char *said;
    } rows[] = {
        {{(char *)"ls -l"}, "hint: write it as separate arguments: toolcage exec ls -l\n"},
        {{(char *)"ls | wc"},
         "hint: a whole command line in one argument needs a shell: toolcage exec sh -c 'ls | "
         "wc'\n"},
        {{(char *)"ls"}, ""},
        {{(char *)"ls -l", (char *)"x"}, ""},
    };
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        struct capture c;
        capture_begin(&c, STDERR_FILENO);
        bool answered = tc_foreign_command_line(rows[i].words);
        assert_string_equal(capture_end(&c), rows[i].said);
        assert_int_equal(answered, *rows[i].said != '\0');
    }
}

static void every_verb_has_help_with_examples(void **state)
{
    const struct tc_verb *const verbs[] = {&tc_verb_exec,         &tc_verb_call,
                                           &tc_verb_tools,        &tc_verb_init,
                                           &tc_verb_policy_check, &tc_verb_policy_explain,
                                           &tc_verb_policy_trust, &tc_verb_policy_digest,
                                           &tc_verb_doctor,       &tc_verb_version};
    for (size_t i = 0; i < TC_COUNT(verbs); i++) {
        _autofree_ char *help = tc_args_help(verbs[i]);
        assert_non_null(strstr(help, "examples:\n  toolcage "));
        assert_non_null(strstr(help, "--help"));
        for (const char *line = help; *line; line = strchr(line, '\n') + 1)
            assert_true(strchr(line, '\n') - line <= 100);
        for (const struct tc_option *o = verbs[i]->options; o->name; o++)
            assert_non_null(strstr(help, o->help));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_word_starts_the_command),
        cmocka_unit_test(two_dashes_end_the_options),
        cmocka_unit_test(a_single_dash_is_a_word),
        cmocka_unit_test(the_last_value_counts_and_all_are_kept),
        cmocka_unit_test(mistakes_are_named),
        cmocka_unit_test(habits_are_answered),
        cmocka_unit_test(suggested_options_exist),
        cmocka_unit_test(shared_networks_are_refused),
        cmocka_unit_test(a_command_line_in_one_word_is_seen),
        cmocka_unit_test(every_verb_has_help_with_examples),
    };
    return cmocka_run_group_tests_name("cli opts", tests, NULL, NULL);
}
