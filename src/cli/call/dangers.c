/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cli/call/dangers.h"

#include <string.h>

#include "cli/show/json.h"
#include "cli/show/say.h"

/* The findings of a policy text, as JSON; NULL: the text is not a valid policy. */
static char *findings(const char *name, const char *text)
{
    struct toolcage_policy *policy = NULL;
    char *json = NULL;
    if (toolcage_policy_load_buffer(text, strlen(text), name, &policy, NULL))
        return NULL;
    if (toolcage_policy_lint_json(policy, text, strlen(text), NULL, 0, &json, NULL))
        json = NULL;
    (void)toolcage_policy_unref(policy);
    return json;
}

/* Prints a finding, unless `old` has the same, or it is only a note and `least` is "error". */
static void tell_one(struct tc_slice finding, struct tc_slice old, const char *least)
{
    _autofree_ char *message = tc_json_text(tc_json_get(finding, "message"));
    _autofree_ char *hint = tc_json_text(tc_json_get(finding, "hint"));
    _autofree_ char *severity = tc_json_text(tc_json_get(finding, "severity"));
    bool counts = severity && (!strcmp(severity, "error") || !strcmp(least, "note"));
    if (!message || !counts || tc_json_find(tc_json_get(old, "findings"), "message", message).at)
        return;
    tc_cli_say("danger: %s", message);
    if (hint && *hint)
        tc_cli_hint("%s", hint);
}

static void say_unchecked(void)
{
    tc_cli_say("it could not be checked for dangers");
}

void tc_dangers_tell(const char *name, const char *before, const char *after, const char *least)
{
    char *then = before ? findings(name, before) : NULL, *now = findings(name, after);
    struct tc_slice old = then ? tc_json_of(then) : (struct tc_slice){0};
    struct tc_slice new = now ? tc_json_of(now) : (struct tc_slice){0};
    struct tc_scan_each each = tc_scan_walk(tc_json_get(new, "findings"));
    while (tc_scan_next(&each))
        tell_one(each.value, old, least);
    if (!now)
        say_unchecked();
    toolcage_free(then);
    toolcage_free(now);
}

void tc_dangers_of(const struct toolcage_policy *policy)
{
    char *now = NULL;
    if (toolcage_policy_lint_json(policy, "", 0, NULL, 0, &now, NULL))
        return say_unchecked();
    struct tc_scan_each each = tc_scan_walk(tc_json_get(tc_json_of(now), "findings"));
    while (tc_scan_next(&each))
        tell_one(each.value, (struct tc_slice){0}, "note");
    toolcage_free(now);
}
