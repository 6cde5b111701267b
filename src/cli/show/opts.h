/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Options are a table: it drives parsing, help and the answers to unknown ones. */
#ifndef TC_CLI_SHOW_OPTS_H
#define TC_CLI_SHOW_OPTS_H

#include "cli/cli.h"
#include "text/near.h"

struct tc_option {
    const char *name; /* without dashes; NULL ends a table */
    char letter;      /* 0: none */
    const char *arg;  /* what the help calls its value; NULL: takes none */
    const char *key;  /* the key of toolcage_call_set() that it narrows, with its value where the
                         option takes none; NULL: the verb's own */
    const char *help;
};

struct tc_given {
    const struct tc_option *option;
    const char *value; /* NULL when it takes none */
};

/* Of every verb, and before it: how, not what. */
extern const struct tc_option tc_options_all[];
/* `argv` begins with one of them: takes it. How many words it took, 0: it is none; or the exit code
 * negated, after saying what is wrong. */
int tc_option_all(int argc, char **argv);

/* A command line, taken apart. Everything is borrowed from argv but the two arrays. */
struct tc_args {
    const struct tc_verb *verb;
    struct tc_given *given;
    size_t given_count;
    char **operands; /* NULL-terminated */
    size_t operand_count;
    bool help;
};

/* clang-format off */
#define TC_OPTION_HELP    {"help", 'h', NULL, NULL, "this text"}
#define TC_OPTION_POLICY  {"policy", 0, "FILE", NULL, "the policy file, in place of the one found"}
#define TC_OPTION_JSON    {"json", 0, NULL, NULL, "one line of JSON on standard output and nothing else"}
#define TC_OPTION_WORKSPACE {"workspace", 0, "DIR", "workspace", "what /workspace stands for (default: this directory)"}
#define TC_OPTION_TIMINGS {"timings", 0, NULL, NULL, "show on standard error how long each step took"}
#define TC_OPTION_SESSION {"session", 0, "NAME", NULL, "continue with what the last call of this session left"}
#define TC_OPTION_OUTPUT_DIR {"output-dir", 0, "DIR", NULL, "write the files that collect names below this directory"}
#define TC_OPTIONS_NARROWING                                                                        \
    {"read", 0, "PATH[=FROM]", "read", "a path the tool may read; FROM: where it is on this machine"}, \
    {"write", 0, "PATH[=FROM]", "write", "a path the tool may write"},                               \
    {"network", 0, "none|HOST:PORT", "network", "no network, or an endpoint the tool may reach"},    \
    {"unix-sockets", 0, "none|own|PATH", "unix_sockets", "no unix socket, the tool's own, or one it may use"}, \
    {"env", 'e', "NAME[=VALUE]", "env", "a variable for the tool; without VALUE: yours"},            \
    {"env-file", 0, "FILE", "env-file", "variables for the tool, NAME=VALUE on each line"},           \
    {"cwd", 0, "DIR", "cwd", "where the tool starts, as it sees it"},                                \
    TC_OPTION_WORKSPACE,                                                                             \
    {"timeout", 't', "TIME", "timeout", "end the call after this time: 500ms, 30s, 5m, 1h"},         \
    {"memory", 'm', "SIZE", "memory", "memory of the whole cage: 512MiB, 2GB"},                      \
    {"cpu-time", 0, "TIME", "cpu_time", "processor time of the whole cage"},                         \
    {"cpus", 0, "NUMBER", "cpus", "share of processors: 0.5, 2"},                                    \
    {"pids", 0, "NUMBER", "pids", "processes and threads at once"},                                  \
    {"disk", 0, "SIZE", "disk", "private storage (/tmp and the like)"},                              \
    {"open-files", 0, "NUMBER", "open_files", "open files of each process"},                         \
    {"connections", 0, "NUMBER", "connections", "connections to the network at one time"},           \
    {"transfer", 0, "SIZE", "transfer", "bytes to and from the network, together"},                  \
    {"bandwidth", 0, "SIZE", "bandwidth", "the same, per second"},                                  \
    {"output", 0, "SIZE", "output", "how much of each output stream is kept"},                       \
    {"commit", 0, "WHEN", "commit", "when changes reach this machine: on_success, always, ask or never"}, \
    {"dry-run", 0, NULL, "commit=never", "show what the tool would change, and change nothing"},     \
    {"denials", 0, "calls|paths|accesses|off", "denials", "what is watched and listed"},  \
    {"why", 0, NULL, "denials=paths", "list the paths that were refused, and what would allow them"}, \
    {"backend", 0, "NAME", "backend", "the kind of cage"},                                           \
    {"collect", 0, "PATTERN", "collect", "changed files that the result holds"}
/* clang-format on */

/* Takes argv (after the verb's own words) apart. 0, or the exit code after saying what is wrong.
 * The arrays are freed by tc_args_done(), also on failure. */
int tc_args_parse(const struct tc_verb *verb, int argc, char **argv, struct tc_args *ret);
void tc_args_done(struct tc_args *args);

bool tc_args_has(const struct tc_args *args, const char *name);
/* The value given last, or NULL. */
const char *tc_args_value(const struct tc_args *args, const char *name);

/* The whole help of a verb, and the line that names its use. Owned by the caller; NULL without
 * memory. */
char *tc_args_help(const struct tc_verb *verb);

/* Of candidates for what somebody typed: at most a third of it away. */
static inline struct tc_near tc_near_to(const char *word)
{
    return (struct tc_near){.name = word, .most = (unsigned)strlen(word) / 3 + 1};
}

#endif
