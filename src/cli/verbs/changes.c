/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * `toolcage changes`: displays, applies or discards the staged changes of calls. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/call/last.h"
#include "cli/call/run.h"
#include "cli/show/diff.h"
#include "cli/show/failure.h"
#include "cli/show/json.h"
#include "cli/show/opts.h"
#include "cli/show/say.h"
#include "progress/progress.h"

enum { EXIT_LEFT = 1 }; /* some changes are still staged */

static const struct tc_option options[] = {
    {"overwrite", 0, NULL, NULL, "with commit: also over newer changes on this machine"},
    {"steering", 0, NULL, NULL,
     "with commit: also files that programs here load or run by themselves"},
    {"all", 0, NULL, NULL, "list caches one by one; with commit: apply them as well"},
    TC_OPTION_JSON,
    TC_OPTION_HELP,
    {0},
};

static const char text[] =
    "Changes are staged when the policy says commit = \"ask\", when this machine has newer "
    "changes of\n"
    "the same files, and when they steer the host: programs load or run such files by themselves. "
    "CALL is the call's id, or last: commit and discard take last only if its list "
    "was the\n"
    "last one printed. Files that steer the host stay staged without --steering, and conflicts "
    "without\n"
    "--overwrite, with the reason. Caches (review.ignore of the policy) are one line, and are not "
    "applied unless --all "
    "or their\n"
    "own names are given; when nothing else is left, they are discarded.\n"
    "\n"
    "examples:\n"
    "  toolcage changes                       which calls have any\n"
    "  toolcage changes last                  the changes of the last one, with a diff of text "
    "files\n"
    "  toolcage changes last commit\n"
    "  toolcage changes last commit src README.md     these, the others stay\n"
    "  toolcage changes last commit --all     with __pycache__ and the like\n"
    "  toolcage changes last commit --steering .envrc     a file that steers the host\n"
    "  toolcage changes 01JD8XKQ7PZ3T5V9WYB2C4D6E8 discard\n";

/* Is a change still staged for this reason (NULL: any)? Caches count only with `all`. */
static bool has_held(struct tc_slice answer, bool all, const char *reason)
{
    struct tc_scan_each each = tc_scan_walk(tc_json_get(answer, "changes"));
    bool has = false;
    while (!has && tc_scan_next(&each)) {
        _autofree_ char *why = tc_json_text(tc_json_get(each.value, "held"));
        has = why && (!reason || !strcmp(why, reason)) &&
              (all || !tc_json_true(tc_json_get(each.value, "cache")));
    }
    return has;
}

static void put_calls(FILE *out, struct tc_slice answer)
{
    struct tc_scan_each each = tc_scan_walk(tc_json_get(answer, "held"));
    bool any = false;
    for (; tc_scan_next(&each); any = true) {
        _autofree_ char *call = tc_json_text(tc_json_get(each.value, "call"));
        _autofree_ char *tool = tc_json_text(tc_json_get(each.value, "tool"));
        int64_t changes = tc_json_int(tc_json_get(each.value, "changes"), 0);
        bool caches = changes && changes == tc_json_int(tc_json_get(each.value, "caches"), 0);
        char when[TC_CLI_TIME_SIZE];
        tc_cli_time(when, tc_json_int(tc_json_get(each.value, "at"), 0), false);
        (void)fprintf(out, "%s  %s  %" PRId64 " change%s%s%s%s\n", call ? call : "?", when, changes,
                      changes == 1 ? "" : "s", caches ? ", all caches" : "", tool ? "  tool " : "",
                      tool ? tool : "");
    }
    if (!any)
        (void)fputs("there are no staged changes\n", out);
}

/* The request: `call` is the id of the call in the review, or NULL for the list of calls. */
struct wanted {
    const char *call, *json;
    struct tc_review review;
    enum tc_paint paint;
};

static int print_list(const struct wanted *wanted)
{
    char *all = NULL;
    size_t size = 0;
    if (wanted->paint == TC_PAINT_NOTHING)
        return tc_cli_print_json(wanted->json);
    FILE *out = open_memstream(&all, &size);
    if (!out)
        return tc_cli_no_memory();
    if (wanted->call) {
        (void)fprintf(out, "call %s\n", wanted->call);
        tc_review_put(out, &wanted->review);
    } else {
        put_calls(out, tc_json_of(wanted->json));
    }
    return tc_cli_print_text(wanted->paint, out, &all);
}

/* Displaying all changes marks the call as viewed. With --json the reader is a program, which has
 * the id. */
static int print(const struct tc_args *args, struct toolcage_engine *engine, const char *call,
                 const char *json, const char *action)
{
    bool json_asked = tc_args_has(args, "json");
    struct wanted wanted = {.call = call,
                            .json = json,
                            .paint = json_asked ? TC_PAINT_NOTHING
                                     : call     ? TC_PAINT_DIFF
                                                : TC_PAINT_ROWS};
    int rc = call && !json_asked ? tc_review_make(&wanted.review, tc_json_of(json)) : 0;
    wanted.review.all = tc_args_has(args, "all");
    rc = rc ? rc : print_list(&wanted);
    if (!rc && call && !json_asked && !strcmp(action, "show")) {
        if (args->operand_count < 3)
            tc_viewed_keep("changes", call);
        rc = tc_diff_print(STDOUT_FILENO, engine, call, &wanted.review);
    }
    tc_review_done(&wanted.review);
    return rc;
}

/* Ids increase with time. */
static int find_last(struct toolcage_engine *engine, char **ret, struct tc_failure *failure)
{
    char *json = NULL;
    if (toolcage_engine_changes_json(engine, NULL, 0, NULL, &json, tc_failure_error(failure)))
        return -1;
    struct tc_scan_each each = tc_scan_walk(tc_json_get(tc_json_of(json), "held"));
    while (tc_scan_next(&each)) {
        char *call = tc_json_text(tc_json_get(each.value, "call"));
        if (call && (!*ret || strcmp(call, *ret) > 0)) {
            free(*ret);
            *ret = call;
        } else {
            free(call);
        }
    }
    toolcage_free(json);
    return *ret ? 0
                : tc_failure_set(failure, TOOLCAGE_EUSAGE,
                                 "toolcage changes --help says when changes are staged",
                                 "there are no staged changes");
}

/* The action; NULL after an error message. */
static const char *action_of(const struct tc_args *args, struct tc_failure *failure)
{
    const char *word = args->operand_count > 1 ? args->operands[1] : "show";
    bool overwrite = tc_args_has(args, "overwrite"), steering = tc_args_has(args, "steering");
    if (strcmp(word, "show") != 0 && strcmp(word, "commit") != 0 && strcmp(word, "discard") != 0)
        (void)tc_failure_set(failure, TOOLCAGE_EUSAGE, "write show, commit or discard",
                             "changes have no action \"%s\"", word);
    else if (overwrite && strcmp(word, "commit") != 0)
        (void)tc_failure_set(failure, TOOLCAGE_EUSAGE, "toolcage changes CALL commit --overwrite",
                             "--overwrite is for commit only");
    else if (steering && (overwrite || strcmp(word, "commit") != 0))
        (void)tc_failure_set(failure, TOOLCAGE_EUSAGE,
                             "toolcage changes CALL commit --steering PATH",
                             "--steering is for commit only, without --overwrite");
    else if (tc_args_has(args, "all") && !strcmp(word, "discard"))
        (void)tc_failure_set(failure, TOOLCAGE_EUSAGE, "toolcage changes CALL discard",
                             "--all is for show and commit: discard takes caches as well");
    else if (tc_args_has(args, "all") && args->operand_count > 2)
        (void)tc_failure_set(failure, TOOLCAGE_EUSAGE,
                             "leave out --all: a cache comes when it is named",
                             "--all means every change, and paths mean some");
    else
        return overwrite ? "overwrite" : steering ? "steering" : word;
    return NULL;
}

struct paths {
    char **items;
    size_t count;
};

static void free_paths(struct paths *p)
{
    for (size_t i = 0; i < p->count; i++)
        free(p->items[i]);
    free(p->items);
}
#define _autopaths_ __attribute__((cleanup(free_paths)))

/* The root, which includes all changes. */
static bool mean_all(struct paths *ret)
{
    ret->items = calloc(1, sizeof(*ret->items));
    if (ret->items && (ret->items[0] = strdup("/")))
        ret->count = 1;
    return ret->count;
}

/* The changes named by the arguments after the action, as the list prints them. */
static int find_paths(const struct tc_args *args, struct toolcage_engine *engine, const char *call,
                      struct paths *ret, struct tc_failure *failure)
{
    _autoreview_ struct tc_review review = {0};
    char *json = NULL;
    if (tc_args_has(args, "all"))
        return mean_all(ret) ? 0 : tc_failure_set(failure, TOOLCAGE_EMEMORY, NULL, "out of memory");
    if (args->operand_count < 3)
        return 0;
    if (toolcage_engine_changes_json(engine, call, 0, NULL, &json, tc_failure_error(failure)))
        return -1;
    bool fine = tc_review_make(&review, tc_json_of(json)) == 0;
    ret->items = calloc(args->operand_count, sizeof(*ret->items));
    for (size_t i = 2; fine && ret->items && i < args->operand_count; i++)
        ret->items[ret->count++] = tc_review_path(&review, args->operands[i]);
    for (size_t i = 0; i < ret->count; i++)
        fine = fine && ret->items[i];
    toolcage_free(json);
    return fine && ret->items ? 0
                              : tc_failure_set(failure, TOOLCAGE_EMEMORY, NULL, "out of memory");
}

/* The last call; commit and discard are accepted only if it was also the last one viewed. */
static int resolve_last(struct toolcage_engine *engine, const char *action, char **ret,
                        struct tc_failure *failure)
{
    if (find_last(engine, ret, failure))
        return -1;
    return strcmp(action, "show") == 0 ? 0 : tc_viewed_check("changes", *ret, failure);
}

static int ask_engine(struct toolcage_engine *engine, const char *call, const char *action,
                      const struct paths *paths, char **ret, struct tc_failure *failure)
{
    const char *const *items = (const char *const *)paths->items;
    struct toolcage_error **err = tc_failure_error(failure);
    tc_progress_start(action[0] == 's'   ? "reading the changes"
                      : action[0] == 'd' ? "discarding the changes"
                                         : "applying the changes",
                      NULL);
    return strcmp(action, "show") == 0
               ? toolcage_engine_changes_json(engine, call, paths->count, items, ret, err)
               : toolcage_engine_settle_json(engine, call, tc_settle_of(action), paths->count,
                                             items, ret, err);
}

/* What to do about the changes that are left. */
static void hint_left(const struct tc_args *args, struct tc_slice answer, const char *call,
                      size_t paths)
{
    bool all = tc_args_has(args, "all");
    if ((!paths || all) && has_held(answer, all, "conflict"))
        tc_cli_hint("toolcage changes %s commit --overwrite takes them over newer work here", call);
    if (!tc_args_has(args, "steering") && has_held(answer, all, TOOLCAGE_HELD_STEERING))
        tc_cli_hint("look at them; toolcage changes %s commit --steering PATH applies them", call);
}

static int settle_changes(const struct tc_args *args, struct toolcage_engine *engine,
                          struct tc_failure *failure)
{
    _autofree_ char *last = NULL;
    _autopaths_ struct paths paths = {0};
    char *json = NULL;
    const char *call = args->operand_count ? args->operands[0] : NULL;
    const char *action = action_of(args, failure);
    if (!action)
        return tc_failure_tell(failure, args, NULL);
    if (call && !strcmp(call, "last")) {
        if (resolve_last(engine, args->operand_count > 1 ? args->operands[1] : action, &last,
                         failure))
            return tc_failure_tell(failure, args, NULL);
        call = last;
    }
    if ((call && find_paths(args, engine, call, &paths, failure)) ||
        ask_engine(engine, call, action, &paths, &json, failure))
        return tc_failure_tell(failure, args, NULL);
    int rc = print(args, engine, call, json, action);
    bool left =
        strcmp(action, "show") != 0 && has_held(tc_json_of(json), tc_args_has(args, "all"), NULL);
    if (!rc && left && !tc_args_has(args, "json"))
        hint_left(args, tc_json_of(json), call, paths.count);
    toolcage_free(json);
    return rc ? rc : left ? EXIT_LEFT : 0;
}

static int run_changes(const struct tc_args *args)
{
    _autofailure_ struct tc_failure failure = {0};
    struct toolcage_engine *engine = NULL;
    if (toolcage_engine_new(&engine, tc_failure_error(&failure)))
        return tc_failure_tell(&failure, args, NULL);
    int rc = settle_changes(args, engine, &failure);
    (void)toolcage_engine_unref(engine);
    return rc;
}

const struct tc_verb tc_verb_changes = {
    .name = "changes",
    .operands = "[CALL [show|commit|discard] [PATH...]]",
    .summary = "show, apply or discard staged changes of calls",
    .text = text,
    .options = options,
    .least = 0,
    .most = -1,
    .run = run_changes,
};
