/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * `toolcage allow`: prints the policy edit that would have allowed the last denials. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/call/dangers.h"
#include "cli/call/last.h"
#include "cli/call/trust.h"
#include "cli/show/diff.h"
#include "cli/show/io.h"
#include "cli/show/json.h"
#include "cli/show/say.h"
#include "text/shell.h"

static const struct tc_option options[] = {
    {"last", 0, NULL, NULL, "what was denied last"},
    TC_OPTION_HELP,
    {0},
};

static const char text[] =
    "Prints the change to the policy that would have allowed what was denied last, as a diff "
    "for you to\n"
    "read and apply: nothing is changed here. The denials are those of exec and call; with "
    "--why they\n"
    "include refused paths. The rest of the file stays as it is; if the file cannot be edited "
    "safely,\n"
    "what to add is printed, and where.\n"
    "\n"
    "--last is for reading, and names the call. CALL is that id: if another call was denied "
    "something\n"
    "since, its change is not printed. Into a pipe or a file --last prints only what a terminal "
    "showed\n"
    "before.\n"
    "\n"
    "exit codes: 0 a change was printed; 1 no change of the policy allows it\n"
    "\n"
    "examples:\n"
    "  toolcage exec --why --tool build make\n"
    "  toolcage allow --last\n"
    "  toolcage allow 01JD8XKQ7PZ3T5V9WYB2C4D6E8 | patch toolcage.toml && toolcage policy trust "
    "toolcage.toml\n";

struct change {
    char *call;
    char *policy, *tool; /* NULL: none */
    char *before, *after;
    int made;
};

static void done(struct change *c)
{
    free(c->call);
    free(c->policy);
    free(c->tool);
    free(c->before);
    free(c->after);
}

/* Adds one denial to the policy text, or prints the reason why not. */
static int allow(struct change *c, const char *operation, const char *target,
                 struct tc_failure *failure)
{
    char *next = NULL;
    struct toolcage_error *why = NULL;
    /* a grant of a missing path would refuse every call */
    bool missing = target[0] == '/' && strncmp(target, "/workspace", strlen("/workspace")) != 0 &&
                   access(target, F_OK) && (errno == ENOENT || errno == ENOTDIR);
    _autofree_ char *wanted = tc_cli_format("%s%s %s", operation, missing ? "?" : "", target);
    if (!wanted)
        return tc_failure_set(failure, TOOLCAGE_EMEMORY, NULL, "out of memory");
    if (toolcage_policy_allow_text(c->after, strlen(c->after), c->policy, c->tool, wanted, &next,
                                   &why)) {
        tc_cli_say("no change of this policy allows %s %s: %s", operation, target,
                   toolcage_error_message(why));
        if (*toolcage_error_hint(why))
            tc_cli_hint("%s", toolcage_error_hint(why));
        toolcage_error_free(why);
        return 0;
    }
    free(c->after);
    c->after = strdup(next);
    toolcage_free(next);
    c->made++;
    return c->after ? 0 : tc_failure_set(failure, TOOLCAGE_EMEMORY, NULL, "out of memory");
}

/* The option that allows a denial, as a line quoted for a shell; NULL: none. The hint of a path is
 * the option. */
static char *option_for(struct tc_slice denial)
{
    _autofree_ char *endpoint = tc_json_text(tc_json_get(denial, "endpoint"));
    _autofree_ char *target = tc_json_text(tc_json_get(denial, "target"));
    _autofree_ char *hint = tc_json_text(tc_json_get(denial, "hint"));
    _autofree_ char *word = endpoint ? tc_shell_quote(endpoint) : NULL;
    if (word)
        return tc_cli_format("--network %s\n", word);
    if (target && !strcmp(target, "socket(AF_UNIX)"))
        return strdup("--unix-sockets own\n");
    return hint && strncmp(hint, "--", 2) == 0 && !strchr(hint, '\n') ? tc_cli_format("%s\n", hint)
                                                                      : NULL;
}

/* What no entry and no option allows: the denial's hint is the reason, or what to do. */
static void say_rest(struct tc_slice denial)
{
    _autofree_ char *operation = tc_json_text(tc_json_get(denial, "operation"));
    _autofree_ char *target = tc_json_text(tc_json_get(denial, "target"));
    _autofree_ char *hint = tc_json_text(tc_json_get(denial, "hint"));
    tc_cli_say("%s %s: %s", operation ? operation : "?", target ? target : "",
               hint ? hint : "nothing allows it");
}

/* Without a policy file the grant comes from options. */
static int name_options(struct tc_slice denials)
{
    struct tc_scan_each each = tc_scan_walk(denials);
    int named = 0, told = 0;
    while (tc_scan_next(&each)) {
        if (tc_json_true(tc_json_get(each.value, "probe")))
            continue;
        _autofree_ char *line = option_for(each.value);
        int rc = line ? tc_cli_print_clean(line) : 0;
        if (rc)
            return rc;
        if (!line)
            say_rest(each.value);
        named += line != NULL;
        told++;
    }
    if (!told)
        tc_cli_say("no option allows what was denied last");
    return named ? 0 : 1;
}

/* Are the recorded denials those of the call that the user means: the call that the operand names,
 * or, if the output is not a terminal, the call whose denials were viewed last? Each call replaces
 * the record, and the tool of that call determines the record's content. 0 or -1. */
static int check_call(const struct tc_args *args, const char *call, struct tc_failure *failure)
{
    const char *wanted = args->operand_count ? args->operands[0] : NULL;
    if (!wanted)
        return isatty(STDOUT_FILENO) ? 0 : tc_viewed_check("denials", call, failure);
    if (strcmp(wanted, call) == 0)
        return 0;
    _autofree_ char *hint = tc_cli_format("toolcage allow %s shows them", call);
    return tc_failure_set(failure, TOOLCAGE_EUSAGE, hint,
                          "the last denials are those of call %s; those of call %s are not stored",
                          call, wanted);
}

static int load_change(struct change *c, const struct tc_args *args, struct tc_slice record,
                       struct tc_failure *failure)
{
    c->call = tc_json_line(tc_json_get(record, "call"));
    if (!c->call)
        return tc_failure_set(failure, TOOLCAGE_ENOT_FOUND, "run the call again",
                              "the record of denials names no call");
    if (check_call(args, c->call, failure))
        return -1;
    c->policy = tc_json_text(tc_json_get(record, "policy"));
    c->tool = tc_json_text(tc_json_get(record, "tool"));
    c->before = c->policy ? tc_cli_read_file(c->policy) : NULL;
    if (c->policy && !c->before)
        return tc_failure_set(failure, TOOLCAGE_ESYSTEM, "run the call again",
                              "cannot read the policy %s: %s", c->policy, strerror(errno));
    c->after = c->before ? strdup(c->before) : NULL;
    return 0;
}

static int change(struct change *c, struct tc_slice denials, struct tc_failure *failure)
{
    for (struct tc_scan_each each = tc_scan_walk(denials); tc_scan_next(&each);) {
        _autofree_ char *operation = tc_json_text(tc_json_get(each.value, "operation"));
        _autofree_ char *target = tc_json_text(tc_json_get(each.value, "target"));
        _autofree_ char *endpoint = tc_json_text(tc_json_get(each.value, "endpoint"));
        if (!operation || !target || tc_json_true(tc_json_get(each.value, "probe")))
            continue;
        if (!endpoint && (!strcmp(operation, "connect") || !strcmp(operation, "syscall")))
            say_rest(each.value);
        else if (allow(c, operation, endpoint ? endpoint : target, failure))
            return -1;
    }
    return 0;
}

static struct toolcage_policy *load_text(const struct change *c, const char *from)
{
    struct toolcage_policy *policy = NULL;
    return toolcage_policy_load_buffer(from, strlen(from), c->policy, &policy, NULL) ? NULL
                                                                                     : policy;
}

/* Was the text before the change trusted? If not, the file has other changes that were never
 * displayed. */
static bool was_trusted(const struct change *c)
{
    _autofailure_ struct tc_failure failure = {0};
    _autofree_ char *real = realpath(c->policy, NULL);
    struct toolcage_policy *policy = load_text(c, c->before);
    enum tc_trust trust = TC_TRUST_NEVER;
    if (real && policy && tc_trust_check(real, toolcage_policy_digest(policy), &trust, &failure))
        trust = TC_TRUST_NEVER;
    (void)toolcage_policy_unref(policy);
    return trust == TC_TRUST_YES;
}

/* Prints how to apply the change and to trust exactly its result. */
static void hint_at_change(const struct change *c)
{
    struct toolcage_policy *policy = was_trusted(c) ? load_text(c, c->after) : NULL;
    _autofree_ char *path = tc_shell_quote(c->policy);
    _autofree_ char *trust =
        tc_trust_command(c->policy, policy ? toolcage_policy_digest(policy) : NULL);
    if (path && trust)
        tc_cli_hint("toolcage allow %s | patch %s, then %s", c->call, path, trust);
    (void)toolcage_policy_unref(policy);
}

static int print_change(const struct change *c)
{
    const char *const names[] = {c->policy, c->policy};
    _autofree_ char *diff = tc_lines_diff(names, c->before, c->after);
    int rc = diff ? tc_cli_print_painted(TC_PAINT_DIFF, diff) : tc_cli_no_memory();
    if (rc)
        return rc;
    tc_dangers_tell(c->policy, c->before, c->after, "note");
    tc_cli_say("nothing was changed; read it, and apply it if the tool should have this");
    hint_at_change(c);
    return 0;
}

static int print(struct change *c, struct tc_slice record, struct tc_failure *failure)
{
    struct tc_slice denials = tc_json_get(record, "denials");
    tc_last_say(record);
    if (!c->policy)
        return name_options(denials);
    if (change(c, denials, failure))
        return -1;
    return c->made ? print_change(c) : 1;
}

static int run_allow(const struct tc_args *args)
{
    _autofailure_ struct tc_failure failure = {0};
    struct change c = {0};
    if (tc_args_has(args, "last") == (args->operand_count > 0)) {
        tc_cli_say("allow: give the id of a call, or --last");
        tc_cli_hint("toolcage allow --last");
        return TC_EXIT_FAILURE;
    }
    _autofree_ char *record = tc_last_read(&failure);
    struct tc_slice json = record ? tc_json_of(record) : (struct tc_slice){0};
    int rc = record && !load_change(&c, args, json, &failure) ? print(&c, json, &failure) : -1;
    if (rc < 0)
        rc = tc_failure_tell(&failure, args, NULL);
    else if (!rc && isatty(STDOUT_FILENO))
        tc_viewed_keep("denials", c.call);
    done(&c);
    return rc;
}

const struct tc_verb tc_verb_allow = {
    .name = "allow",
    .operands = "CALL|--last",
    .summary = "print the policy change that allows what was denied last",
    .text = text,
    .options = options,
    .least = 0,
    .most = 1,
    .run = run_allow,
};
