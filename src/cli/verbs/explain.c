/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Displays the grant of a tool or a command, in columns or as JSON. No tool runs, so an untrusted
 * policy may be explained, to decide whether to trust it. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/call/lookup.h"
#include "cli/call/setup.h"
#include "cli/show/fold.h"
#include "cli/show/io.h"
#include "cli/show/json.h"
#include "cli/show/say.h"
#include "cli/show/table.h"
#include "text/utf8.h"

/* ---- one access, for a person ---- */

enum { LABEL = 10, LINE_WIDTH = 98, QUOTED = 160 };

static void put_label(FILE *out, const char *label, const char *fmt, ...) TC_PRINTF(3, 4);
static void put_label(FILE *out, const char *label, const char *fmt, ...)
{
    _autofree_ char *words = NULL;
    va_list ap;
    va_start(ap, fmt);
    if (vasprintf(&words, fmt, ap) < 0)
        words = NULL;
    va_end(ap);
    (void)fprintf(out, "%-*s", LABEL, label);
    tc_cli_wrap(out, words ? words : "?", LABEL, tc_fold_most(LINE_WIDTH));
}

/* ---- the policy's text ---- */

/* The start of line `number`, or NULL. */
static const char *find_line(const char *text, int64_t number)
{
    for (int64_t n = 1; text && n < number; n++) {
        text = strchr(text, '\n');
        text = text ? text + 1 : NULL;
    }
    return text;
}

/* Finds the entry in its line, where the port of an endpoint may be missing. *ret_length is the
 * matched length. */
static const char *find_entry(const char *line, const char *end, const char *entry,
                              size_t *ret_length)
{
    *ret_length = entry ? strlen(entry) : 0;
    const char *found = *ret_length ? memmem(line, (size_t)(end - line), entry, *ret_length) : NULL;
    const char *colon = *ret_length && !found ? strrchr(entry, ':') : NULL;
    if (!colon || colon == entry)
        return found;
    *ret_length = (size_t)(colon - entry);
    return memmem(line, (size_t)(end - line), entry, *ret_length);
}

static void put_caret(FILE *out, const char *from, const char *found, size_t length)
{
    (void)fputs("      | ", out);
    for (const char *at = from; at < found; at++)
        if (!tc_utf8_inside(*at))
            (void)fputc(*at == '\t' ? '\t' : ' ', out);
    (void)fputc('^', out);
    for (size_t i = tc_utf8_count(found, length); i > 1; i--)
        (void)fputc('~', out);
    (void)fputc('\n', out);
}

/* Quotes the line with a caret below the deciding entry. A shipped profile has no file. A long line
 * starts shortly before the entry. */
static void put_quote(FILE *out, const char *path, int64_t number, const char *entry)
{
    bool shipped = path && !strncmp(path, "profile:", strlen("profile:"));
    _autofree_ char *text = path && !shipped ? tc_cli_read_file(path) : NULL;
    const char *line = number > 0 ? find_line(text, number) : NULL;
    if (!line)
        return;
    size_t length;
    const char *end = line + strcspn(line, "\r\n");
    const char *found = find_entry(line, end, entry, &length);
    const char *from = found && found - line > QUOTED / 2 ? found - QUOTED / 2 : line;
    while (from > line && tc_utf8_inside(*from))
        from++;
    size_t shown = (size_t)(end - from) > QUOTED ? QUOTED : (size_t)(end - from);
    (void)fprintf(out, "%5" PRId64 " | %.*s\n", number, (int)shown, from);
    if (found)
        put_caret(out, from, found, length);
}

static const char *whose(const char *key, int64_t line, const struct tc_setup *setup)
{
    if (!*key)
        return "part of every cage, independent of the policy";
    if (!setup->found.path)
        return "the default without a policy, and the options of this call";
    if (line <= 0)
        return strchr(key, '.') ? "no key sets it: the default is none"
                                : "toolcage's own rule, which no policy can change";
    return !strncmp(key, "defaults.", strlen("defaults.")) ? "inherited from [defaults]"
                                                           : "set by the tool itself";
}

static void put_key(FILE *out, const struct tc_setup *setup, const char *key, int64_t line,
                    const char *file)
{
    const char *by = whose(key, line, setup);
    if (line > 0)
        put_label(out, "by", "%s, line %" PRId64 "%s%s: %s", key, line, file ? " of " : "",
                  file ? file : "", by);
    else
        put_label(out, "by", "%s%s%s", key, *key ? ": " : "", by);
}

/* The other files that contribute to this line, and the ceiling that the grant is compared with. */
static void put_files(FILE *out, struct tc_slice grant)
{
    struct tc_scan_each each =
        tc_scan_walk(tc_json_get(tc_json_get(grant, "verdict"), "extended_by"));
    _autofree_ char *within = tc_json_line(tc_json_get(grant, "within"));
    while (tc_scan_next(&each)) {
        _autofree_ char *file = tc_json_line(tc_json_get(each.value, "file"));
        put_label(out, "extended", "by %s, line %" PRId64, file ? file : "",
                  tc_json_int(tc_json_get(each.value, "line"), 0));
    }
    if (within)
        put_label(out, "within", "%s: it gives all of this grant, too", within);
}

/* ---- enforcement ---- */

static void put_backend(FILE *out, struct tc_slice grant)
{
    struct tc_slice by = tc_json_get(grant, "chosen_by");
    _autofree_ char *name = tc_json_text(tc_json_get(grant, "backend"));
    _autofree_ char *why = tc_json_text(tc_json_get(by, "why"));
    _autofree_ char *key = tc_json_text(tc_json_get(by, "key"));
    _autofree_ char *file = tc_json_line(tc_json_get(by, "file"));
    int64_t line = tc_json_int(tc_json_get(by, "line"), 0);
    if (!name || !why || !key)
        return;
    if (line > 0)
        put_label(out, "backend", "%s: %s (%s, line %" PRId64 "%s%s)", name, why, key, line,
                  file ? " of " : "", file ? file : "");
    else
        put_label(out, "backend", "%s: %s", name, why);
}

/* This host's probe result: for the process backend per clause, for other backends whether they
 * start. */
static char *mechanism_here(const struct tc_setup *setup, const char *backend, const char *clause)
{
    char *json = NULL, *words = NULL;
    if (!strcmp(backend, "not-a-security-boundary"))
        return strdup("nothing: this backend enforces nothing");
    if (toolcage_engine_doctor_json(setup->engine, &json, NULL))
        return strdup("unknown: the machine could not be checked (toolcage doctor)");
    struct tc_slice report = tc_json_of(json);
    bool process = !strcmp(backend, "process");
    struct tc_slice row = process
                              ? tc_json_find(tc_json_get(report, "clauses"), "clause", clause)
                              : tc_json_find(tc_json_get(report, "backends"), "backend", backend);
    bool works = tc_json_true(tc_json_get(row, "works"));
    _autofree_ char *how = tc_json_text(tc_json_get(row, works ? "mechanism" : "reason"));
    if (!row.at)
        words = strdup("nothing here, so the call is refused: that backend is not available");
    else if (!works)
        words = tc_cli_format("nothing here, so the call is refused: %s", how ? how : "");
    else if (process)
        words = strdup(how ? how : "");
    else
        words =
            tc_cli_format("%s (%s), or the call is refused", backend, how ? how : "it starts here");
    toolcage_free(json);
    return words;
}

/* `grant` is toolcage_call_explain_json()'s answer for an access. Is the access allowed, and can
 * this host enforce the grant? */
static bool is_yes(struct tc_slice grant)
{
    struct tc_slice here = tc_json_get(grant, "here");
    return tc_json_true(tc_json_get(tc_json_get(grant, "verdict"), "allowed")) &&
           (!here.at || tc_json_true(tc_json_get(here, "held")));
}

/* The backend that enforces the grant. */
static char *holder(struct tc_slice grant)
{
    struct tc_slice here = tc_json_get(grant, "here");
    return tc_json_true(tc_json_get(here, "held")) ? tc_json_text(tc_json_get(here, "backend"))
                                                   : tc_json_text(tc_json_get(grant, "backend"));
}

static void put_nothing(FILE *out, struct tc_slice grant)
{
    _autofree_ char *clause = tc_json_text(tc_json_get(tc_json_get(grant, "verdict"), "clause"));
    _autofree_ char *why = tc_json_line(tc_json_get(tc_json_get(grant, "here"), "reason"));
    if (clause && why)
        put_label(out, "held by", "%s: nothing here: %s", clause, why);
}

static void put_mechanism(FILE *out, const struct tc_setup *setup, struct tc_slice grant)
{
    _autofree_ char *backend = holder(grant);
    _autofree_ char *clause = tc_json_text(tc_json_get(tc_json_get(grant, "verdict"), "clause"));
    _autofree_ char *how = backend && clause ? mechanism_here(setup, backend, clause) : NULL;
    if (how)
        put_label(out, "held by", "%s: %s", clause, how);
}

static void put_tier(FILE *out, struct tc_slice grant)
{
    _autofree_ char *tier = tc_json_text(tc_json_get(grant, "tier"));
    bool asks = tc_json_true(tc_json_get(grant, "approval"));
    if (tier)
        put_label(out, "tier", "%s%s", tier, asks ? ": a person must approve each call" : "");
}

static void put_answer(FILE *out, const struct tc_setup *setup, const char *access,
                       struct tc_slice grant)
{
    struct tc_slice verdict = tc_json_get(grant, "verdict");
    _autofree_ char *reason = tc_json_line(tc_json_get(verdict, "reason"));
    _autofree_ char *key = tc_json_text(tc_json_get(verdict, "key"));
    _autofree_ char *hint = tc_json_line(tc_json_get(verdict, "hint"));
    _autofree_ char *entry = tc_json_text(tc_json_get(verdict, "entry"));
    _autofree_ char *file = tc_json_text(tc_json_get(verdict, "file"));
    int64_t line = tc_json_int(tc_json_get(verdict, "line"), 0);
    bool allowed = tc_json_true(tc_json_get(verdict, "allowed")), yes = is_yes(grant);
    (void)fprintf(out, "%s: %s",
                  yes       ? "allowed"
                  : allowed ? "refused here"
                            : "denied",
                  reason && *reason ? reason : access);
    if (key && *key && line > 0)
        (void)fprintf(out, " (%s, line %" PRId64 "%s%s)", key, line, file ? " of " : "",
                      file ? file : "");
    (void)fputc('\n', out);
    put_quote(out, file ? file : setup->found.path, line, entry);
    put_key(out, setup, key ? key : "", line, file);
    put_files(out, grant);
    put_tier(out, grant);
    put_backend(out, grant);
    if (allowed && !yes)
        put_nothing(out, grant);
    else
        put_mechanism(out, setup, grant);
    if (allowed && !yes)
        (void)fputs("hint: toolcage doctor lists what this machine can enforce\n", out);
    if (hint && *hint)
        (void)fprintf(out, "hint: %s\n", hint);
}

/* ---- the verb ---- */

enum { TC_EXIT_NOT_ALLOWED = 1 };

static const struct tc_option options[] = {
    TC_OPTION_POLICY,
    TC_OPTION_PRESET,
    {"tool", 0, "NAME", NULL, "the tool; without it a command under [defaults]"},
    {"server", 0, "NAME", NULL, "the MCP server; with --tool: one of its tools"},
    {"setup", 0, NULL, NULL, "the install phase of that tool or server"},
    {"arguments", 0, "JSON", NULL, "the arguments that a model would give"},
    TC_OPTION_WORKSPACE,
    {"read", 0, "PATH", NULL, "may it read this path?"},
    {"write", 0, "PATH", NULL, "may it write this path?"},
    {"exec", 0, "PATH", NULL, "may it execute this path?"},
    {"connect", 0, "HOST:PORT|unix:PATH", NULL, "may it reach this endpoint?"},
    TC_OPTION_JSON,
    TC_OPTION_HELP,
    {0},
};

static const char text[] =
    "For an access it prints the key and line that decide, what chose the backend, and what\n"
    "enforces it on this machine.\n\n"
    "exit codes: 0, or 1 when the access asked about is not allowed, or nothing here enforces "
    "it\n\n"
    "examples:\n"
    "  toolcage policy explain --tool list_files\n"
    "  toolcage explain --tool list_files --read /etc/shadow\n"
    "  toolcage policy explain --tool search --arguments '{\"text\": \"x\"}'\n"
    "  toolcage policy explain --server files --tool read_text_file --arguments '{\"path\": "
    "\"/x\"}'\n"
    "  toolcage policy explain --tool python --setup --connect pypi.org:443\n"
    "  toolcage policy explain -- make test\n"
    "  toolcage explain --preset python --write /workspace/out\n";

/* The one access in the options as "read PATH": owned, *ret NULL without one. 0 or the exit code.
 * */
static int question(const struct tc_args *args, char **ret)
{
    static const char *const kinds[] = {"read", "write", "exec", "connect"};
    *ret = NULL;
    for (size_t i = 0; i < TC_COUNT(kinds); i++) {
        const char *value = tc_args_value(args, kinds[i]);
        if (!value)
            continue;
        if (*ret) {
            tc_cli_say("policy explain answers one access at a time");
            tc_cli_hint("ask again for --%s %s", kinds[i], value);
            return TC_EXIT_FAILURE;
        }
        *ret = tc_cli_format("%s %s", kinds[i], value);
        if (!*ret)
            return tc_cli_no_memory();
    }
    return 0;
}

static int print_text(const struct tc_setup *setup, const char *access, struct tc_slice grant)
{
    static const char *const skip[] = {"verdict", NULL};
    char *all = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&all, &size);
    if (!out)
        return tc_cli_no_memory();
    bool whole = true;
    if (access) {
        put_answer(out, setup, access, grant);
    } else {
        whole = tc_table_object(out, grant, skip);
    }
    if (whole)
        return tc_cli_print_text(TC_PAINT_ROWS, out, &all);
    free(tc_cli_text(out, &all));
    return tc_cli_no_memory();
}

static int print_answer(const struct tc_args *args, const struct tc_setup *setup,
                        const char *access, const char *json)
{
    struct tc_slice grant = tc_json_of(json);
    int rc = tc_args_has(args, "json") ? tc_cli_print_line(json) : print_text(setup, access, grant);
    if (rc || !access)
        return rc;
    return is_yes(grant) ? 0 : TC_EXIT_NOT_ALLOWED;
}

/* An install phase takes no options of a call. */
static int check_setup(const struct tc_args *args, const char *tool, struct tc_failure *failure)
{
    static const char how[] = "toolcage explain --tool NAME --setup, or --server NAME --setup";
    bool server_tool = tc_args_value(args, "server") && tc_args_value(args, "tool");
    if (!tool || server_tool)
        return tc_failure_set(failure, TOOLCAGE_EUSAGE, how,
                              server_tool ? "a tool of a server has no separate install phase"
                                          : "--setup needs the tool or server whose install "
                                            "phase is meant");
    if (args->operand_count || tc_args_value(args, "arguments") || tc_args_value(args, "workspace"))
        return tc_failure_set(failure, TOOLCAGE_EUSAGE, how,
                              "an install phase takes no command, no arguments and no workspace");
    return 0;
}

static int open_install(const struct tc_args *args, const char *tool, struct tc_setup *setup,
                        struct tc_failure *failure)
{
    if (check_setup(args, tool, failure) ||
        tc_setup_open(args, tool, TC_LOOKUP_ANY, setup, failure))
        return -1;
    setup->call = toolcage_call_unref(setup->call);
    return toolcage_call_new_setup(setup->engine, setup->found.policy, tool, &setup->call,
                                   tc_failure_error(failure));
}

static int open_call(const struct tc_args *args, const char *tool, struct tc_setup *setup,
                     struct tc_failure *failure)
{
    if (tc_args_has(args, "setup"))
        return open_install(args, tool, setup, failure);
    if (tc_setup_open(args, tool, TC_LOOKUP_ANY, setup, failure))
        return -1;
    return tc_setup_command(setup, args->operands, args->operand_count, failure);
}

static void say_untrusted(const struct tc_found *found)
{
    _autofree_ char *command = tc_found_trust_command(found);
    tc_cli_say("%s is not trusted: nothing runs under it yet", found->path);
    if (command)
        tc_cli_hint("to trust the policy as it was read: %s", command);
}

static int prepare_explain(const struct tc_args *args, const char *tool, struct tc_setup *setup,
                           struct tc_failure *failure)
{
    const char *arguments = tc_args_value(args, "arguments");
    if (open_call(args, tool, setup, failure))
        return -1;
    if (setup->found.untrusted && !tc_args_has(args, "json"))
        say_untrusted(&setup->found);
    return arguments
               ? toolcage_call_set_arguments_json(setup->call, arguments, tc_failure_error(failure))
               : 0;
}

/* The install phase has a separate grant. */
static void hint_at_install(const struct tc_args *args, struct tc_slice grant)
{
    const char *server = tc_args_value(args, "server"), *tool = tc_args_value(args, "tool");
    if (tc_scan_is_object(tc_json_get(grant, "setup")))
        tc_cli_hint("the install phase has a separate grant: toolcage explain --%s %s "
                    "--setup",
                    server ? "server" : "tool", server ? server : tool);
}

static bool has_tool(const struct toolcage_policy *policy, const char *name)
{
    char *json = NULL;
    if (toolcage_policy_tools_json(policy, "toolcage", &json, NULL))
        return false;
    bool found = tc_json_find(tc_json_of(json), "name", name).at;
    toolcage_free(json);
    return found;
}

/* A single word may have been meant as the tool of that name. */
static void hint_at_tool(const struct tc_args *args, const struct tc_setup *setup)
{
    if (args->operand_count == 1 && !tc_args_value(args, "tool") &&
        !tc_args_value(args, "server") && setup->found.path &&
        has_tool(setup->found.policy, args->operands[0]))
        tc_cli_hint("this is a command under [defaults]; the tool of that name: toolcage explain "
                    "--tool %s",
                    args->operands[0]);
}

/* "server.files.tool.read": owned; NULL: out of memory. */
static char *place_of(const char *server, const char *tool)
{
    return tc_cli_format("server.%s%s%s", server, tool ? ".tool." : "", tool ? tool : "");
}

static int run_explain(const struct tc_args *args)
{
    _autosetup_ struct tc_setup setup = {0};
    _autofailure_ struct tc_failure failure = {0};
    _autofree_ char *access = NULL;
    const char *tool = tc_args_value(args, "tool"), *server = tc_args_value(args, "server");
    _autofree_ char *place = server ? place_of(server, tool) : NULL;
    char *json = NULL;
    int rc = question(args, &access);
    if (rc || (server && !place))
        return rc ? rc : tc_cli_no_memory();
    tool = server ? place : tool;
    if (prepare_explain(args, tool, &setup, &failure) ||
        toolcage_call_explain_json(setup.call, access, &json, tc_failure_error(&failure)))
        return tc_failure_tell(&failure, args, tool);
    rc = print_answer(args, &setup, access, json);
    if (!access && !tc_args_has(args, "json") && !tc_args_has(args, "setup"))
        hint_at_install(args, tc_json_of(json));
    if (!tc_args_has(args, "json"))
        hint_at_tool(args, &setup);
    toolcage_free(json);
    return rc;
}

const struct tc_verb tc_verb_policy_explain = {
    .name = "policy explain",
    .alias = "explain",
    .operands = "[options] [--tool NAME] [CMD [ARG]...]",
    .summary = "show the grant of a tool or command, or answer one access",
    .text = text,
    .options = options,
    .command = true,
    .most = -1,
    .run = run_explain,
};
