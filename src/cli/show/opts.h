/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Options are a table, used for parsing, help and error messages. */
#ifndef TC_CLI_SHOW_OPTS_H
#define TC_CLI_SHOW_OPTS_H

#include "cli/cli.h"
#include "text/near.h"

struct tc_option {
    const char *name; /* without dashes; NULL ends the table */
    char letter;      /* 0: none */
    const char *arg;  /* the value's name in the help; NULL: takes no value */
    const char *key;  /* the key for toolcage_call_set(), with its value if the option takes none;
                         NULL: handled by the verb */
    const char *help;
};

struct tc_given {
    const struct tc_option *option;
    const char *value; /* NULL if the option takes none */
};

/* Options that every verb takes, also before the verb. */
extern const struct tc_option tc_options_all[];
/* Parses one of these options at the start of `argv`. Returns the number of words, 0 if there is
 * none, or the negated exit code after an error message. */
int tc_option_all(int argc, char **argv);

/* A parsed command line. Everything but the two arrays is borrowed from argv. */
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
#define TC_OPTION_POLICY  {"policy", 0, "FILE", NULL, "the policy file, instead of the one found"}
#define TC_OPTION_JSON    {"json", 0, NULL, NULL, "one line of JSON on standard output and nothing else"}
#define TC_OPTION_WORKSPACE {"workspace", 0, "DIR", "workspace", "the directory mounted as /workspace (default: this one)"}
#define TC_OPTION_TIMINGS {"timings", 0, NULL, NULL, "show on standard error how long each step took"}
#define TC_OPTION_QUEUE   {"queue", 0, NULL, NULL, "without a terminal, wait until a person answers: toolcage approvals"}
#define TC_OPTION_NOTIFY  {"notify", 0, "PROGRAM", NULL, "with --queue: start this program for each request, which it reads"}
#define TC_OPTION_SESSION {"session", 0, "NAME", NULL, "reuse the session's /tmp and uncommitted changes"}
#define TC_OPTION_STDIN   {"stdin", 0, "auto|pass|none", NULL, "whether the tool reads standard input (auto: not from a terminal)"}
#define TC_OPTION_OUTPUT_DIR {"output-dir", 0, "DIR", NULL, "where to write the files of --collect"}
#define TC_OPTIONS_NARROWING                                                                        \
    {"read", 0, "PATH[=FROM]", "read", "a path the tool may read; FROM: the host path to show there"}, \
    {"write", 0, "PATH[=FROM]", "write", "a path the tool may write"},                               \
    {"network", 0, "none|HOST:PORT", "network", "no network, or an endpoint the tool may reach"},    \
    {"unix-sockets", 0, "none|own|PATH", "unix_sockets", "no unix socket, the tool's own, or one it may use"}, \
    {"env", 'e', "NAME[=VALUE]", "env", "a variable for the tool; without VALUE: yours"},            \
    {"env-file", 0, "FILE", "env-file", "variables for the tool, NAME=VALUE on each line"},           \
    {"cwd", 0, "DIR", "cwd", "where the tool starts, as it sees it"},                                \
    TC_OPTION_WORKSPACE,                                                                             \
    {"timeout", 't', "TIME", "timeout", "end the call after this time: 500ms, 30s, 5m, 1h"},         \
    {"memory", 'm', "SIZE", "memory", "memory of the whole cage: 512MiB, 2GB"},                      \
    {"cpu-time", 0, "TIME", "cpu_time", "CPU time of the whole cage"},                         \
    {"cpus", 0, "NUMBER", "cpus", "number of CPUs: 0.5, 2"},                                    \
    {"pids", 0, "NUMBER", "pids", "processes and threads at once"},                                  \
    {"disk", 0, "SIZE", "disk", "size of the private storage (/tmp and the like)"},                              \
    {"open-files", 0, "NUMBER", "open_files", "open files of each process"},                         \
    {"connections", 0, "NUMBER", "connections", "connections to the network at one time"},           \
    {"transfer", 0, "SIZE", "transfer", "total network bytes, both directions"},                  \
    {"bandwidth", 0, "SIZE", "bandwidth", "network bytes per second, both directions"},                                  \
    {"output", 0, "SIZE", "output", "how much of each output stream is kept"},                       \
    {"commit", 0, "WHEN", "commit", "when changes are applied: on_success, always, ask or never"}, \
    {"in-place", 0, NULL, "mode=bind", "change files at once; names that steer the host are read-only"}, \
    {"dry-run", 0, NULL, "commit=never", "show what the tool would change, and change nothing"},     \
    {"denials", 0, "calls|paths|accesses|off", "denials", "which denials are recorded and listed"},  \
    {"why", 0, NULL, "denials=paths", "list the paths that were refused, and what would allow them"}, \
    {"backend", 0, "NAME", "backend", "the kind of cage: process, oci, gvisor, qemu and others"},                                           \
    {"collect", 0, "PATTERN", "collect", "changed files of this name pattern go into the result"}
/* clang-format on */

/* Parses argv (after the verb's name). 0, or the exit code after an error message. Call
 * tc_args_done() also on failure. */
int tc_args_parse(const struct tc_verb *verb, int argc, char **argv, struct tc_args *ret);
void tc_args_done(struct tc_args *args);

bool tc_args_has(const struct tc_args *args, const char *name);
/* The last value of the option, or NULL. */
const char *tc_args_value(const struct tc_args *args, const char *name);

/* The help of a verb with its usage line. Owned by the caller; NULL if memory is exhausted. */
char *tc_args_help(const struct tc_verb *verb);

#endif
