/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The verb agent: parses the options and executes toolcage-agent. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "cli/call/lookup.h"
#include "cli/call/secret.h"
#include "cli/call/sibling.h"
#include "cli/show/say.h"

static const struct tc_option options[] = {
    {"upstream", 0, "URL", NULL, "the model server: http://127.0.0.1:8080"},
    {"model", 0, "NAME", NULL, "the model's name on the server"},
    {"key-file", 0, "FILE", NULL, "the server's API key, in a file that only you can read"},
    {"key-env", 0, "NAME", NULL, "the API key, in an environment variable"},
    TC_OPTION_POLICY,
    TC_OPTION_WORKSPACE,
    {"approve", 0, NULL, NULL, "show each call and ask before it runs"},
    {"max-turns", 0, "NUMBER", NULL, "maximum requests to the server (default: 20)"},
    {"max-tokens", 0, "NUMBER", NULL,
     "maximum tokens, as reported by the server (default: 200000)"},
    {"max-time", 0, "TIME", NULL, "time limit of the whole run (default: 10m)"},
    {"transcript", 0, "FILE", NULL,
     "append each message, and continue the conversation in the file"},
    {"jsonl", 0, NULL, NULL, "lines of JSON: tasks and approvals in, events out"},
    TC_OPTION_HELP,
    {0},
};

static const char text[] =
    "Sends the task to a model over /v1/chat/completions, runs the tools that it calls in their "
    "cages\n"
    "and returns the results, until the model answers. Only the policy's tools are offered, and "
    "the\n"
    "names and arguments of calls are checked on this host. The agent itself runs no program.\n"
    "\n"
    "exit codes: 0 answered, 124 a limit was reached, 125 the server or toolcage failed, 126 "
    "refused\n"
    "\n"
    "examples:\n"
    "  toolcage agent --upstream http://127.0.0.1:8080 --policy tools.toml 'how many rows has "
    "a.csv?'\n"
    "  toolcage agent --upstream http://127.0.0.1:11434 --model qwen3 --approve 'tidy up'\n"
    "  toolcage agent --upstream http://127.0.0.1:8080 --transcript ~/talk.jsonl 'and now?'\n";

/* A positive number; -1 with the failure. */
static long long read_number(const struct tc_args *args, const char *name, long long usual,
                             struct tc_failure *failure)
{
    const char *given = tc_args_value(args, name);
    char *end = NULL;
    if (!given)
        return usual;
    long long n = given[0] >= '1' && given[0] <= '9' ? strtoll(given, &end, 10) : 0;
    if (n > 0 && n < INT_MAX && !*end)
        return n;
    return tc_failure_set(failure, TOOLCAGE_EUSAGE, "write a positive number",
                          "--%s %s is not a number from 1 on", name, given);
}

/* The chat completions URL below the given one; owned. */
static char *make_url(const char *given, struct tc_failure *failure)
{
    char *url = NULL;
    size_t length = strlen(given);
    while (length && given[length - 1] == '/')
        length--;
    bool version = length > 3 && strncmp(given + length - 3, "/v1", 3) == 0;
    if (strncmp(given, "http://", 7) != 0 && strncmp(given, "https://", 8) != 0)
        (void)tc_failure_set(failure, TOOLCAGE_EUSAGE, "write --upstream http://127.0.0.1:8080",
                             "--upstream %s is not an http:// or https:// URL", given);
    else if (strpbrk(given, "?#@ "))
        (void)tc_failure_set(failure, TOOLCAGE_EUSAGE,
                             "pass the API key with --key-file or --key-env",
                             "a URL with a query, a fragment or a user name is not accepted");
    else
        url = tc_cli_format("%.*s%s/chat/completions", (int)length, given, version ? "" : "/v1");
    return url;
}

static void put_text(FILE *out, const char *key, const char *value)
{
    if (!value)
        return;
    (void)fprintf(out, ",\"%s\":", key);
    tc_cli_json_string(out, value);
}

struct wanted {
    long long turns, tokens, ms;
    char *url, *key;
};

/* Owned; NULL: out of memory. */
static char *write_config(const struct tc_args *args, const struct tc_found *found,
                          const struct wanted *w)
{
    char *made = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&made, &size);
    if (!out)
        return NULL;
    (void)fprintf(out, "{\"max_turns\":%lld,\"max_tokens\":%lld,\"max_ms\":%lld", w->turns,
                  w->tokens, w->ms);
    (void)fprintf(out, ",\"approve\":%s,\"jsonl\":%s",
                  tc_args_has(args, "approve") ? "true" : "false",
                  tc_args_has(args, "jsonl") ? "true" : "false");
    put_text(out, "url", w->url);
    put_text(out, "key", w->key);
    put_text(out, "model", tc_args_value(args, "model"));
    put_text(out, "policy", found->path);
    put_text(out, "digest", toolcage_policy_digest(found->policy));
    put_text(out, "workspace", tc_args_value(args, "workspace"));
    put_text(out, "transcript", tc_args_value(args, "transcript"));
    put_text(out, "task", args->operands[0]);
    (void)fputc('}', out);
    return tc_cli_text(out, &made);
}

static int get_key(const struct tc_args *args, const struct tc_found *found, struct wanted *w,
                   struct tc_failure *failure)
{
    const char *file = tc_args_value(args, "key-file"), *name = tc_args_value(args, "key-env");
    if (file && name)
        return tc_failure_set(failure, TOOLCAGE_EUSAGE, "keep one of them",
                              "--key-file and --key-env both set the API key");
    if (!file && !name)
        return 0;
    const struct tc_writers writers = {found->policy, tc_args_value(args, "workspace")};
    w->key = file ? tc_secret_read(file, true, writers, failure)
                  : tc_secret_take_env(name, "key-file", failure);
    return w->key ? tc_secret_judge(w->key, 1, file ? file : name, failure) : -1;
}

static int understand(const struct tc_args *args, const struct tc_found *found, struct wanted *w,
                      struct tc_failure *failure)
{
    const char *upstream = tc_args_value(args, "upstream"), *time = tc_args_value(args, "max-time");
    if (!upstream)
        return tc_failure_set(failure, TOOLCAGE_EUSAGE, "add --upstream http://127.0.0.1:8080",
                              "no model server was given");
    if (tc_args_has(args, "approve") && !tc_args_has(args, "jsonl") &&
        (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO)))
        return tc_failure_set(failure, TOOLCAGE_EUSAGE, "run it in a terminal, or add --jsonl",
                              "--approve shows each call and asks, and standard input or standard "
                              "error is not a terminal");
    w->turns = read_number(args, "max-turns", 20, failure);
    w->tokens = w->turns < 0 ? -1 : read_number(args, "max-tokens", 200000, failure);
    w->ms = w->tokens < 0 ? -1 : tc_read_time("max-time", time ? time : "10m", failure);
    if (w->ms < 0 || get_key(args, found, w, failure))
        return -1;
    w->url = make_url(upstream, failure);
    return w->url ? 0 : -1;
}

/* Returns only on failure. */
static int become(const struct tc_args *args, const struct tc_found *found, struct wanted *w,
                  struct tc_failure *failure)
{
    static char name[] = "toolcage-agent";
    char *argv[] = {name, NULL};
    if (understand(args, found, w, failure))
        return -1;
    _autofd_ int program = tc_sibling_open(name, "which asks the model server", failure);
    if (program < 0)
        return -1;
    _autofd_ int config = tc_secret_hand_over(write_config(args, found, w), failure);
    return config < 0 ? -1 : tc_sibling_become(program, argv, environ, &config, 1, failure);
}

static int run_agent(const struct tc_args *args)
{
    _autofailure_ struct tc_failure failure = {0};
    _autofound_ struct tc_found found = {0};
    struct wanted w = {0};
    int rc = tc_lookup(tc_args_value(args, "policy"), TC_LOOKUP_TRUSTED, &found, &failure);
    if (!rc && !found.path)
        rc = tc_failure_set(&failure, TOOLCAGE_ENOT_FOUND,
                            "write a policy (toolcage init), or name one with --policy FILE",
                            "there is no policy here, so there are no tools to offer");
    if (!rc)
        rc = become(args, &found, &w, &failure);
    free(w.url);
    free(w.key);
    return rc ? tc_failure_tell(&failure, args, NULL) : 0;
}

const struct tc_verb tc_verb_agent = {
    .name = "agent",
    .operands = "--upstream URL [TASK]",
    .summary = "let a model on your own server call the tools",
    .text = text,
    .options = options,
    .least = 0,
    .most = 1,
    .run = run_agent,
};
