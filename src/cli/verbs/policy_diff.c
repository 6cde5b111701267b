/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * `toolcage policy diff`: what one policy allows beyond another. */
#include <stdio.h>
#include <string.h>

#include "cli/show/failure.h"
#include "cli/show/json.h"
#include "cli/show/opts.h"
#include "cli/show/say.h"
#include "cli/verbs/policy_diff.h"

enum { TC_EXIT_WIDENED = 1 };

static const struct tc_option options[] = {
    TC_OPTION_JSON,
    TC_OPTION_HELP,
    {0},
};

/* "+ more", "- less", "  neither", each below its place. */
static void put_change(FILE *out, struct tc_slice change, const char *word, char **place)
{
    _autofree_ char *text = tc_json_line(tc_json_get(change, "text"));
    char *now = tc_json_line(tc_json_get(change, "place"));
    if (now && (!*place || strcmp(now, *place) != 0))
        (void)fprintf(out, "%s\n", now);
    free(*place);
    *place = now;
    (void)fprintf(out, "  %s %s\n",
                  !strcmp(word, "more")   ? "+"
                  : !strcmp(word, "less") ? "-"
                                          : " ",
                  text ? text : "?");
}

char *tc_policy_diff_text(const char *json, bool brief)
{
    _autofree_ char *place = NULL;
    char *all = NULL;
    size_t size = 0, even = 0;
    FILE *out = open_memstream(&all, &size);
    if (!out)
        return NULL;
    struct tc_scan_each each = tc_scan_walk(tc_json_get(tc_json_of(json), "changes"));
    while (tc_scan_next(&each)) {
        _autofree_ char *word = tc_json_line(tc_json_get(each.value, "change"));
        if (brief && word && !strcmp(word, "neither"))
            even++;
        else
            put_change(out, each.value, word ? word : "more", &place);
    }
    if (even)
        (void)fprintf(out, "other differences, which grant neither more nor less: %zu\n", even);
    if (!fclose(out))
        return all;
    free(all);
    return NULL;
}

static int print_text(const char *json)
{
    _autofree_ char *all = tc_policy_diff_text(json, false);
    return all ? tc_cli_print_painted(TC_PAINT_SIGNS, *all ? all : "both grant the same\n")
               : tc_cli_no_memory();
}

static int print_diff(const struct tc_args *args, const char *json)
{
    int rc = tc_args_has(args, "json") ? tc_cli_print(json, strlen(json)) : print_text(json);
    if (!rc && tc_args_has(args, "json"))
        rc = tc_cli_print("\n", 1);
    if (rc)
        return rc;
    return tc_json_true(tc_json_get(tc_json_of(json), "widened")) ? TC_EXIT_WIDENED : 0;
}

static int run(const struct tc_args *args)
{
    _autofailure_ struct tc_failure failure = {0};
    struct toolcage_policy *from = NULL, *to = NULL;
    char *json = NULL;
    int rc = toolcage_policy_load_file(args->words[0], &from, tc_failure_error(&failure));
    if (!rc)
        rc = toolcage_policy_load_file(args->words[1], &to, tc_failure_error(&failure));
    if (!rc)
        rc = toolcage_policy_diff_json(from, to, &json, tc_failure_error(&failure));
    (void)toolcage_policy_unref(from);
    (void)toolcage_policy_unref(to);
    if (rc) {
        (void)tc_failure_tell(&failure, args, NULL);
        return TC_EXIT_FAILURE;
    }
    rc = print_diff(args, json);
    toolcage_free(json);
    return rc;
}

const struct tc_verb tc_verb_policy_diff = {
    .name = "policy diff",
    .words = "OLD NEW",
    .summary = "what one policy grants more or less than another",
    .text = "Meanings are compared, not the files: + is more, - is less. What cannot be "
            "compared counts as\n"
            "more, and says so. Relative paths start at each file's own directory.\n"
            "\n"
            "exit codes: 0 nothing was widened, 1 something was, 125 a file cannot be read\n"
            "\n"
            "examples:\n"
            "  toolcage policy diff toolcage.toml proposed.toml\n",
    .options = options,
    .least = 2,
    .most = 2,
    .run = run,
};
