/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The program `toolcage`: finds the verb, parses its options and runs it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/companion.h"
#include "cli/show/fold.h"
#include "cli/show/opts.h"
#include "cli/show/say.h"
#include "progress/progress.h"

static const char head[] =
    "toolcage runs one tool call of a language model in a cage built for it\n"
    "  usage: toolcage VERB [options] ...\n";
static const char tail[] =
    "the policy is the first found: --policy FILE, $TOOLCAGE_POLICY, the nearest\n"
    "toolcage.toml, .yaml or .yml from here upward, one in ~/.config/toolcage, else a strict "
    "default\n";

/* The subject of a group of verbs. */
static const char *group_words(const char *name)
{
    static const char *const words[][2] = {{"image", "images for containers"},
                                           {"policy", "a policy file"},
                                           {"wasm", "WebAssembly modules"}};
    for (size_t i = 0; i < TC_COUNT(words); i++)
        if (strncmp(words[i][0], name, strlen(words[i][0])) == 0)
            return words[i][1];
    return "";
}

/* One line for each verb; the members of a group share a line. */
static void put_verbs(FILE *out)
{
    const struct tc_verb *verb, *before = NULL;
    for (size_t i = 0; (verb = tc_verb_at(i)); before = verb, i++) {
        const char *section = tc_verb_section(verb);
        size_t length = strcspn(verb->name, " ");
        bool member = verb->name[length];
        if (verb->minor)
            continue;
        if (member && before && !strncmp(before->name, verb->name, length + 1)) {
            (void)fprintf(out, ", %s", verb->name + length + 1);
            continue;
        }
        (void)fprintf(out, "%s  %-8s %-12.*s", before ? "\n" : "", section ? section : "",
                      (int)length, verb->name);
        if (member)
            (void)fprintf(out, "%s: %s", group_words(verb->name), verb->name + length + 1);
        else
            (void)fputs(verb->summary, out);
    }
    (void)fputc('\n', out);
}

/* Folds lines to the terminal's width; other output is not folded. */
static int print_text(const char *text)
{
    size_t width = tc_fold_width(STDOUT_FILENO);
    _autofree_ char *folded = width ? tc_fold(text, width) : NULL;
    if (width && !folded)
        return tc_cli_no_memory();
    const char *shown = folded ? folded : text;
    return tc_cli_print(shown, strlen(shown));
}

static int print_help(void)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return tc_cli_no_memory();
    (void)fputs(head, out);
    put_verbs(out);
    (void)fputs(tail, out);
    int rc = fclose(out) ? tc_cli_no_memory() : print_text(text);
    free(text);
    return rc;
}

static int print_verb_help(const struct tc_verb *verb)
{
    _autofree_ char *text = tc_args_help(verb);
    return text ? print_text(text) : tc_cli_no_memory();
}

/* The group's next verb from index `at`; *ret_at is the index after it. NULL: no more. */
static const struct tc_verb *next_member(const char *group, size_t *at)
{
    const struct tc_verb *verb;
    size_t length = strlen(group);
    while ((verb = tc_verb_at((*at)++)))
        if (!strncmp(verb->name, group, length) && verb->name[length] == ' ')
            return verb;
    return NULL;
}

static bool is_group(const char *word)
{
    size_t at = 0;
    return next_member(word, &at) != NULL;
}

static char *write_group(const char *group, bool whole)
{
    char *text = NULL;
    size_t size = 0, at = 0, skip = strlen(group) + 1;
    FILE *out = open_memstream(&text, &size);
    const struct tc_verb *verb;
    if (!out)
        return NULL;
    (void)fprintf(out, whole ? "usage: toolcage %s VERB [options] ...\n" : "toolcage %s", group);
    for (bool first = true; (verb = next_member(group, &at)); first = false)
        if (whole)
            (void)fprintf(out, "\n  %-16s %s", verb->name + skip, verb->summary);
        else
            (void)fprintf(out, "%s %s", first ? "" : ",", verb->name + skip);
    if (whole)
        (void)fprintf(out, "\n\neach has --help with examples\n");
    return tc_cli_text(out, &text);
}

static int print_group(const char *group)
{
    _autofree_ char *text = write_group(group, true);
    return text ? print_text(text) : tc_cli_no_memory();
}

/* "toolcage policy" alone or with an unknown member. */
static int unknown_member(int argc, char **argv)
{
    _autofree_ char *list = write_group(argv[0], false);
    if (argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")))
        return print_group(argv[0]);
    if (argc < 2)
        tc_cli_say("%s: which one?", argv[0]);
    else
        tc_cli_say("%s: unknown verb %s", argv[0], argv[1]);
    tc_cli_hint("%s", list ? list : "toolcage --help");
    return TC_EXIT_FAILURE;
}

/* A member of a group without its group, as "check" for "policy check"; "lint" is part of that. */
static char *find_members(const char *word)
{
    const struct tc_verb *verb;
    const char *wanted = strcmp(word, "lint") ? word : "check";
    char *found = NULL;
    for (size_t i = 0; (verb = tc_verb_at(i)); i++) {
        const char *last = strrchr(verb->name, ' ');
        if (!last || strcmp(last + 1, wanted) != 0)
            continue;
        char *longer =
            tc_cli_format("%s%stoolcage %s", found ? found : "", found ? " or " : "", verb->name);
        free(found);
        found = longer;
    }
    return found;
}

/* The most similar verb or group of verbs, as "policy". Owned; NULL: none. */
static char *find_near_verb(const char *word)
{
    struct tc_near near = tc_near_to(word);
    const struct tc_verb *verb;
    char *best = NULL;
    for (size_t i = 0; (verb = tc_verb_at(i)); i++) {
        char *name = strndup(verb->name, strcspn(verb->name, " "));
        bool nearer = name && tc_near_is(&near, name);
        free(nearer ? best : name);
        best = nearer ? name : best;
    }
    return best;
}

static int unknown_verb(int argc, char **argv)
{
    _autofree_ char *members = find_members(argv[0]);
    if (is_group(argv[0]))
        return unknown_member(argc, argv);
    _autofree_ char *best = find_near_verb(argv[0]);
    struct tc_near version = tc_near_to(argv[0]);
    if (argv[0][0] == '-')
        tc_cli_say("unknown option %s", argv[0]);
    else
        tc_cli_say("unknown verb %s", argv[0]);
    if (members)
        tc_cli_hint("did you mean %s? (to run a command: toolcage exec %s)", members, argv[0]);
    else if (tc_near_is(&version, "--version"))
        tc_cli_hint("did you mean --version?");
    else if (argv[0][0] == '-')
        tc_cli_hint("options come after the verb: toolcage exec %s ...", argv[0]);
    else if (best && strlen(argv[0]) > 2)
        tc_cli_hint("did you mean toolcage %s? (to run a command: toolcage exec %s)", best,
                    argv[0]);
    else
        tc_cli_hint("to run a command: toolcage exec %s; toolcage --help lists the verbs", argv[0]);
    return TC_EXIT_FAILURE;
}

static int run_verb(const struct tc_verb *verb, int argc, char **argv)
{
    struct tc_args args;
    int rc = tc_args_parse(verb, argc, argv, &args);
    if (tc_args_has(&args, "json"))
        tc_progress_quiet();
    if (!rc)
        rc = args.help ? print_verb_help(verb) : verb->run(&args);
    tc_progress_end();
    tc_args_done(&args);
    return rc;
}

static int help_verb(int argc, char **argv)
{
    int words;
    if (!argc)
        return print_help();
    const struct tc_verb *verb = tc_verb_find(argc, argv, &words);
    if (!verb && argc == 1 && is_group(argv[0]))
        return print_group(argv[0]);
    return verb ? print_verb_help(verb) : unknown_verb(argc, argv);
}

/* Opens /dev/null for closed standard fds: a file opened later would otherwise get the number 0, 1
 * or 2. Writing to a closed standard output still fails, because lost output is no success. */
static bool standard_descriptors(void)
{
    static const int modes[] = {O_RDONLY, O_RDONLY, O_WRONLY};
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", modes[fd]) != fd)
            return false;
    return true;
}

int main(int argc, char **argv)
{
    tc_companion_offer(argc, argv);
    if (!standard_descriptors())
        return TC_EXIT_FAILURE;
    argc--, argv++;
    for (int took; (took = tc_option_all(argc, argv)); argc -= took, argv += took)
        if (took < 0)
            return -took;
    if (argc < 1)
        return print_help();
    if (!strcmp(argv[0], "--help") || !strcmp(argv[0], "-h"))
        return print_help();
    if (!strcmp(argv[0], "help"))
        return help_verb(argc - 1, argv + 1);
    if (!strcmp(argv[0], "--version") || !strcmp(argv[0], "-V"))
        return run_verb(&tc_verb_version, 0, argv);
    int words;
    const struct tc_verb *verb = tc_verb_find(argc, argv, &words);
    return verb ? run_verb(verb, argc - words, argv + words) : unknown_verb(argc, argv);
}
