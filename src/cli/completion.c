/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Shell completion. The scripts know nothing about toolcage: at each key press they run `toolcage
 * completion --words` for candidates for the last word. The output has one candidate a line, some
 * with a tab and a description; the last line names what the shell itself may add: ":files",
 * ":directories", ":commands" or ":nothing". Completion reads a policy and runs no tool. The
 * scripts use only the toolcage in PATH, and only if the command line names it: a file named on the
 * line may come from a tool. */
#include <stdio.h>
#include <string.h>

#include "cli/call/lookup.h"
#include "cli/cli.h"
#include "cli/show/json.h"
#include "cli/show/opts.h"
#include "cli/show/say.h"

static const struct tc_option options[] = {
    {"words", 0, NULL, NULL, "used by the scripts: list completions"},
    TC_OPTION_HELP,
    {0},
};

static const char text[] =
    "Prints the script that makes a shell complete verbs, options, tools and servers of the "
    "policy, and\n"
    "files.\n"
    "\n"
    "examples:\n"
    "  toolcage completion fish > ~/.config/fish/completions/toolcage.fish\n"
    "  source <(toolcage completion bash)    # in ~/.bashrc\n"
    "  source <(toolcage completion zsh)     # in ~/.zshrc, after compinit\n";

/* ---- the scripts ---- */

static const char bash[] =
    "# bash completion for toolcage\n"
    "_toolcage() {\n"
    "    local line kind=nothing cur=${COMP_WORDS[COMP_CWORD]} own=\n"
    "    local -a found=() path\n"
    "    IFS=: read -ra path <<< \"$PATH\"\n"
    "    for line in \"${path[@]}\"; do # type -P takes relative directories, too\n"
    "        [[ -n $own || $line != /* || ! -f $line/toolcage || ! -x $line/toolcage ]] || "
    "own=$line/toolcage\n"
    "    done\n"
    "    [[ -n $own ]] || return\n"
    "    [[ ${COMP_WORDS[0]} == toolcage || ${COMP_WORDS[0]} == \"$own\" ]] || return\n"
    "    [[ $cur != = ]] || cur=\n"
    "    while IFS= read -r line; do\n"
    "        case $line in\n"
    "        :*) kind=${line#:} ;;\n"
    "        *) found+=(\"${line%%$'\\t'*}\") ;;\n"
    "        esac\n"
    "    done < <(\"$own\" completion --words -- \"${COMP_WORDS[@]:1:COMP_CWORD}\" "
    "2>/dev/null)\n"
    "    local IFS=$'\\n'\n"
    "    COMPREPLY=($(compgen -W \"${found[*]}\" -- \"$cur\"))\n"
    "    case $kind in\n"
    "    files) compopt -o filenames && COMPREPLY+=($(compgen -f -- \"$cur\")) ;;\n"
    "    directories) compopt -o filenames && COMPREPLY+=($(compgen -d -- \"$cur\")) ;;\n"
    "    commands) COMPREPLY+=($(compgen -c -- \"$cur\")) ;;\n"
    "    esac\n"
    "}\n"
    "complete -F _toolcage toolcage\n";

static const char zsh[] = "#compdef toolcage\n"
                          "_toolcage() {\n"
                          "    local line kind=nothing own\n"
                          "    local -a found flags\n"
                          "    own=$(whence -p toolcage) && [[ $own == /* ]] || return\n"
                          "    [[ ${(Q)words[1]} == (toolcage|\"$own\") ]] || return\n"
                          "    while IFS= read -r line; do\n"
                          "        case $line in\n"
                          "        :*) kind=${line#:} ;;\n"
                          "        -*) flags+=(\"${line/$'\\t'/:}\") ;;\n"
                          "        *) found+=(\"${line/$'\\t'/:}\") ;;\n"
                          "        esac\n"
                          "    done < <(\"$own\" completion --words -- "
                          "\"${(@Q)words[2,CURRENT]}\" 2>/dev/null)\n"
                          "    (( ! $#found )) || _describe word found\n"
                          "    (( ! $#flags )) || _describe -o option flags\n"
                          "    case $kind in\n"
                          "    files) _files ;;\n"
                          "    directories) _files -/ ;;\n"
                          "    commands) _command_names -e ;;\n"
                          "    esac\n"
                          "}\n"
                          "if [[ $zsh_eval_context[-1] == loadautofunc ]]; then\n"
                          "    _toolcage \"$@\"\n"
                          "else\n"
                          "    compdef _toolcage toolcage\n"
                          "fi\n";

static const char fish[] =
    "# fish completion for toolcage\n"
    "function __toolcage_words\n"
    "    set -l words (commandline -opc)\n"
    "    set -l cur (commandline -ct)\n"
    "    set -l own (command -s toolcage)\n"
    "    string match -q '/*' -- $own; and contains -- \"$words[1]\" toolcage $own; or return\n"
    "    for line in ($own completion --words -- $words[2..] \"$cur\" 2>/dev/null)\n"
    "        switch $line\n"
    "            case :files\n"
    "                __fish_complete_path \"$cur\"\n"
    "            case :directories\n"
    "                __fish_complete_directories \"$cur\"\n"
    "            case :commands\n"
    "                complete -C \"$cur\"\n"
    "            case ':*'\n"
    "            case '*'\n"
    "                echo $line\n"
    "        end\n"
    "    end\n"
    "end\n"
    "complete -c toolcage -f -a '(__toolcage_words)'\n";

static const struct {
    const char *name, *script;
} shells[] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}};

static int print_script(const char *name)
{
    for (size_t i = 0; i < TC_COUNT(shells); i++)
        if (!strcmp(shells[i].name, name))
            return tc_cli_print(shells[i].script, strlen(shells[i].script));
    tc_cli_say("completion: no script for the shell %s", name);
    tc_cli_hint("toolcage completion bash, zsh or fish");
    return TC_EXIT_FAILURE;
}

/* ---- the words before the last ---- */

struct asked {
    const struct tc_verb *verb;
    const struct tc_option *value_of; /* the last word is the value of this option */
    bool options;                     /* options are still allowed */
    size_t count;                     /* number of words that are not options */
    const char *policy;               /* NULL: not given */
    const char *last;
};

static const struct tc_option *expecting(const struct tc_verb *verb, const char *word)
{
    const struct tc_option *const tables[] = {verb ? verb->options : NULL, tc_options_all};
    for (size_t i = 0; i < TC_COUNT(tables); i++)
        for (const struct tc_option *o = tables[i]; o && o->name; o++) {
            bool named = !strncmp(word, "--", 2) && !strcmp(word + 2, o->name);
            bool lettered = o->letter && word[1] == o->letter && !word[2];
            if (o->arg && (named || lettered))
                return o;
        }
    return NULL;
}

/* Handles one word before the last. bash also splits a word at "=", into three. */
static void take_word(struct asked *a, const char *word)
{
    static const char policy[] = "--policy=";
    if (a->value_of && !strcmp(word, "="))
        return;
    if (a->value_of) {
        if (!strcmp(a->value_of->name, "policy"))
            a->policy = word;
        a->value_of = NULL;
        return;
    }
    if (a->options && word[0] == '-' && word[1]) {
        a->options = strcmp(word, "--") != 0;
        a->value_of = expecting(a->verb, word);
        if (!strncmp(word, policy, strlen(policy)))
            a->policy = word + strlen(policy);
        return;
    }
    a->count++;
    a->options = a->options && !a->verb->command;
}

/* ---- candidates ---- */

static void put_candidate(FILE *out, const char *word, size_t length, const char *description)
{
    (void)fprintf(out, "%.*s%s%s\n", (int)length, word, description ? "\t" : "",
                  description ? description : "");
}

/* Lists all verbs, and each group of verbs once, by its first word. */
static void put_verbs(FILE *out)
{
    const struct tc_verb *verb, *before = NULL;
    for (size_t i = 0; (verb = tc_verb_at(i)); before = verb, i++) {
        size_t length = strcspn(verb->name, " ");
        bool member = verb->name[length] == ' ';
        bool listed = before && strcspn(before->name, " ") == length &&
                      !strncmp(before->name, verb->name, length);
        if (!listed)
            put_candidate(out, verb->name, length, member ? "a group of verbs" : verb->summary);
    }
    put_candidate(out, "help", strlen("help"), "how to use a verb");
}

static void put_members(FILE *out, const char *group)
{
    const struct tc_verb *verb;
    size_t length = strlen(group);
    for (size_t i = 0; (verb = tc_verb_at(i)); i++)
        if (!strncmp(verb->name, group, length) && verb->name[length] == ' ')
            put_candidate(out, verb->name + length + 1, strlen(verb->name + length + 1),
                          verb->summary);
}

static void put_options(FILE *out, const struct tc_verb *verb)
{
    const struct tc_option *const tables[] = {verb ? verb->options : NULL, tc_options_all};
    for (size_t i = 0; i < TC_COUNT(tables); i++)
        for (const struct tc_option *o = tables[i]; o && o->name; o++) {
            (void)fputs("--", out);
            put_candidate(out, o->name, strlen(o->name), o->help);
        }
}

/* Lists the choices of an option, such as "auto|never"; a word in capitals is a placeholder. */
static void put_choices(FILE *out, const char *choices)
{
    for (const char *at = choices; *at; at += strspn(at, "|")) {
        size_t length = strcspn(at, "|");
        if (*at >= 'a' && *at <= 'z')
            put_candidate(out, at, length, NULL);
        at += length;
    }
}

/* The names in the policy, if it can be read; they contain no characters that are special to a
 * shell or a terminal. */
static void put_named(FILE *out, const char *policy, const char *format)
{
    _autofailure_ struct tc_failure failure = {0};
    _autofound_ struct tc_found found = {0};
    char *json = NULL;
    if (tc_lookup(policy, TC_LOOKUP_ANY, &found, &failure) || !found.path ||
        toolcage_policy_tools_json(found.policy, format, &json, tc_failure_error(&failure)))
        return;
    for (struct tc_scan_each each = tc_scan_walk(tc_json_of(json)); tc_scan_next(&each);) {
        _autofree_ char *name = tc_json_text(tc_json_get(each.value, "name"));
        if (name)
            put_candidate(out, name, strlen(name), NULL);
    }
    toolcage_free(json);
}

static const char *put_value(FILE *out, const struct asked *a)
{
    const struct tc_option *o = a->value_of;
    if (!strcmp(o->name, "tool"))
        put_named(out, a->policy, "toolcage");
    if (!strcmp(o->name, "server"))
        put_named(out, a->policy, "servers");
    put_choices(out, o->arg);
    return !strncmp(o->arg, "FILE", 4) || !strncmp(o->arg, "PATH", 4) ? "files"
           : !strncmp(o->arg, "DIR", 3)                               ? "directories"
                                                                      : "nothing";
}

static const char *put_word(FILE *out, const struct asked *a)
{
    const struct tc_verb *verb = a->verb;
    if (a->options && a->last[0] == '-') {
        put_options(out, verb);
        return "nothing";
    }
    if (verb == &tc_verb_completion)
        for (size_t i = 0; i < TC_COUNT(shells) && !a->count; i++)
            put_candidate(out, shells[i].name, strlen(shells[i].name), NULL);
    if (verb == &tc_verb_call && !a->count)
        put_named(out, a->policy, "toolcage");
    if (strstr(verb->operands, "[ARG]..."))
        return a->count ? "files" : "commands";
    return strstr(verb->operands, "FILE") && !a->count ? "files" : "nothing";
}

/* Skips complete options before the verb: "--color", "=" (split by bash), and the value. */
static int skip_options(int argc, char **argv)
{
    int at = 0;
    while (at < argc - 1 && argv[at][0] == '-') {
        int words = expecting(NULL, argv[at]) ? 2 : 1;
        words += words == 2 && !strcmp(argv[at + 1], "=");
        if (at + words > argc - 1)
            break;
        at += words;
    }
    return at;
}

/* Writes the candidates; returns what the shell may add. */
static const char *complete(FILE *out, int argc, char **argv)
{
    int named;
    int before = skip_options(argc, argv);
    argc -= before, argv += before;
    if (argc == 1 && argv[0][0] == '-') {
        put_options(out, NULL);
        return "nothing";
    }
    if (argc > 1 && expecting(NULL, argv[0]))
        return put_value(out, &(struct asked){.value_of = tc_options_all});
    if (argc > 1 && !strcmp(argv[0], "help"))
        argc--, argv++;
    struct asked a = {.verb = tc_verb_find(argc - 1, argv, &named), .options = true};
    if (argc < 2)
        put_verbs(out);
    else if (argc == 2)
        put_members(out, argv[0]);
    if (!a.verb)
        return "nothing";
    for (int i = named; i < argc - 1; i++)
        take_word(&a, argv[i]);
    a.last = strcmp(argv[argc - 1], "=") != 0 ? argv[argc - 1] : "";
    return a.value_of ? put_value(out, &a) : put_word(out, &a);
}

static int print_words(const struct tc_args *args)
{
    char *all = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&all, &size);
    if (!out)
        return tc_cli_no_memory();
    (void)fprintf(out, ":%s\n", complete(out, (int)args->operand_count, args->operands));
    int rc = fclose(out) || !all ? tc_cli_no_memory() : tc_cli_print(all, size);
    free(all);
    return rc;
}

static int run_completion(const struct tc_args *args)
{
    if (tc_args_has(args, "words"))
        return print_words(args);
    if (args->operand_count == 1)
        return print_script(args->operands[0]);
    tc_cli_say("completion: for which shell?");
    tc_cli_hint("toolcage completion bash, zsh or fish");
    return TC_EXIT_FAILURE;
}

const struct tc_verb tc_verb_completion = {
    .name = "completion",
    .operands = "bash|zsh|fish",
    .summary = "print the completion script for a shell",
    .minor = true,
    .text = text,
    .options = options,
    .command = true,
    .most = -1,
    .run = run_completion,
};
