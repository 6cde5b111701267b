/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * `toolcage approvals`: shows and answers the requests in the queue of approvals. A yes is bound to
 * a request that was shown: at a terminal above the question, elsewhere before, by its digest. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "approve/queue/queue.h"
#include "cli/call/consent.h"
#include "cli/call/notify.h"
#include "cli/call/staged.h"
#include "cli/show/clean.h"
#include "cli/show/failure.h"
#include "cli/show/json.h"
#include "cli/show/opts.h"
#include "cli/show/say.h"
#include "cli/verbs/answers.h"

static const struct tc_option options[] = {
    {"digest", 0, "DIGEST", NULL, "with approve: the digest that show printed; asks no question"},
    {"only", 0, "PATH", NULL,
     "with approve --digest of changes: apply these only, as show names them (repeatable)"},
    {"all-equal", 0, NULL, NULL,
     "with approve, deny: every request that waits with the same digest"},
    {"session", 0, NULL, NULL,
     "with approve: also equal calls of the same toolcage mcp, for an hour"},
    {"reason", 0, "TEXT", NULL, "with deny: why; the model reads this"},
    {"watch", 0, NULL, NULL, "with list: go on, and ring for each new request"},
    TC_OPTION_JSON,
    TC_OPTION_HELP,
    {0},
};

static const char text[] =
    "With --queue a call that needs a person's approval waits here for the answer, for ten "
    "minutes.\n"
    "ID is the request's id, or its beginning. approve shows the request and asks; without a "
    "terminal it\n"
    "needs the digest that show printed. A yes is for one call, and only if nothing of it has "
    "changed.\n"
    "Any program of this user can answer; a tool in a cage cannot. A call of a tool of tier "
    "ManualOnly\n"
    "is stored for a day: run starts it here, as toolcage call would, with the question. The "
    "staged\n"
    "changes of a call (commit = \"ask\") wait here after it has ended: show prints their diff, "
    "approve\n"
    "asks about it, and applies them; after deny they stay staged for toolcage changes. Requests "
    "with "
    "one\n"
    "digest are equal: the list says so, and --all-equal answers them together.\n"
    "\n"
    "examples:\n"
    "  toolcage mcp --policy tools.toml --queue\n"
    "  toolcage approvals                     which calls wait\n"
    "  toolcage approvals list --watch\n"
    "  toolcage approvals show 01JD8XKQ7P\n"
    "  toolcage approvals approve 01JD8XKQ7P\n"
    "  toolcage approvals deny 01JD8XKQ7P --reason 'not on a Sunday'\n"
    "  toolcage approvals run 01JD8XKQ7P\n";

static int fail(struct tc_failure *failure, const struct tc_fault *fault)
{
    return tc_failure_set(failure, fault->code, fault->hint, "%s", fault->text);
}

/* ---- list ---- */

struct list {
    struct tc_queued *items;
    size_t count;
    struct tc_kept *kept; /* calls that only a person starts */
    size_t kept_count;
};

static int read_list(struct list *ret, struct tc_failure *failure)
{
    struct tc_fault fault;
    if (tc_queue_list(&ret->items, &ret->count, &fault) < 0 ||
        tc_kept_list(&ret->kept, &ret->kept_count, &fault) < 0)
        return fail(failure, &fault);
    return 0;
}

static void free_list(struct list *list)
{
    tc_queue_free(list->items, list->count);
    tc_kept_free(list->kept, list->kept_count);
    *list = (struct list){0};
}

/* Nobody can approve what the reader of JSON refuses: it is nested too deeply. */
static bool is_shown(const struct tc_queued *q)
{
    return tc_json_of(q->subject).at;
}

/* `equal`: an older request with the same digest, or NULL. */
static void put_row(FILE *out, const struct tc_queued *q, const struct tc_queued *equal)
{
    _autofree_ char *tool = tc_json_line(tc_json_get(tc_json_of(q->subject), "tool"));
    const char *otherwise = is_shown(q) ? "(a bare command)" : "(cannot be shown)";
    int64_t left = q->expires - (int64_t)time(NULL);
    (void)fprintf(out, "%s  %5" PRId64 "s left  by %-4s  %s", q->id, left < 0 ? 0 : left, q->asker,
                  tool ? tool : otherwise);
    if (tc_staged_is(q))
        (void)fprintf(out, "  %" PRId64 " change%s to apply", tc_staged_count(q),
                      tc_staged_count(q) == 1 ? "" : "s");
    if (equal)
        (void)fprintf(out, "  equal to %s", equal->id);
    (void)fputc('\n', out);
}

/* The oldest request with the same digest as the one at `index`; NULL: it is the oldest. */
static const struct tc_queued *find_equal(const struct list *list, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (strcmp(list->items[i].digest, list->items[index].digest) == 0)
            return &list->items[i];
    return NULL;
}

static void put_string(FILE *out, const char *key, const char *value)
{
    (void)fprintf(out, ",\"%s\":", key);
    tc_cli_json_string(out, value);
}

static void put_kept(FILE *out, const struct tc_kept *kept)
{
    int64_t age = (int64_t)time(NULL) - kept->created;
    _autofree_ char *tool = tc_clean(TC_CLEAN_LINE, kept->tool, strlen(kept->tool), NULL);
    (void)fprintf(out, "%s  %5" PRId64 "s old   to run    %s\n", kept->id, age < 0 ? 0 : age,
                  tool ? tool : "?");
}

static void put_kept_object(FILE *out, const struct tc_kept *kept)
{
    (void)fprintf(out, "{\"id\":\"%s\",\"created\":%" PRId64, kept->id, kept->created);
    put_string(out, "policy", kept->policy);
    put_string(out, "digest", kept->digest);
    put_string(out, "directory", kept->directory);
    put_string(out, "workspace", kept->workspace ? kept->workspace : kept->directory);
    put_string(out, "tool", kept->tool);
    (void)fprintf(out, ",\"arguments\":%s}", kept->arguments);
}

/* Closes the stream, and prints its JSON. */
static int print_stream(FILE *out, char **all)
{
    _autofree_ char *json = tc_cli_text(out, all);
    return json ? tc_cli_print_json(json) : tc_cli_no_memory();
}

static int print_json(const struct list *list)
{
    char *all = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&all, &size);
    if (!out)
        return tc_cli_no_memory();
    (void)fputs("{\"requests\":[", out);
    for (size_t i = 0; i < list->count; i++) {
        (void)fputs(i ? "," : "", out);
        tc_notify_put(out, &list->items[i]);
    }
    (void)fputs("],\"calls\":[", out);
    for (size_t i = 0; i < list->kept_count; i++) {
        (void)fputs(i ? "," : "", out);
        put_kept_object(out, &list->kept[i]);
    }
    (void)fputs("]}", out);
    return print_stream(out, &all);
}

static bool has(const struct list *list, const char *id)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i].id, id) == 0)
            return true;
    for (size_t i = 0; i < list->kept_count; i++)
        if (strcmp(list->kept[i].id, id) == 0)
            return true;
    return false;
}

/* Prints the requests that are not in `before`. */
static int print_new(const struct list *list, const struct list *before, size_t *ret_count)
{
    char *all = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&all, &size);
    if (!out)
        return tc_cli_no_memory();
    *ret_count = 0;
    for (size_t i = 0; i < list->count; i++)
        if (!has(before, list->items[i].id)) {
            put_row(out, &list->items[i], find_equal(list, i));
            ++*ret_count;
        }
    for (size_t i = 0; i < list->kept_count; i++)
        if (!has(before, list->kept[i].id)) {
            put_kept(out, &list->kept[i]);
            ++*ret_count;
        }
    return tc_cli_print_text(TC_PAINT_ROWS, out, &all);
}

/* Until it is ended by a signal, or standard output is closed. */
static int watch(struct tc_failure *failure)
{
    struct list now = {0}, before = {0};
    size_t count;
    int rc = 0;
    while (!rc) {
        rc = read_list(&now, failure);
        if (!rc)
            rc = print_new(&now, &before, &count);
        for (; !rc && count && isatty(STDOUT_FILENO); count--)
            rc = tc_cli_print("\a", 1);
        free_list(&before);
        before = now;
        now = (struct list){0};
        (void)nanosleep(&(struct timespec){.tv_nsec = 500000000}, NULL);
    }
    free_list(&before);
    return rc;
}

static int run_list(const struct tc_args *args, struct tc_failure *failure)
{
    struct list list = {0}, none = {0};
    size_t count;
    if (tc_args_has(args, "watch"))
        return watch(failure);
    int rc = read_list(&list, failure);
    if (!rc)
        rc = tc_args_has(args, "json") ? print_json(&list) : print_new(&list, &none, &count);
    if (!rc && !list.count && !list.kept_count && !tc_args_has(args, "json"))
        tc_cli_hint("no call waits; toolcage mcp --queue, call --queue and exec --queue make them "
                    "wait here");
    free_list(&list);
    return rc;
}

/* ---- show ---- */

static void put_tier(FILE *out, const struct tc_queued *q)
{
    struct tc_slice tier = tc_json_get(tc_json_of(q->subject), "tier");
    (void)fprintf(out, "  %-10s | %.*s\n", "tier", (int)tier.length, tier.at ? tier.at : "");
}

static int show(const struct tc_args *args, const struct tc_queued *q, struct tc_failure *failure)
{
    char *all = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&all, &size);
    if (!out)
        return tc_cli_no_memory();
    if (tc_args_has(args, "json")) {
        tc_notify_put(out, q);
        return print_stream(out, &all);
    }
    put_row(out, q, NULL);
    if (tc_staged_is(q)) {
        int rc = tc_cli_print_text(TC_PAINT_NOTHING, out, &all);
        return rc ? rc : tc_staged_show(q, failure);
    }
    put_tier(out, q);
    (void)tc_subject_show(out, tc_json_of(q->subject), true);
    (void)fprintf(out, "  digest     | %s\n", q->digest);
    return tc_cli_print_text(TC_PAINT_NOTHING, out, &all);
}

/* ---- calls that only a person starts ---- */

/* What the id, or its beginning, names: a request, or a stored call. 0: one of them is filled; -1
 * with the failure. */
static int resolve(const char *prefix, struct tc_queued *ret, struct tc_kept *ret_kept,
                   struct tc_failure *failure)
{
    struct list list = {0};
    struct tc_fault fault;
    size_t found = 0, length = strlen(prefix);
    int rc = read_list(&list, failure);
    for (size_t i = 0; !rc && length && i < list.count; i++)
        if (!strncasecmp(list.items[i].id, prefix, length) && !found++) {
            *ret = list.items[i];
            list.items[i] = (struct tc_queued){0};
        }
    for (size_t i = 0; !rc && length && i < list.kept_count; i++)
        if (!strncasecmp(list.kept[i].id, prefix, length) && !found++) {
            *ret_kept = list.kept[i];
            list.kept[i] = (struct tc_kept){0};
        }
    free_list(&list);
    if (!rc && found > 1)
        rc = tc_failure_set(failure, TOOLCAGE_EUSAGE,
                            "write more of the id; toolcage approvals list",
                            "%zu calls that wait begin with %.40s", found, prefix);
    else if (!rc && !found && tc_queue_find(prefix, ret, &fault) < 0)
        rc = fail(failure, &fault); /* gone, or damaged */
    return rc;
}

static int take(void *userdata, struct tc_failure *failure)
{
    const struct tc_kept *kept = userdata;
    struct tc_fault fault;
    return tc_kept_take(kept->id, &fault) < 0 ? fail(failure, &fault) : 0;
}

/* As `toolcage call`, which shows the call at the terminal and asks. */
static int run_kept(struct tc_kept *kept, struct tc_failure *failure)
{
    const struct tc_claim claim = {.policy = kept->digest, .take = take, .userdata = kept};
    char *argv[7] = {(char *)"--policy", kept->policy};
    struct tc_args args = {0};
    int count = 2;
    if (kept->workspace) {
        argv[count++] = (char *)"--workspace";
        argv[count++] = kept->workspace;
    }
    argv[count++] = kept->tool;
    argv[count++] = kept->arguments;
    if (chdir(kept->directory) < 0)
        return tc_failure_set(failure, TOOLCAGE_ESYSTEM, "toolcage approvals deny ID removes it",
                              "cannot start in %s: %s", kept->directory, strerror(errno));
    tc_consent_claim(&claim);
    int rc = tc_args_parse(&tc_verb_call, count, argv, &args);
    if (!rc)
        rc = tc_verb_call.run(&args);
    tc_args_done(&args);
    tc_consent_claim(NULL);
    return rc;
}

static int deny_kept(const struct tc_kept *kept, struct tc_failure *failure)
{
    struct tc_fault fault;
    if (tc_kept_take(kept->id, &fault) < 0)
        return fail(failure, &fault);
    tc_cli_say("removed call %s, which no person has started", kept->id);
    return 0;
}

static void put_place(FILE *out, const char *label, const char *path)
{
    _autofree_ char *line = tc_clean(TC_CLEAN_LINE, path, strlen(path), NULL);
    (void)fprintf(out, "  %-10s | %s\n", label, line ? line : "?");
}

static int show_kept(const struct tc_args *args, const struct tc_kept *kept)
{
    char *all = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&all, &size);
    if (!out)
        return tc_cli_no_memory();
    if (tc_args_has(args, "json")) {
        put_kept_object(out, kept);
        return print_stream(out, &all);
    }
    _autofree_ char *subject = tc_cli_format("{\"arguments\":%s}", kept->arguments);
    put_kept(out, kept);
    if (!subject || !tc_json_of(subject).at)
        (void)fprintf(out, "  %-10s | (cannot be shown)\n", "arguments");
    else
        (void)tc_subject_show(out, tc_json_of(subject), true);
    put_place(out, "policy", kept->policy);
    put_place(out, "directory", kept->directory);
    put_place(out, "workspace", kept->workspace ? kept->workspace : kept->directory);
    return tc_cli_print_text(TC_PAINT_NOTHING, out, &all);
}

/* The action with a stored call. */
static int act_on_kept(const struct tc_args *args, const char *action, struct tc_kept *kept,
                       struct tc_failure *failure)
{
    if (!strcmp(action, "run"))
        return run_kept(kept, failure);
    if (!strcmp(action, "show"))
        return show_kept(args, kept);
    if (!strcmp(action, "deny") && !tc_args_has(args, "reason"))
        return deny_kept(kept, failure);
    return !strcmp(action, "deny")
               ? tc_failure_set(failure, TOOLCAGE_EUSAGE, "leave out --reason",
                                "the model knows that call %s was stored, and hears no reason",
                                kept->id)
               : tc_failure_set(failure, TOOLCAGE_EUSAGE, "toolcage approvals run ID",
                                "call %s is started by a person only, not approved", kept->id);
}

/* A request waits for an answer, not to be run. */
static int run(const struct tc_args *args, const struct tc_queued *q, struct tc_failure *failure)
{
    (void)args;
    return tc_failure_set(failure, TOOLCAGE_EUSAGE, "toolcage approvals approve ID",
                          "the call of request %s waits for an approval and is started by its "
                          "program",
                          q->id);
}

/* ---- all ---- */

static const struct action {
    const char *name;
    const char *takes; /* the names of its options */
    int (*run)(const struct tc_args *args, const struct tc_queued *q, struct tc_failure *failure);
} actions[] = {
    {"list", "watch json", NULL},
    {"show", "json", show},
    {"approve", "digest only all-equal session", tc_answers_approve},
    {"deny", "reason all-equal", tc_answers_deny},
    {"run", "", run},
};

/* NULL with the failure. */
static const struct action *action_of(const struct tc_args *args, struct tc_failure *failure)
{
    const char *word = args->operand_count ? args->operands[0] : "list";
    const struct action *found = NULL;
    for (size_t i = 0; i < TC_COUNT(actions); i++)
        if (strcmp(actions[i].name, word) == 0)
            found = &actions[i];
    if (!found)
        return (void)tc_failure_set(failure, TOOLCAGE_EUSAGE,
                                    "write list, show, approve, deny or run",
                                    "approvals has no action \"%s\"", word),
               NULL;
    for (size_t i = 0; i < args->given_count; i++)
        if (!strstr(found->takes, args->given[i].option->name))
            return (void)tc_failure_set(failure, TOOLCAGE_EUSAGE, "toolcage approvals --help",
                                        "approvals %s takes no --%s", word,
                                        args->given[i].option->name),
                   NULL;
    if (args->operand_count > 0 && (args->operand_count == 2) != !!found->run)
        return (void)tc_failure_set(failure, TOOLCAGE_EUSAGE, "toolcage approvals list",
                                    found->run ? "approvals %s needs the id of one request"
                                               : "approvals %s takes no id",
                                    word),
               NULL;
    if (tc_args_has(args, "watch") && tc_args_has(args, "json"))
        return (void)tc_failure_set(failure, TOOLCAGE_EUSAGE, "leave out --watch, or --json",
                                    "--json lists the requests once"),
               NULL;
    return found;
}

static int act(const struct tc_args *args, const struct action *action, struct tc_failure *failure)
{
    struct tc_queued q = {0};
    struct tc_kept kept = {0};
    int rc = resolve(args->operands[1], &q, &kept, failure);
    if (!rc && kept.id[0])
        rc = act_on_kept(args, action->name, &kept, failure);
    else if (!rc && action->run != tc_answers_deny && !is_shown(&q))
        rc = tc_failure_set(failure, TOOLCAGE_EUSAGE, "toolcage approvals deny ID",
                            "request %s cannot be shown: its values are nested too deeply", q.id);
    else if (!rc)
        rc = action->run(args, &q, failure);
    tc_kept_done(&kept);
    tc_queued_done(&q);
    return rc;
}

static int run_approvals(const struct tc_args *args)
{
    _autofailure_ struct tc_failure failure = {0};
    const struct action *action = action_of(args, &failure);
    int rc = !action ? -1 : !action->run ? run_list(args, &failure) : act(args, action, &failure);
    return rc < 0 ? tc_failure_tell(&failure, args, NULL) : rc;
}

const struct tc_verb tc_verb_approvals = {
    .name = "approvals",
    .operands = "[list | show ID | approve ID | deny ID | run ID]",
    .summary = "show and answer the calls that wait for approval",
    .text = text,
    .options = options,
    .least = 0,
    .most = 2,
    .run = run_approvals,
};
