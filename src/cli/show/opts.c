/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cli/show/opts.h"

#include <stdio.h>
#include <string.h>

#include "cli/show/foreign_options.h"
#include "cli/show/say.h"
#include "progress/progress.h"

static const struct tc_option *find_long(const struct tc_verb *verb, const char *name, size_t len)
{
    for (const struct tc_option *o = verb->options; o->name; o++)
        if (strlen(o->name) == len && !memcmp(o->name, name, len))
            return o;
    return NULL;
}

static const struct tc_option *find_letter(const struct tc_verb *verb, char letter)
{
    for (const struct tc_option *o = verb->options; o->name; o++)
        if (o->letter && o->letter == letter)
            return o;
    return NULL;
}

const struct tc_option tc_options_all[] = {
    {"color", 0, "auto|always|never", NULL, "colours: auto is on a terminal, without NO_COLOR"},
    {0},
};

static int take_color(const char *when)
{
    if (when && tc_color_set(when)) {
        if (!strcmp(when, "never"))
            tc_progress_quiet();
        return 0;
    }
    if (when)
        tc_cli_say("--color is auto, always or never, not %s", when);
    else
        tc_cli_say("--color needs a value: --color auto|always|never");
    tc_cli_hint("write --color=never for none");
    return -TC_EXIT_FAILURE;
}

int tc_option_all(int argc, char **argv)
{
    static const char name[] = "--color";
    size_t length = sizeof(name) - 1;
    if (argc < 1 || strncmp(argv[0], name, length) != 0 ||
        (argv[0][length] && argv[0][length] != '='))
        return 0;
    bool beside = argv[0][length] == '=';
    int rc = take_color(beside ? argv[0] + length + 1 : argc > 1 ? argv[1] : NULL);
    return rc ? rc : beside ? 1 : 2;
}

static int unknown(const struct tc_verb *verb, int argc, char **argv)
{
    const char *word = argv[0];
    tc_cli_say("unknown option %s", word);
    if (find_long(verb, "read", 4) && tc_foreign_option_hint(argc, argv))
        return TC_EXIT_FAILURE;
    if (tc_foreign_verb_hint(verb->name, word))
        return TC_EXIT_FAILURE;
    const struct tc_option *format = find_long(verb, "format", strlen("format"));
    if (format && !strcmp(word, "--json"))
        return tc_cli_hint("write --format %s", format->arg), TC_EXIT_FAILURE;
    _autofree_ char *name =
        strndup(word + strspn(word, "-"), strcspn(word + strspn(word, "-"), "="));
    struct tc_near near = tc_near_to(name ? name : "");
    const char *best = NULL;
    for (const struct tc_option *o = verb->options; o->name && word[1] == '-'; o++)
        best = tc_near_is(&near, o->name) ? o->name : best;
    if (best)
        tc_cli_hint("did you mean --%s?", best);
    else
        tc_cli_hint("toolcage %s --help lists the options", verb->name);
    return TC_EXIT_FAILURE;
}

static int missing_value(const struct tc_verb *verb, const struct tc_option *o)
{
    tc_cli_say("--%s needs a value: --%s %s", o->name, o->name, o->arg);
    tc_cli_hint("toolcage %s --help has examples", verb->name);
    return TC_EXIT_FAILURE;
}

static void give(struct tc_args *args, const struct tc_option *option, const char *value)
{
    if (!strcmp(option->name, "help"))
        args->help = true;
    args->given[args->given_count++] = (struct tc_given){option, value};
}

/* --name, --name=value, --name value. Returns the number of words, or the negated exit code. */
static int take_long(struct tc_args *args, int argc, char **argv)
{
    const char *name = argv[0] + 2;
    size_t len = strcspn(name, "=");
    const struct tc_option *o = find_long(args->verb, name, len);
    if (!o)
        return -unknown(args->verb, argc, argv);
    const char *value = name[len] ? name + len + 1 : NULL;
    if (!o->arg && value) {
        tc_cli_say("--%s takes no value", o->name);
        tc_cli_hint("write --%s alone", o->name);
        return -TC_EXIT_FAILURE;
    }
    if (!o->arg || value)
        return give(args, o, value), 1;
    if (argc < 2)
        return -missing_value(args->verb, o);
    return give(args, o, argv[1]), 2;
}

/* -t value, -tvalue. Letters are not combined: only -h has no value. */
static int take_letter(struct tc_args *args, int argc, char **argv)
{
    const struct tc_option *o = find_letter(args->verb, argv[0][1]);
    if (!o || (!o->arg && argv[0][2]))
        return -unknown(args->verb, argc, argv);
    if (!o->arg)
        return give(args, o, NULL), 1;
    if (argv[0][2])
        return give(args, o, argv[0] + 2), 1;
    if (argc < 2)
        return -missing_value(args->verb, o);
    return give(args, o, argv[1]), 2;
}

/* The operand after the first `count` ones in the usage line: it has no brackets. */
static const char *find_missing(const char *usage, size_t count, int *ret_length)
{
    for (const char *word = usage; *word; word += strspn(word, " ")) {
        *ret_length = (int)strcspn(word, " ");
        if (word[0] != '[' && word[0] != '-' && !count--)
            return word;
        word += *ret_length;
    }
    *ret_length = (int)strlen("an argument");
    return "an argument";
}

static int check_words(const struct tc_args *args)
{
    const struct tc_verb *verb = args->verb;
    if ((int)args->operand_count < verb->least) {
        int length = 0;
        const char *missing = find_missing(verb->operands, args->operand_count, &length);
        tc_cli_say("%s: %.*s is missing", verb->name, length, missing);
        tc_cli_hint("toolcage %s %s", verb->name, verb->operands);
        return TC_EXIT_FAILURE;
    }
    if (verb->most >= 0 && (int)args->operand_count > verb->most) {
        tc_cli_say("%s: unexpected argument %s", verb->name, args->operands[verb->most]);
        if (verb->operands[0])
            tc_cli_hint("toolcage %s %s", verb->name, verb->operands);
        else
            tc_cli_hint("leave it out: toolcage %s has no arguments", verb->name);
        return TC_EXIT_FAILURE;
    }
    return 0;
}

int tc_args_parse(const struct tc_verb *verb, int argc, char **argv, struct tc_args *ret)
{
    *ret = (struct tc_args){.verb = verb};
    ret->given = calloc((size_t)argc + 1, sizeof(*ret->given));
    ret->operands = calloc((size_t)argc + 1, sizeof(*ret->operands));
    if (!ret->given || !ret->operands)
        return tc_cli_no_memory();
    bool options = true;
    for (int i = 0; i < argc;) {
        const char *word = argv[i];
        if (!options || word[0] != '-' || !word[1]) {
            ret->operands[ret->operand_count++] = argv[i++];
            options = options && !verb->command;
            continue;
        }
        if (!strcmp(word, "--")) {
            options = false;
            i++;
            continue;
        }
        int took = tc_option_all(argc - i, argv + i);
        if (!took)
            took = word[1] == '-' ? take_long(ret, argc - i, argv + i)
                                  : take_letter(ret, argc - i, argv + i);
        if (took < 0)
            return -took;
        i += took;
    }
    return ret->help ? 0 : check_words(ret);
}

void tc_args_done(struct tc_args *args)
{
    free(args->given);
    free(args->operands);
    *args = (struct tc_args){0};
}

const char *tc_args_value(const struct tc_args *args, const char *name)
{
    for (size_t i = args->given_count; i-- > 0;)
        if (!strcmp(args->given[i].option->name, name))
            return args->given[i].value;
    return NULL;
}

bool tc_args_has(const struct tc_args *args, const char *name)
{
    for (size_t i = 0; i < args->given_count; i++)
        if (!strcmp(args->given[i].option->name, name))
            return true;
    return false;
}

static void help_option(FILE *out, const struct tc_option *o)
{
    char left[64];
    (void)snprintf(left, sizeof(left), "  %c%c%s --%s%s%s", o->letter ? '-' : ' ',
                   o->letter ? o->letter : ' ', o->letter ? "," : " ", o->name, o->arg ? " " : "",
                   o->arg ? o->arg : "");
    (void)fprintf(out, "%-31s  %s\n", left, o->help);
}

char *tc_args_help(const struct tc_verb *verb)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    (void)fprintf(out, "toolcage %s%s%s: %s\n\nusage: toolcage %s %s\n\noptions:\n", verb->name,
                  verb->alias ? ", " : "", verb->alias ? verb->alias : "", verb->summary,
                  verb->name, verb->operands);
    for (const struct tc_option *o = verb->options; o->name; o++)
        help_option(out, o);
    for (const struct tc_option *o = tc_options_all; o->name; o++)
        help_option(out, o);
    (void)fprintf(out, "\n%s", verb->text);
    return tc_cli_text(out, &text);
}
