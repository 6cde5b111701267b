/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A call in the audit log: the decision before anything runs, and the result. */
#include <jansson.h>
#include <string.h>
#include <unistd.h>

#include "audit/log.h"
#include "base/jsontext.h"
#include "base/path.h"
#include "call/call.h"
#include "call/exchanges.h"
#include "call/inputs.h"
#include "call/live.h"
#include "policy/pathrule.h"
#include "provenance/provenance.h"
#include "schema/schema.h"
#include "state/places.h"

enum { VALUE_MAX = 64 << 10, OBSERVED_MAX = 512 << 10 };

/* The rules for this call; NULL: it is not recorded. Work on modules is no call of a tool. */
static const struct tc_audit_rules *rules_of(const struct toolcage_call *call)
{
    return call->work || call->module ? NULL : tc_policy_audit(call->policy);
}

/* Could a tool write the anchor, or could it have? */
static bool is_anchor_unsafe(const struct toolcage_call *call, const char *anchor)
{
    _autoprovenance_ struct tc_provenance writers = {0};
    return !tc_provenance_here(&writers, &call->grant.tool_writable,
                               tc_policy_writable(call->policy)) ||
           tc_grant_tool_writes(&call->grant, anchor) || tc_provenance_tool(&writers, anchor);
}

static int fail_rules(const struct toolcage_call *call, const struct tc_audit_rules *rules,
                      const char *hint, const char *what, struct toolcage_error **err)
{
    return tc_fail(err,
                   &(struct tc_why){.code = TOOLCAGE_EUNTRUSTED,
                                    .stage = "audit",
                                    .subject = rules->anchor,
                                    .hint = hint,
                                    .file = tc_policy_file(call->policy, rules->line),
                                    .line = tc_policy_number(rules->line),
                                    .column = 1},
                   "%s", what);
}

/* Only the operator's policy says where else the host is written, and what is removed: under a
 * ceiling that is the ceiling. */
static int check_rules(const struct toolcage_call *call, const struct tc_audit_rules *rules,
                       struct toolcage_error **err)
{
    _autofree_ char *state = NULL;
    if (rules->anchor && !tc_state_directory(&state))
        return tc_fail_memory(err);
    if (rules->anchor && state && tc_path_within(state, rules->anchor))
        return fail_rules(call, rules, "name a file elsewhere",
                          "the anchor of the audit log is in the state directory of toolcage", err);
    if (!tc_policy_audit_own(call->policy) && (rules->anchor || rules->keep || rules->record))
        return fail_rules(call, rules, "set anchor, keep and record in the ceiling's [audit]",
                          "anchor, keep and record of [audit] are more than the ceiling grants",
                          err);
    return rules->anchor && is_anchor_unsafe(call, rules->anchor)
               ? fail_rules(call, rules, "name a file that no tool may write",
                            "a tool could write the anchor of the audit log, or could have "
                            "written it",
                            err)
               : 0;
}

/* `fine`: the rules were checked. Without usable ones the record is written all the same: it says
 * that the call was refused for this. */
static int append(const struct toolcage_call *call, const char *kind, const struct tc_buf *members,
                  bool fine, struct toolcage_error **err)
{
    const struct tc_audit_rules *rules = rules_of(call);
    const struct tc_audit_options options = {.sync = (enum tc_audit_sync)rules->sync,
                                             .synced_us = tc_engine_audit_synced(call->engine),
                                             .keep = fine ? rules->keep : 0,
                                             .anchor = fine ? rules->anchor : NULL};
    return tc_audit_append(&options, kind, members, err);
}

/* ---- members ---- */

static void add_digest(struct tc_buf *out, const char *key, const void *bytes, size_t length)
{
    char digest[TC_DIGEST_SIZE];
    tc_digest(bytes, length, digest);
    tc_json_key(out, key);
    tc_buf_adds(out, "{");
    tc_json_number(out, "bytes", (int64_t)length);
    tc_json_member(out, "digest", digest);
    tc_buf_addc(out, '}');
}

void tc_record_value(struct tc_buf *out, const char *key, const struct tc_buf *json, bool hidden)
{
    out->failed |= json->failed;
    if (hidden || json->len > VALUE_MAX) {
        add_digest(out, key, json->data, json->len);
        return;
    }
    tc_json_key(out, key);
    tc_buf_add(out, json->data, json->len);
}

static void add_arguments(struct tc_buf *out, const char *arguments, bool hidden)
{
    _autobuf_ struct tc_buf json = TC_BUF_INIT;
    json_t *value = json_loads(arguments, JSON_REJECT_DUPLICATES, NULL);
    if (value)
        tc_json_canonical(value, &json);
    else
        tc_json_string(&json, arguments, strlen(arguments));
    json_decref(value);
    tc_record_value(out, "arguments", &json, hidden);
}

static void add_list_end(struct tc_buf *out, const char *key, struct tc_buf *list, bool hidden)
{
    tc_buf_addc(list, ']');
    tc_record_value(out, key, list, hidden);
}

static void add_item(struct tc_buf *list, const char *text, size_t length)
{
    tc_buf_adds(list, list->len > 1 ? "," : "");
    tc_json_string(list, text, length);
}

static bool is_utf8(const struct tc_strv *argv)
{
    for (size_t i = 0; i < argv->count; i++)
        if (!tc_utf8_valid(argv->items[i], strlen(argv->items[i])))
            return false;
    return true;
}

/* The digest of the words, each with a NUL: as text, different bytes can look the same. */
static void add_bytes(struct tc_buf *out, const struct tc_strv *argv)
{
    _autobuf_ struct tc_buf bytes = TC_BUF_INIT;
    for (size_t i = 0; i < argv->count; i++)
        tc_buf_add(&bytes, argv->items[i], strlen(argv->items[i]) + 1);
    out->failed |= bytes.failed;
    add_digest(out, "command_bytes", bytes.data, bytes.len);
}

static void add_command(struct tc_buf *out, const struct tc_strv *argv, bool hidden)
{
    _autobuf_ struct tc_buf list = TC_BUF_INIT;
    tc_buf_addc(&list, '[');
    for (size_t i = 0; i < argv->count; i++)
        add_item(&list, argv->items[i], strlen(argv->items[i]));
    add_list_end(out, "command", &list, hidden);
    if (!hidden && !is_utf8(argv))
        add_bytes(out, argv);
}

static void add_input(struct tc_buf *out, const struct toolcage_call *call)
{
    const struct tc_grant *grant = &call->grant;
    if (grant->stdin_bytes)
        add_digest(out, "input", grant->stdin_bytes, grant->stdin_len);
    else if (call->input.bytes)
        add_digest(out, "input", call->input.bytes, call->input.length);
    else if (call->input.given)
        tc_json_member(out, "input", "pipe");
}

/* The host's paths that the call may use in this way; `hidden`: without those of arguments. */
static void add_paths(struct tc_buf *out, const char *key, const struct tc_fs_entry *entries,
                      size_t count, enum tc_access access, bool hidden)
{
    _autobuf_ struct tc_buf list = TC_BUF_INIT;
    tc_buf_addc(&list, '[');
    for (size_t i = 0; i < count; i++)
        if (entries[i].access == access && entries[i].from && !(hidden && entries[i].argument))
            add_item(&list, entries[i].from, strlen(entries[i].from));
    add_list_end(out, key, &list, false);
}

/* `json` are members with their keys. */
static void add_bounded(struct tc_buf *out, const char *key, const struct tc_buf *json, size_t most)
{
    out->failed |= json->failed;
    if (json->len > most) {
        add_digest(out, key, json->data, json->len);
        return;
    }
    tc_buf_addc(out, ',');
    tc_buf_add(out, json->data, json->len);
}

static void add_grant(struct tc_buf *out, const struct tc_grant *grant, bool hidden)
{
    _autobuf_ struct tc_buf reach = TC_BUF_INIT;
    add_paths(out, "read", grant->fs, grant->fs_count, TC_ACCESS_READ, hidden);
    add_paths(out, "write", grant->fs, grant->fs_count, TC_ACCESS_WRITE, hidden);
    add_paths(out, "unix_sockets", grant->sockets, grant->socket_count, TC_ACCESS_CONNECT, false);
    tc_grant_write_reach(grant, &reach);
    add_bounded(out, "reach", &reach, VALUE_MAX);
}

/* The options of the call; a variable without its value, which may be secret. */
static void add_options(struct tc_buf *out, const struct toolcage_call *call)
{
    _autobuf_ struct tc_buf list = TC_BUF_INIT;
    tc_buf_addc(&list, '[');
    for (size_t i = 0; i < call->narrow_count; i++) {
        const struct tc_narrowing *n = &call->narrow[i];
        int length = (int)(strcmp(n->key, "env") == 0 ? strcspn(n->value, "=") : strlen(n->value));
        _autofree_ char *option = tc_format("%s=%.*s", n->key, length, n->value);
        list.failed |= !option;
        add_item(&list, option ? option : "", option ? strlen(option) : 0);
    }
    add_list_end(out, "options", &list, false);
}

static void add_place(struct tc_buf *out, const struct tc_grant *grant)
{
    const char *dirs[3] = {NULL};
    const struct tc_fs_entry *workspace = tc_grant_find(grant, TC_WORKSPACE);
    if (grant->policy)
        (void)tc_grant_starts(grant, dirs);
    if (dirs[0])
        tc_json_member(out, "cwd", dirs[0]);
    if (workspace && workspace->from)
        tc_json_member(out, "workspace", workspace->from);
}

static void add_who(struct tc_buf *out, const struct toolcage_call *call)
{
    tc_json_member(out, "call", call->id);
    tc_json_optional(out, "tool", call->tool);
    tc_json_number(out, "uid", (int64_t)getuid());
    tc_json_number(out, "pid", (int64_t)getpid());
}

static void add_what(struct tc_buf *out, const struct toolcage_call *call)
{
    const struct tc_grant *grant = &call->grant;
    bool hidden = rules_of(call)->arguments == 1;
    add_command(out, grant->argv.count ? &grant->argv : &call->argv, hidden);
    tc_json_bool(out, "command_given", call->argv.count > 0);
    if (call->arguments)
        add_arguments(out, call->arguments, hidden);
    add_input(out, call);
    add_options(out, call);
    add_place(out, grant);
    if (call->session)
        tc_json_member(out, "session", call->session);
    if (call->live_in[0])
        tc_json_member(out, "live_session", call->live_in);
    if (call->shell)
        tc_json_bool(out, "shell", true);
    if (call->live_file)
        tc_json_bool(out, "file_action", true);
    if (call->lifetime_ms > 0) {
        tc_json_number(out, "idle_ms", call->idle_ms);
        tc_json_number(out, "lifetime_ms", call->lifetime_ms);
    }
    if (call->approved[0])
        tc_json_member(out, "approval", call->approved);
    if (call->approved[0] && call->approved_again)
        tc_json_number(out, "approval_again", call->approved_again);
}

/* ---- the decision ---- */

int tc_call_record(struct toolcage_call *call, struct toolcage_error **err)
{
    const struct tc_audit_rules *rules = rules_of(call);
    const struct tc_result_frame frame = {.policy = call->policy, .grant = &call->grant};
    _autoinputs_ struct tc_inputs inputs = {.dir = -1};
    _autobuf_ struct tc_buf members = TC_BUF_INIT;
    int r = rules ? check_rules(call, rules, err) : 0;
    if (!rules || r < 0)
        return r;
    add_who(&members, call);
    tc_result_write_decision(&members, &frame);
    add_what(&members, call);
    add_grant(&members, &call->grant, rules->arguments == 1);
    if (rules->record)
        tc_call_keep_inputs(call, rules->keep_inputs, &inputs, &members);
    r = append(call, "run", &members, true, err);
    call->recorded = r == 0;
    call->log_failed = r < 0;
    return r;
}

/* ---- the result ---- */

/* The output as it was kept. */
static void add_stream(struct tc_buf *out, const char *key, const struct tc_stream *s)
{
    char digest[TC_DIGEST_SIZE];
    tc_json_key(out, key);
    tc_buf_addc(out, '{');
    tc_json_number(out, "bytes", s->bytes);
    tc_json_bool(out, "truncated", s->truncated);
    tc_digest(s->head ? s->head : "", s->head_len, digest);
    tc_json_member(out, "digest", digest);
    tc_buf_addc(out, '}');
}

void tc_record_changes(struct tc_buf *out, const struct tc_outcome *o)
{
    struct tc_outcome some = *o;
    struct tc_buf json;
    for (;; some.change_count /= 2) {
        json = TC_BUF_INIT;
        tc_result_write_changes(&json, &some);
        if (json.len <= VALUE_MAX || !some.change_count)
            break;
        tc_buf_done(&json);
    }
    add_bounded(out, "changes", &json, VALUE_MAX);
    tc_buf_done(&json);
    if (some.change_count < o->change_count)
        tc_json_number(out, "changes_left_out", (int64_t)(o->change_count - some.change_count));
}

static void add_result(struct tc_buf *out, const struct tc_result_frame *frame,
                       const struct toolcage_result *result, bool brief)
{
    const struct tc_outcome *o = &result->outcome;
    _autobuf_ struct tc_buf observed = TC_BUF_INIT;
    tc_result_write_end(out, result, brief);
    tc_json_number(out, "total_us", frame->total_us);
    add_stream(out, "stdout", &o->out);
    add_stream(out, "stderr", &o->err);
    tc_record_changes(out, o);
    tc_json_number(out, "files", (int64_t)o->file_count);
    tc_result_write_observed(&observed, frame, o);
    add_bounded(out, "observed", &observed, OBSERVED_MAX);
}

int tc_call_record_end(struct toolcage_call *call, const struct tc_result_frame *frame,
                       const struct toolcage_result *result, struct toolcage_error **err)
{
    _autobuf_ struct tc_buf members = TC_BUF_INIT;
    if (!rules_of(call) || (call->log_failed && !call->recorded)) /* its error says so */
        return 0;
    _autoinputs_ struct tc_inputs inputs = {.dir = -1};
    bool brief = rules_of(call)->arguments == 1;
    add_who(&members, call);
    if (call->recorded) {
        if (call->inputs_kept)
            tc_call_keep_output(rules_of(call)->keep_inputs, &result->outcome, &inputs);
        add_result(&members, frame, result, brief);
        if (call->inputs_kept)
            tc_exchanges_keep(call, &inputs, &members);
        return append(call, "result", &members, true, err);
    }
    tc_result_write_end(&members, result, brief);
    tc_result_write_decision(&members, frame);
    add_what(&members, call);
    return append(call, "refused", &members, check_rules(call, rules_of(call), NULL) == 0, err);
}

/* The call has a decision in the log and gets no result of its own. */
static void record_rest(struct toolcage_call *call, const char *status, const char *key, bool value)
{
    _autobuf_ struct tc_buf members = TC_BUF_INIT;
    if (!call->recorded)
        return;
    call->recorded = false;
    add_who(&members, call);
    tc_json_member(&members, "status", status);
    tc_json_bool(&members, key, value);
    (void)append(call, "result", &members, true, NULL);
}

void tc_call_record_unstarted(struct toolcage_call *call)
{
    record_rest(call, "error", "started", false);
}

void tc_call_record_abandoned(struct toolcage_call *call)
{
    record_rest(call, "cancelled", "abandoned", true);
}

/* ---- requests to a server ---- */

int tc_call_record_request(const struct toolcage_call *call, const char *tool,
                           const char *arguments, const char *refusal, struct toolcage_error **err)
{
    _autobuf_ struct tc_buf members = TC_BUF_INIT, name = TC_BUF_INIT, why = TC_BUF_INIT;
    if (!rules_of(call))
        return 0;
    if (!call->recorded)
        return tc_fail(err,
                       TC_WHY(TOOLCAGE_EUSAGE, "audit", call->id,
                              "record requests after the start of the call, until its end"),
                       "the call does not run");
    bool hidden = rules_of(call)->arguments == 1;
    tc_json_string(&name, tool, strlen(tool));
    tc_json_member(&members, "call", call->id);
    tc_json_optional(&members, "server", call->tool);
    tc_record_value(&members, "tool", &name, false);
    tc_json_member(&members, "status", refusal ? "denied" : "passed");
    if (arguments)
        add_arguments(&members, arguments, hidden);
    tc_json_string(&why, refusal ? refusal : "", refusal ? strlen(refusal) : 0);
    if (refusal)
        tc_record_value(&members, "refusal", &why, hidden);
    return append(call, "request", &members, true, err);
}
