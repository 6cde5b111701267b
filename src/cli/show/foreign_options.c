/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cli/show/foreign_options.h"

#include <stdio.h>
#include <string.h>

#include "cli/show/say.h"

const struct tc_foreign_option tc_foreign_options[] = {
    {"--rm", "leave it out: a cage ends with its call"},
    {"-i --interactive", "leave it out: standard input passes unless it is a terminal"},
    {"-it --tty", "leave it out; a command that needs a terminal has one in toolcage shell"},
    {"-d --detach", "a call ends with its toolcage: use your shell's & instead"},
    {"--privileged --cap-add -A", "there is no such thing: grant paths with --read and --write"},
    {"--cap-drop", "leave it out: a tool never has capabilities"},
    {"--read-only --readonly", "leave it out: only what --write grants can be written"},
    {"-u --user --uid --gid", "leave it out: a tool never runs as root"},
    {"--net", "write --network none, or --network HOST:PORT for each endpoint"},
    {"--no-net --no-network", "write --network none (the default)"},
    {"--allow-net --share-net --allow-network --allow-host --allow-hosts",
     "write --network HOST:PORT for each endpoint"},
    {"-p --publish", "only live sessions publish ports: toolcage session start --help"},
    {"--workdir --chdir", "write --cwd DIR"},
    {"-w", "write --cwd DIR, or --write PATH for a path the tool may write"},
    {"--allow-env", "write --env NAME for each variable"},
    {"--allow-run", "leave it out: every program that the cage contains may run"},
    {"--setenv", "write --env NAME=VALUE for each variable"},
    {"--pids-limit", "write --pids NUMBER"},
    {"--tmpfs", "leave it out: a cage has a private /tmp; --disk SIZE sets its size"},
    {"--proc --dev --new-session --die-with-parent", "leave it out: a cage has that anyway"},
    {"--allow-read --ro --whitelist", "write --read PATH"},
    {"--allow-write --rw --read-write", "write --write PATH"},
    {"--private --private-tmp --private-dev", "leave it out: a cage has a private home and /tmp, "
                                              "and sees only the paths in --read and --write"},
    {"--noprofile --profile",
     "leave it out: the policy file is the profile, and without one a default grant holds"},
    {"--blacklist --disable-mnt", "leave it out: what no --read or --write names is not there"},
    {"--seccomp --caps.drop --nonewprivs --noroot", "leave it out: a cage has that anyway"},
    {0},
};

/* SRC:DST[:OPTIONS], the mount syntax of container engines. */
static void volume(const char *value)
{
    size_t source = strcspn(value, ":");
    const char *target = value[source] ? value + source + 1 : value;
    size_t length = strcspn(target, ":");
    bool read_only = target[length] && strstr(target + length, "ro");
    const char *flag = read_only ? "--read" : "--write";
    if (!source || !length)
        tc_cli_hint("paths are granted by --read PATH[=FROM] and --write PATH[=FROM]");
    else if (source == length && !memcmp(value, target, length))
        tc_cli_hint("write %s %.*s", flag, (int)length, target);
    else
        tc_cli_hint("write %s %.*s=%.*s", flag, (int)length, target, (int)source, value);
}

/* --bind SRC DST, as in bubblewrap. */
static void bind(const char *flag, const char *source, const char *target)
{
    if (source && !strcmp(source, "/"))
        tc_cli_hint("leave it out: the system's programs are in every cage; name other directories "
                    "with %s PATH",
                    flag);
    else if (!source || !target)
        tc_cli_hint("paths are granted by --read PATH[=FROM] and --write PATH[=FROM]");
    else if (!strcmp(source, target))
        tc_cli_hint("write %s %s", flag, target);
    else
        tc_cli_hint("write %s %s=%s", flag, target, source);
}

/* Is the word, up to "=", one of the blank-separated options? */
static bool is(const char *word, const char *options)
{
    size_t length = strcspn(word, "="), n;
    for (; *options; options += n + (options[n] == ' ')) {
        n = strcspn(options, " ");
        if (n == length && !memcmp(options, word, n))
            return true;
    }
    return false;
}

bool tc_foreign_option_hint(int argc, char **argv)
{
    const char *word = argv[0], *equals = strchr(word, '=');
    const char *first = equals ? equals + 1 : argc > 1 ? argv[1] : NULL;
    if (is(word, "-v --volume"))
        return volume(first ? first : ""), true;
    if (is(word, "--ro-bind --ro-bind-try"))
        return bind("--read", first, argc > 2 ? argv[2] : NULL), true;
    if (is(word, "--bind --bind-try --dev-bind"))
        return bind("--write", first, argc > 2 ? argv[2] : NULL), true;
    if (is(word, "--mount"))
        return volume(""), true;
    if (is(word, "--allow-all")) /* an option of learn */
        return tc_cli_hint("there is no such thing: grant paths with --read and --write"), true;
    if (!strncmp(word, "--unshare-", 10))
        return tc_cli_hint("leave it out: a cage has its own namespaces"), true;
    for (const struct tc_foreign_option *habit = tc_foreign_options; habit->options; habit++)
        if (is(word, habit->options))
            return tc_cli_hint("%s", habit->hint), true;
    return false;
}

bool tc_foreign_verb_hint(const char *verb, const char *word)
{
    static const struct {
        const char *verb, *options, *hint;
    } rows[] = {
        {"mcp", "--http --sse --port --transport --bind",
         "write --listen ADDRESS:PORT, as in --listen 127.0.0.1:8080; without it clients use "
         "standard input"},
        {"agent", "--url --base-url --api-base --endpoint", "write --upstream URL"},
        {"doctor", "--fix --repair", "leave it out: doctor prints what to run for each finding"},
    };
    for (size_t i = 0; i < TC_COUNT(rows); i++)
        if (!strcmp(rows[i].verb, verb) && is(word, rows[i].options))
            return tc_cli_hint("%s", rows[i].hint), true;
    return false;
}

int tc_foreign_values(const struct tc_args *args)
{
    static const char *const shared[] = {"host", "bridge", "default", "all"};
    const char *network = tc_args_value(args, "network");
    for (size_t i = 0; network && i < TC_COUNT(shared); i++) {
        if (strcmp(network, shared[i]) != 0)
            continue;
        tc_cli_say("--network %s: a cage never shares a network", network);
        tc_cli_hint("name what it may reach: --network api.example.com:443, or none");
        return TC_EXIT_FAILURE;
    }
    return 0;
}

bool tc_foreign_command_line(char *const words[])
{
    if (words[1] || !strpbrk(words[0], " \t"))
        return false;
    if (strpbrk(words[0], "|&;<>$`*?'\"\\"))
        tc_cli_hint("a whole command line in one argument needs a shell: toolcage exec sh -c "
                    "'%s'",
                    strchr(words[0], '\'') ? "…" : words[0]);
    else
        tc_cli_hint("write it as separate arguments: toolcage exec %s", words[0]);
    return true;
}
