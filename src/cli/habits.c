/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cli/habits.h"

#include <stdio.h>
#include <string.h>

#include "cli/say.h"

static const struct {
    const char *option, *hint;
} habits[] = {
    {"--rm", "leave it out: nothing of a cage is left after its call"},
    {"-i", "leave it out: standard input passes by default (--stdin none stops it)"},
    {"-it", "leave it out: standard input passes by default, and a cage has no terminal"},
    {"-ti", "leave it out: standard input passes by default, and a cage has no terminal"},
    {"--interactive", "leave it out: standard input passes by default (--stdin none stops it)"},
    {"--tty", "leave it out: a cage has no terminal"},
    {"--detach", "a call ends with its toolcage: use your shell's & instead"},
    {"-d", "a call ends with its toolcage: use your shell's & instead"},
    {"--privileged",
     "there is no such thing: a tool never has privileges; grant paths and endpoints"},
    {"--cap-add", "there is no such thing: a tool never has capabilities"},
    {"--cap-drop", "leave it out: a tool never has capabilities"},
    {"--security-opt", "leave it out: every cage has seccomp, Landlock and no new privileges"},
    {"--read-only", "leave it out: only what --write grants can be written"},
    {"--user", "leave it out: a cage always runs as an unprivileged user"},
    {"-u", "leave it out: a cage always runs as an unprivileged user"},
    {"--uid", "leave it out: a cage always runs as an unprivileged user"},
    {"--gid", "leave it out: a cage always runs as an unprivileged user"},
    {"--net", "write --network none, or --network HOST:PORT for each endpoint"},
    {"--no-net", "write --network none (the default)"},
    {"--no-network", "write --network none (the default)"},
    {"--allow-net", "write --network HOST:PORT for each endpoint"},
    {"--publish", "a cage has no incoming connections; its own loopback works inside"},
    {"-p", "a cage has no incoming connections; its own loopback works inside"},
    {"--workdir", "write --cwd DIR"},
    {"-w", "write --cwd DIR, or --write PATH for a path the tool may write"},
    {"--chdir", "write --cwd DIR"},
    {"--setenv", "write --env NAME=VALUE"},
    {"--env-file", "write --env NAME=VALUE for each variable"},
    {"--pids-limit", "write --pids NUMBER"},
    {"--ulimit", "write --open-files, --pids, --memory or --cpu-time"},
    {"--stop-timeout", "write --timeout TIME"},
    {"--tmpfs", "leave it out: /tmp is private in every cage; its size is --disk SIZE"},
    {"--proc", "leave it out: every cage has a /proc of its own"},
    {"--dev", "leave it out: every cage has a minimal /dev"},
    {"--die-with-parent", "leave it out: a cage always ends with its toolcage"},
    {"--new-session", "leave it out: a cage always has a session of its own"},
    {"--allow-read", "write --read PATH"},
    {"--allow-write", "write --write PATH"},
    {"--ro", "write --read PATH"},
    {"--rw", "write --write PATH"},
    {"--rox", "write --read PATH: what can be read may be executed"},
    {"--image", "images belong to the policy: image = \"…\" in a tool of toolcage.toml"},
    {"--verbose", "--timings shows the steps, --json the whole result"},
};

/* SRC:DST[:OPTIONS], as container engines write a mount. */
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

/* --bind SRC DST, as bubblewrap writes it. */
static void bind(const char *flag, const char *source, const char *target)
{
    if (!source || !target)
        tc_cli_hint("paths are granted by --read PATH[=FROM] and --write PATH[=FROM]");
    else if (!strcmp(source, target))
        tc_cli_hint("write %s %s", flag, target);
    else
        tc_cli_hint("write %s %s=%s", flag, target, source);
}

static bool is(const char *word, const char *option)
{
    size_t length = strlen(option);
    return !strncmp(word, option, length) && (!word[length] || word[length] == '=');
}

bool tc_habit_option(int argc, char **argv)
{
    const char *word = argv[0], *equals = strchr(word, '=');
    const char *first = equals ? equals + 1 : argc > 1 ? argv[1] : NULL;
    if (is(word, "-v") || is(word, "--volume"))
        return volume(first ? first : ""), true;
    if (is(word, "--ro-bind") || is(word, "--ro-bind-try"))
        return bind("--read", first, argc > 2 ? argv[2] : NULL), true;
    if (is(word, "--bind") || is(word, "--bind-try") || is(word, "--dev-bind"))
        return bind("--write", first, argc > 2 ? argv[2] : NULL), true;
    if (is(word, "--mount"))
        return volume(""), true;
    if (!strncmp(word, "--unshare-", 10))
        return tc_cli_hint("leave it out: every cage has namespaces of its own"), true;
    for (size_t i = 0; i < TC_COUNT(habits); i++)
        if (is(word, habits[i].option))
            return tc_cli_hint("%s", habits[i].hint), true;
    return false;
}

int tc_habit_values(const struct tc_args *args)
{
    static const char *const shared[] = {"host",    "bridge",      "default", "all",
                                         "private", "slirp4netns", "pasta"};
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

bool tc_habit_one_word(char *const words[])
{
    if (words[1] || !strpbrk(words[0], " \t"))
        return false;
    if (strpbrk(words[0], "|&;<>$`*?'\"\\"))
        tc_cli_hint("a whole command line in one word needs a shell: toolcage exec sh -c '%s'",
                    strchr(words[0], '\'') ? "…" : words[0]);
    else
        tc_cli_hint("write each word as an argument of its own: toolcage exec %s", words[0]);
    return true;
}
