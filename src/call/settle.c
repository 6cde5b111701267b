/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "call/settle.h"

#include <jansson.h>
#include <string.h>
#include <unistd.h>

#include "base/jsontext.h"
#include "base/path.h"
#include "call/call.h"
#include "provenance/provenance.h"
#include "state/places.h"

static const char discarded[] = "discarded";

/* ---- the rules ---- */

char *tc_settle_rules(const struct tc_audit_rules *rules)
{
    struct tc_buf out = TC_BUF_INIT;
    tc_buf_addc(&out, '{');
    tc_json_number(&out, "sync", rules->sync);
    tc_json_number(&out, "keep", rules->keep);
    tc_json_optional(&out, "anchor", rules->anchor);
    tc_buf_addc(&out, '}');
    return tc_buf_steal(&out);
}

static int fail(const struct tc_settling *s, const char *subject, const char *hint,
                struct toolcage_error **err)
{
    return tc_fail(err, TC_WHY(TOOLCAGE_EUNTRUSTED, "audit", subject, hint),
                   "the decision about the staged changes of call %s cannot be recorded", s->call);
}

/* The call's program checked the anchor; a tool may have got a grant for it since. */
static int check_anchor(const struct tc_settling *s, const char *anchor,
                        struct toolcage_error **err)
{
    _autoprovenance_ struct tc_provenance writers = {0};
    _autofree_ char *state = NULL;
    if (!tc_state_directory(&state) || !tc_provenance_here(&writers, NULL, NULL))
        return tc_fail_memory(err);
    bool inside = state && tc_path_within(state, anchor);
    return inside || anchor[0] != '/' || tc_provenance_tool(&writers, anchor)
               ? fail(s, anchor,
                      "the anchor must be a file that no tool may write, outside of the state "
                      "directory",
                      err)
               : 0;
}

static bool is_sync(json_int_t sync)
{
    return sync >= TC_SYNC_INTERVAL && sync <= TC_SYNC_NONE;
}

/* Appends under the rules that the call left. */
static int append(const struct tc_settling *s, const char *kind, const struct tc_buf *members,
                  struct toolcage_error **err)
{
    json_t *rules = json_loads(s->about->audit, JSON_REJECT_DUPLICATES, NULL);
    json_int_t sync = json_integer_value(json_object_get(rules, "sync"));
    json_int_t keep = json_integer_value(json_object_get(rules, "keep"));
    const char *anchor = json_string_value(json_object_get(rules, "anchor"));
    int r = 0;
    if (!json_is_object(rules) || !is_sync(sync) || keep < 0)
        r = fail(s, s->call, "discard the directory of the call, below held in the state directory",
                 err);
    else if (anchor)
        r = check_anchor(s, anchor, err);
    const struct tc_audit_options options = {.sync = (enum tc_audit_sync)sync,
                                             .synced_us = s->synced_us,
                                             .keep = keep,
                                             .anchor = anchor};
    if (r == 0)
        r = tc_audit_append(&options, kind, members, err);
    json_decref(rules);
    return r;
}

/* ---- the decision ---- */

static const struct tc_waiting *staged(const struct tc_settling *s)
{
    return s->about->waiting_count ? &s->about->waiting[0] : NULL;
}

static void add_who(struct tc_buf *out, const struct tc_settling *s)
{
    tc_json_member(out, "call", s->call);
    tc_json_optional(out, "tool", staged(s) ? staged(s)->tool : NULL);
    tc_json_member(out, "settlement", s->id);
    tc_json_number(out, "uid", (int64_t)getuid());
    tc_json_number(out, "pid", (int64_t)getpid());
}

static void add_paths(struct tc_buf *out, const struct tc_settling *s)
{
    _autobuf_ struct tc_buf list = TC_BUF_INIT;
    tc_buf_addc(&list, '[');
    for (size_t i = 0; i < s->path_count; i++) {
        tc_buf_adds(&list, i ? "," : "");
        tc_json_string(&list, s->paths[i], strlen(s->paths[i]));
    }
    tc_buf_addc(&list, ']');
    tc_record_value(out, "paths", &list, false);
}

int tc_settle_record(struct tc_settling *s, struct toolcage_error **err)
{
    _autobuf_ struct tc_buf members = TC_BUF_INIT;
    if (tc_ulid(s->id) < 0)
        return tc_fail(err, TC_WHY(TOOLCAGE_ESYSTEM, "audit", "getrandom", NULL),
                       "cannot make a random number");
    add_who(&members, s);
    tc_json_member(&members, "action", s->action);
    tc_json_optional(&members, "digest", s->seen ? s->seen : s->about->seen);
    tc_json_bool(&members, "seen", s->seen != NULL);
    if (staged(s))
        tc_json_number(&members, "staged", staged(s)->changes);
    if (s->path_count)
        add_paths(&members, s);
    return append(s, "settle", &members, err);
}

/* ---- the result ---- */

/* A list that was discarded whole is not listed again. */
static void add_counts(struct tc_buf *out, const struct tc_settling *s, const struct tc_outcome *o)
{
    int64_t applied = 0, left = 0, before = staged(s) ? staged(s)->changes : 0;
    for (size_t i = 0; i < o->change_count; i++) {
        const char *held = o->changes[i].held;
        applied += !held;
        left += held && strcmp(held, discarded) != 0;
    }
    tc_json_number(out, "applied", applied);
    tc_json_number(out, discarded, before > applied + left ? before - applied - left : 0);
    tc_json_number(out, "left", left);
}

static void add_error(struct tc_buf *out, const struct toolcage_error *why)
{
    tc_json_member(out, "status", tc_error_code(why) == TOOLCAGE_EDENIED ? "denied" : "error");
    tc_json_key(out, "error");
    tc_buf_adds(out, tc_error_json(why));
}

int tc_settle_record_end(const struct tc_settling *s, const struct tc_outcome *outcome,
                         const struct toolcage_error *why, struct toolcage_error **err)
{
    _autobuf_ struct tc_buf members = TC_BUF_INIT;
    add_who(&members, s);
    if (why) {
        add_error(&members, why);
    } else {
        tc_json_member(&members, "status", "ok");
        add_counts(&members, s, outcome);
        tc_record_changes(&members, outcome);
    }
    return append(s, "settled", &members, err);
}
