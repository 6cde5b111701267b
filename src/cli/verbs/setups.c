/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The verb setup: runs, lists and removes the install phases of a policy. */
#include <stdio.h>
#include <string.h>

#include "cli/call/run.h"
#include "cli/show/json.h"
#include "cli/show/say.h"
#include "cli/show/table.h"

static const struct tc_option options[] = {
    {"tool", 0, "NAME", NULL, "only what this tool needs; server.NAME for a server"},
    {"force", 0, NULL, NULL, "install again what is already installed"},
    {"list", 0, NULL, NULL, "list what is installed and its size, and install nothing"},
    {"remove", 0, NULL, NULL, "remove what is installed"},
    {"all", 0, NULL, NULL, "with --remove: the installs of all your policies"},
    TC_OPTION_POLICY,
    TC_OPTION_JSON,
    TC_OPTION_HELP,
    {0},
};

static const char text[] = "Runs the install phases (`setup`) of the policy's tools, each in a "
                           "separate cage, and stores what\n"
                           "they install. The tools' calls see it read-only. An install from the "
                           "same clause and inputs is\n"
                           "not repeated. A failed install leaves nothing behind. With --json each "
                           "install prints its result\n"
                           "as one line; --list and --remove print one object.\n"
                           "\n"
                           "examples:\n"
                           "  toolcage setup\n"
                           "  toolcage setup --tool python --force\n"
                           "  toolcage setup --list\n"
                           "  toolcage setup --remove --all\n";

static int ask_setups(const struct tc_found *found, const struct tc_args *args, const char *action,
                      char **ret, struct tc_failure *failure)
{
    const char *tool = tc_args_value(args, "tool");
    struct toolcage_error **err = tc_failure_error(failure);
    if (tc_args_has(args, "all"))
        return toolcage_policy_clear_setups_json(found->policy, ret, err);
    return action[0] == 'r' ? toolcage_policy_remove_setups_json(found->policy, tool, ret, err)
                            : toolcage_policy_setups_json(found->policy, tool, ret, err);
}

static void put_row(FILE *out, struct tc_slice row)
{
    _autofree_ char *tool = tc_json_text(tc_json_get(row, "tool"));
    _autofree_ char *into = tc_json_line(tc_json_get(row, "into"));
    _autofree_ char *digest = tc_json_text(tc_json_get(row, "digest"));
    _autofree_ char *problem = tc_json_line(tc_json_get(row, "problem"));
    bool ready = tc_json_true(tc_json_get(row, "ready"));
    int64_t bytes = tc_json_int(tc_json_get(row, "bytes"), -1);
    char size[32] = "-";
    if (bytes >= 0)
        tc_table_size(size, sizeof(size), bytes);
    (void)fprintf(out, "%-20s  %-9s  %9s  %-24s  %.19s\n", tool ? tool : "?",
                  ready     ? "ready"
                  : problem ? "no input"
                            : "not ready",
                  size, into ? into : "?",
                  digest    ? digest
                  : problem ? problem
                            : "");
}

/* Reports installs that are not listed: of other policies, of earlier clauses and inputs, of other
 * tools. */
static void tell_others(struct tc_slice all)
{
    struct tc_slice kept = tc_json_get(all, "kept");
    int64_t count = tc_json_int(tc_json_get(kept, "count"), 0);
    int64_t bytes = tc_json_int(tc_json_get(kept, "bytes"), 0);
    struct tc_scan_each each = tc_scan_walk(tc_json_get(all, "setups"));
    while (tc_scan_next(&each)) {
        count -= tc_json_true(tc_json_get(each.value, "ready"));
        bytes -= tc_json_int(tc_json_get(each.value, "bytes"), 0);
    }
    char size[32];
    tc_table_size(size, sizeof(size), bytes > 0 ? bytes : 0);
    if (count <= 0)
        return;
    tc_cli_say("%d more of other policies, or from before a change: %s", (int)count, size);
    tc_cli_hint("toolcage setup --remove --all removes everything that is installed");
}

static int print(const struct tc_args *args, const char *json)
{
    char *all = NULL;
    size_t size = 0, count = 0;
    FILE *out = open_memstream(&all, &size);
    if (!out)
        return tc_cli_no_memory();
    struct tc_scan_each each = tc_scan_walk(tc_json_get(tc_json_of(json), "setups"));
    if (tc_args_has(args, "json"))
        (void)fprintf(out, "%s\n", json);
    else
        for (; tc_scan_next(&each); count++)
            put_row(out, each.value);
    enum tc_paint paint = tc_args_has(args, "json") ? TC_PAINT_NOTHING : TC_PAINT_ROWS;
    int rc = tc_cli_print_text(paint, out, &all);
    if (!rc && !count && !tc_args_has(args, "json") && !tc_args_has(args, "remove"))
        tc_cli_hint("no tool of the policy has an install phase: toolcage-policy(5), setup");
    if (!rc && tc_args_has(args, "list") && !tc_args_has(args, "json"))
        tell_others(tc_json_of(json));
    return rc;
}

static int show_setups(const struct tc_found *found, const struct tc_args *args, const char *action)
{
    _autofailure_ struct tc_failure failure = {0};
    char *json = NULL;
    if (ask_setups(found, args, action, &json, &failure))
        return tc_failure_tell(&failure, args, tc_args_value(args, "tool"));
    int rc = print(args, json);
    if (!rc && !tc_args_has(args, "json") && action[0] == 'r')
        tc_cli_say("removed: %d", (int)tc_json_int(tc_json_get(tc_json_of(json), "removed"), 0));
    toolcage_free(json);
    return rc;
}

/* ---- installing ---- */

static int install(struct tc_setup *setup, const struct tc_args *args, const char *tool)
{
    _autofailure_ struct tc_failure failure = {0};
    setup->call = toolcage_call_unref(setup->call);
    if (toolcage_call_new_setup(setup->engine, setup->found.policy, tool, &setup->call,
                                tc_failure_error(&failure)))
        return tc_failure_tell(&failure, args, tool);
    if (!tc_args_has(args, "json"))
        tc_cli_say("installing for %s", tool);
    _autofree_ char *job = tc_cli_format("installing for %s", tool);
    setup->job = job;
    int rc = tc_run(setup, args, tool, false);
    setup->job = NULL;
    if (!tc_args_has(args, "json")) {
        if (rc)
            tc_cli_say("nothing was stored for %s", tool);
        else
            tc_cli_say("%s is ready", tool);
    }
    return rc;
}

/* Runs every install; returns the first failure's exit code. */
static int install_each(struct tc_setup *setup, const struct tc_args *args, const char *json)
{
    struct tc_scan_each each = tc_scan_walk(tc_json_get(tc_json_of(json), "setups"));
    bool force = tc_args_has(args, "force"), quiet = tc_args_has(args, "json");
    int rc = 0;
    size_t count = 0;
    while (tc_scan_next(&each)) {
        _autofree_ char *tool = tc_json_text(tc_json_get(each.value, "tool"));
        if (!tool)
            return tc_cli_no_memory();
        count++;
        if (!force && tc_json_true(tc_json_get(each.value, "ready"))) {
            if (!quiet)
                tc_cli_say("%s is ready", tool);
            continue;
        }
        int one = install(setup, args, tool);
        rc = rc ? rc : one;
        if (one > TC_EXIT_SIGNAL &&
            one <= TC_EXIT_SIGNAL + 15) /* a signal that ends one install ends all */
            break;
    }
    if (!count && !quiet)
        tc_cli_hint("no tool of the policy has an install phase: toolcage-policy(5), setup");
    return rc;
}

static int check_options(const struct tc_args *args, struct tc_failure *failure)
{
    bool remove = tc_args_has(args, "remove"), list = tc_args_has(args, "list");
    if (list && (remove || tc_args_has(args, "force")))
        return tc_failure_set(failure, TOOLCAGE_EUSAGE, "toolcage setup --list",
                              "--list changes nothing and takes neither --remove nor --force");
    if (remove && tc_args_has(args, "force"))
        return tc_failure_set(failure, TOOLCAGE_EUSAGE, "toolcage setup --force",
                              "--force installs and --remove removes: use one of them");
    if (tc_args_has(args, "all") && (!remove || tc_args_value(args, "tool")))
        return tc_failure_set(failure, TOOLCAGE_EUSAGE, "toolcage setup --remove --all",
                              "--all is for --remove only");
    return 0;
}

/* The installs of all policies depend on no policy file here. */
static bool needs_policy(const struct tc_args *args)
{
    return !tc_args_has(args, "all") || tc_args_value(args, "policy");
}

static int run_setups(const struct tc_args *args)
{
    _autosetup_ struct tc_setup setup = {.aside = true};
    _autofailure_ struct tc_failure failure = {0};
    char *json = NULL;
    if (check_options(args, &failure) ||
        tc_lookup(tc_args_value(args, "policy"),
                  needs_policy(args) ? TC_LOOKUP_TRUSTED : TC_LOOKUP_DEFAULT, &setup.found,
                  &failure))
        return tc_failure_tell(&failure, args, NULL);
    if (!setup.found.path && needs_policy(args))
        return tc_failure_set(&failure, TOOLCAGE_ENOT_FOUND,
                              "write a policy (toolcage init), or name one with --policy FILE",
                              "there is no policy here"),
               tc_failure_tell(&failure, args, NULL);
    if (tc_args_has(args, "remove") || tc_args_has(args, "list"))
        return show_setups(&setup.found, args, tc_args_has(args, "remove") ? "remove" : "list");
    if (ask_setups(&setup.found, args, "list", &json, &failure) ||
        toolcage_engine_new(&setup.engine, tc_failure_error(&failure))) {
        toolcage_free(json);
        return tc_failure_tell(&failure, args, tc_args_value(args, "tool"));
    }
    int rc = install_each(&setup, args, json);
    toolcage_free(json);
    return rc;
}

const struct tc_verb tc_verb_setup = {
    .name = "setup",
    .operands = "[--tool NAME] [--force] [--list | --remove [--all]]",
    .summary = "install what the policy's tools need, each in a separate cage",
    .text = text,
    .options = options,
    .most = 0,
    .run = run_setups,
};
