/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Would a policy still allow what recorded calls did? Each call is resolved again, and each path
 * that it changed and each host that it reached is looked up. Nothing runs. */
#include <inttypes.h>
#include <string.h>

#include "cli/audit/past.h"
#include "cli/show/say.h"

struct tc_recheck {
    struct toolcage_engine *engine;
    struct toolcage_policy *policy, *before; /* NULL: there was none */
    FILE *out;                               /* NULL: says nothing */
    bool json;
    int64_t calls, broken, unknown;
    bool any; /* the current call has a refusal */
};

/* ---- what is refused ---- */

/* One refusal of a call: the first of a call follows the call's own line. */
static void put_refusal(struct tc_recheck *r, const struct tc_past_call *past, const char *access,
                        const char *why, const char *place)
{
    _autofree_ char *id = tc_json_text(tc_json_get(past->decision, "call"));
    r->broken += !r->any;
    if (!r->out) {
        r->any = true;
        return;
    }
    if (r->json) {
        (void)fprintf(r->out, "%s{\"call\":", r->broken > 1 || r->any ? "," : "");
        tc_cli_json_string(r->out, id ? id : "");
        (void)fputs(",\"access\":", r->out);
        if (access)
            tc_cli_json_string(r->out, access);
        else
            (void)fputs("null", r->out);
        (void)fputs(",\"reason\":", r->out);
        tc_cli_json_string(r->out, why);
        (void)fputs(",\"place\":", r->out);
        tc_cli_json_string(r->out, place);
        (void)fputc('}', r->out);
    } else {
        if (!r->any)
            tc_past_put(r->out, past);
        (void)fprintf(r->out, "    %s%s%s%s\n", why, *place ? " (" : "", place, *place ? ")" : "");
    }
    r->any = true;
}

static void put_error(struct tc_recheck *r, const struct tc_past_call *past,
                      const struct toolcage_error *err)
{
    const char *file = NULL;
    uint32_t line = 0, column = 0;
    toolcage_error_location(err, &file, &line, &column);
    _autofree_ char *place = line ? tc_cli_format("%s:%u", file, line) : strdup("");
    put_refusal(r, past, NULL, toolcage_error_message(err), place ? place : "");
}

static void put_verdict(struct tc_recheck *r, const struct tc_past_call *past, const char *access,
                        struct tc_slice verdict)
{
    _autofree_ char *reason = tc_json_line(tc_json_get(verdict, "reason"));
    _autofree_ char *key = tc_json_line(tc_json_get(verdict, "key"));
    int64_t line = tc_json_int(tc_json_get(verdict, "line"), 0);
    _autofree_ char *place =
        line ? tc_cli_format("%s, line %" PRId64, key ? key : "?", line) : strdup(key ? key : "");
    put_refusal(r, past, access, reason ? reason : "not allowed", place ? place : "");
}

/* ---- one access ---- */

static void check_access(struct tc_recheck *r, const struct tc_past_call *past,
                         struct toolcage_call *call, const char *verb, struct tc_slice target)
{
    _autoerror_ struct toolcage_error *err = NULL;
    _autofree_ char *text = tc_json_text(target);
    _autofree_ char *access = text ? tc_cli_format("%s %s", verb, text) : NULL;
    char *json = NULL;
    if (!access)
        return;
    if (toolcage_call_explain_json(call, access, &json, &err)) {
        put_error(r, past, err);
        return;
    }
    struct tc_slice verdict = tc_json_get(tc_json_of(json), "verdict");
    if (!tc_json_true(tc_json_get(verdict, "allowed")))
        put_verdict(r, past, access, verdict);
    toolcage_free(json);
}

static void check_list(struct tc_recheck *r, const struct tc_past_call *past,
                       struct toolcage_call *call, const char *verb, const char *key,
                       struct tc_slice list)
{
    struct tc_scan_each each = tc_scan_walk(list);
    while (tc_scan_is_array(list) && tc_scan_next(&each))
        check_access(r, past, call, verb, tc_json_get(each.value, key));
}

/* What the call was seen to use, if its policy lists that. */
static void check_accesses(struct tc_recheck *r, const struct tc_past_call *past,
                           struct toolcage_call *call)
{
    struct tc_slice list = tc_json_get(past->result, "accesses");
    struct tc_scan_each each = tc_scan_walk(list);
    while (tc_scan_is_array(list) && tc_scan_next(&each)) {
        _autofree_ char *verb = tc_json_text(tc_json_get(each.value, "operation"));
        if (verb && (!strcmp(verb, "read") || !strcmp(verb, "write") || !strcmp(verb, "exec")))
            check_access(r, past, call, verb, tc_json_get(each.value, "target"));
    }
}

/* Would a person have to approve the call, whom the recorded one did not need? */
static void check_approval(struct tc_recheck *r, const struct tc_past_call *past,
                           struct tc_slice grant)
{
    _autofree_ char *tier = tc_json_line(tc_json_get(grant, "tier"));
    if (!tc_json_true(tc_json_get(grant, "approval")) || tc_json_get(past->decision, "approval").at)
        return;
    _autofree_ char *why = tc_cli_format("needs a person's approval (tier %s)", tier ? tier : "?");
    put_refusal(r, past, NULL, why ? why : "needs a person's approval", "");
}

static void check_grant(struct tc_recheck *r, const struct tc_past_call *past,
                        struct toolcage_call *call)
{
    _autoerror_ struct toolcage_error *err = NULL;
    char *json = NULL;
    if (toolcage_call_explain_json(call, NULL, &json, &err)) {
        put_error(r, past, err);
        return;
    }
    check_approval(r, past, tc_json_of(json));
    toolcage_free(json);
    check_accesses(r, past, call);
    check_list(r, past, call, "write", "path", tc_json_get(past->result, "changes"));
    check_list(r, past, call, "connect", "target",
               tc_json_get(tc_json_get(past->result, "usage"), "destinations"));
}

/* ---- a call ---- */

static void check_call(struct tc_recheck *r, const struct tc_past_call *past)
{
    _autoerror_ struct toolcage_error *err = NULL;
    struct toolcage_call *call = NULL;
    if (tc_past_again(r->engine, r->policy, past, NULL, &call, &err))
        put_error(r, past, err);
    else
        check_grant(r, past, call);
    (void)toolcage_call_unref(call);
}

static bool was_broken(const struct tc_recheck *r, const struct tc_past_call *past)
{
    struct tc_recheck before = {.engine = r->engine, .policy = r->before};
    if (r->before)
        check_call(&before, past);
    return before.any;
}

static bool take(void *context, const struct tc_past_call *past)
{
    struct tc_recheck *r = context;
    bool known = tc_past_known(past);
    if (!tc_scan_is(tc_json_get(past->decision, "kind"), "run") || (known && was_broken(r, past)))
        return true;
    r->calls++;
    r->any = false;
    r->unknown += !known;
    if (known)
        check_call(r, past);
    return true;
}

static void put_totals(const struct tc_recheck *r)
{
    if (r->json)
        (void)fprintf(r->out,
                      "],\"calls\":%" PRId64 ",\"broken\":%" PRId64 ",\"unknown\":%" PRId64 "}\n",
                      r->calls, r->broken, r->unknown);
    else
        (void)fprintf(r->out, "this %s breaks %" PRId64 " of %" PRId64 " recorded calls\n",
                      r->before ? "change" : "policy", r->broken, r->calls);
    if (!r->json && r->unknown)
        (void)fprintf(r->out, "not checked: %" PRId64 ", of which the log has digests only\n",
                      r->unknown);
}

char *tc_recheck_text(int dir, const struct tc_past_filter *filter, struct toolcage_policy *policy,
                      struct toolcage_policy *before, bool json, int64_t *ret_broken,
                      struct tc_failure *failure)
{
    char *shown = NULL;
    size_t size = 0;
    struct tc_recheck r = {.policy = policy, .before = before, .json = json};
    int rc = toolcage_engine_new(&r.engine, tc_failure_error(failure));
    if (!rc)
        r.out = open_memstream(&shown, &size);
    if (r.out) {
        (void)fputs(json ? "{\"refused\":[" : "", r.out);
        rc = tc_past_read(dir, filter, take, &r, failure);
        put_totals(&r);
    }
    (void)toolcage_engine_unref(r.engine);
    char *text = r.out ? tc_cli_text(r.out, &shown) : NULL;
    *ret_broken = r.broken;
    if (!rc && !text)
        rc = tc_failure_set(failure, TOOLCAGE_EMEMORY, TC_CLI_FREE_MEMORY, "out of memory");
    if (!rc)
        return text;
    free(text);
    return NULL;
}
