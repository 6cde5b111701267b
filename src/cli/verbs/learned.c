/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * `toolcage learn --from-audit`: the minimal policy for what recorded calls used. */
#include "cli/verbs/learned.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "audit/reader.h"
#include "audit/when.h"
#include "cli/audit/past.h"
#include "cli/call/lookup.h"
#include "cli/show/json.h"
#include "cli/show/say.h"

struct learned {
    struct tc_past_filter filter;
    char since[TC_PAST_TIME_SIZE];
    struct tc_found found;
    struct tc_failure *failure;
    int dir;
};

static int begin(struct learned *l, const struct tc_args *args)
{
    l->filter.tool = tc_args_value(args, "tool");
    if (tc_past_time(args, "since", l->since, &l->filter.since, l->failure))
        return -1;
    if (tc_lookup(tc_args_value(args, "policy"), TC_LOOKUP_ANY, &l->found, l->failure))
        return -1;
    if (!l->found.path || l->found.preset)
        return tc_failure_set(l->failure, TOOLCAGE_EUSAGE, "name it: --policy FILE",
                              "there is no policy file to learn under");
    l->dir = tc_past_log(NULL, l->failure);
    return l->dir < 0 ? -1 : 0;
}

/* ---- what the text is worth ---- */

/* Says whether the calls would run under it. */
static int check_calls(const struct learned *l, struct toolcage_policy *learned)
{
    int64_t broken;
    _autofree_ char *text =
        tc_recheck_text(l->dir, &l->filter, learned, NULL, false, &broken, l->failure);
    size_t length = text ? strlen(text) : 0;
    while (length && text[length - 1] == '\n')
        text[--length] = '\0';
    const char *last = text ? strrchr(text, '\n') : NULL;
    if (text)
        tc_cli_say("%s", last ? last + 1 : text);
    return text ? 0 : -1;
}

/* A policy that grants more than the one that it is learned under is not printed. */
static int check_width(const struct learned *l, const struct toolcage_policy *learned)
{
    char *json = NULL;
    if (toolcage_policy_diff_json(l->found.policy, learned, &json, tc_failure_error(l->failure)))
        return -1;
    bool widened = tc_json_true(tc_json_get(tc_json_of(json), "widened"));
    struct tc_slice more = tc_json_find(tc_json_get(tc_json_of(json), "changes"), "change", "more");
    _autofree_ char *text = tc_json_line(tc_json_get(more, "text"));
    toolcage_free(json);
    if (!widened)
        return 0;
    return tc_failure_set(l->failure, TOOLCAGE_EPOLICY,
                          "learn fewer tools at once (--tool), or edit the policy by hand",
                          "what was learned would grant more than %s: %s", l->found.path,
                          text ? text : "?");
}

static int print(const struct learned *l, const char *text)
{
    struct toolcage_policy *learned = NULL;
    if (toolcage_policy_load_buffer(text, strlen(text), "/learned.toml", &learned,
                                    tc_failure_error(l->failure)))
        return -1;
    int rc = check_width(l, learned);
    if (!rc)
        rc = tc_cli_print(text, strlen(text));
    if (!rc)
        rc = check_calls(l, learned);
    (void)toolcage_policy_unref(learned);
    return rc;
}

static int learn(struct learned *l, const struct tc_args *args)
{
    char file[PATH_MAX];
    if (begin(l, args))
        return -1;
    if (!realpath(l->found.path, file))
        return tc_failure_set(l->failure, TOOLCAGE_ESYSTEM, "name another with --policy",
                              "cannot open %s: %s", l->found.path, strerror(errno));
    struct tc_used *used = tc_used_new(l->found.policy, file, tc_failure_error(l->failure));
    int rc = used ? tc_past_read(l->dir, &l->filter, tc_used_take, used, l->failure) : -1;
    size_t calls = rc ? 0 : tc_used_calls(used);
    _autofree_ char *text = calls ? tc_used_write(used) : NULL;
    tc_used_free(used);
    if (!rc && !calls)
        return tc_failure_set(l->failure, TOOLCAGE_ENOT_FOUND,
                              "calls are recorded if their policy has the table [audit]",
                              "the log has no such call of a tool");
    if (!rc && !text)
        return tc_failure_set(l->failure, TOOLCAGE_EMEMORY,
                              "learn from fewer calls: --since, --tool",
                              "the log has more than can be summarised");
    return rc ? rc : print(l, text);
}

int tc_learn_from_audit(const struct tc_args *args)
{
    _autofailure_ struct tc_failure failure = {0};
    struct learned l = {.failure = &failure, .dir = -1};
    int rc = learn(&l, args);
    if (l.dir >= 0)
        (void)close(l.dir);
    tc_found_done(&l.found);
    return rc < 0 ? tc_failure_tell(&failure, args, NULL) : rc;
}
