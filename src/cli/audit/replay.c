/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Runs recorded calls again, each in a copy of its workspace as it was, without a network, and
 * compares how they end. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/audit/ending.h"
#include "cli/show/say.h"
#include "inputs/reader.h"

static const char *const words[TC_REPLAY_VERDICTS] = {"same", "differs", "denied", "left out"};

struct tc_replay {
    struct toolcage_engine *engine;
    struct toolcage_policy *policy;
    bool json;
    struct kept { /* owned: the newest calls of the log */
        char *decision, *result;
    } * calls;
    size_t most, count, next; /* a ring: `next` is where the next call goes */
    int store;                /* -1: there is none */
    size_t counts[TC_REPLAY_VERDICTS];
};

struct tc_replay *tc_replay_new(struct toolcage_policy *policy, size_t most, bool json,
                                struct toolcage_error **err)
{
    struct tc_replay *r = calloc(1, sizeof(*r));
    if (!r || !(r->calls = calloc(most, sizeof(*r->calls))) ||
        toolcage_engine_new(&r->engine, err)) {
        free(r ? r->calls : NULL);
        free(r);
        return NULL;
    }
    r->policy = policy;
    r->most = most;
    r->json = json;
    r->store = -1;
    return r;
}

static void forget(struct kept *call)
{
    free(call->decision);
    free(call->result);
}

void tc_replay_free(struct tc_replay *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < r->count; i++)
        forget(&r->calls[i]);
    tc_stored_close(r->store);
    (void)toolcage_engine_unref(r->engine);
    free(r->calls);
    free(r);
}

/* ---- the calls to run ---- */

bool tc_past_replays(const struct tc_past_call *past)
{
    struct tc_slice options = tc_json_get(past->decision, "options");
    struct tc_scan_each each = tc_scan_walk(options);
    while (tc_scan_is_array(options) && tc_scan_next(&each)) {
        _autofree_ char *text = tc_json_text(each.value);
        if (text && !strncmp(text, "replay=", strlen("replay=")))
            return true;
    }
    return false;
}

bool tc_replay_take(void *context, const struct tc_past_call *past)
{
    struct tc_replay *r = context;
    if (!tc_scan_is(tc_json_get(past->decision, "kind"), "run") || tc_past_replays(past))
        return true;
    struct kept *to = &r->calls[r->next];
    if (r->count == r->most)
        forget(to);
    else
        r->count++;
    r->next = (r->next + 1) % r->most;
    to->decision = strndup(past->decision.at, past->decision.length);
    to->result = past->result.at ? strndup(past->result.at, past->result.length) : NULL;
    return to->decision && (to->result || !past->result.at);
}

size_t tc_replay_count(const struct tc_replay *r)
{
    return r->count;
}

/* ---- why a call is left out ---- */

static bool has_items(struct tc_slice list)
{
    struct tc_scan_each each = tc_scan_walk(list);
    return tc_scan_is_array(list) && tc_scan_next(&each);
}

/* Does the JSON text name the workspace by its path on the host, where the copy is not? */
static bool names_workspace(struct tc_slice json, const char *workspace)
{
    return json.at && memmem(json.at, json.length, workspace, strlen(workspace));
}

static bool is_bound_to_host(const struct tc_past_call *past)
{
    _autofree_ char *workspace = tc_json_text(tc_json_get(past->decision, "workspace"));
    struct tc_slice command = tc_json_get(past->decision, "command");
    bool given = tc_json_true(tc_json_get(past->decision, "command_given"));
    return workspace && (names_workspace(tc_json_get(past->decision, "arguments"), workspace) ||
                         (given && names_workspace(command, workspace)));
}

static bool is_digest(struct tc_slice text)
{
    _autofree_ char *said = tc_json_text(text);
    return said && !strncmp(said, "sha256:", strlen("sha256:"));
}

/* Has the record all that is compared? */
static bool is_comparable(const struct tc_past_call *past)
{
    struct tc_slice inputs = tc_json_get(past->decision, "inputs");
    struct tc_slice workspace = tc_json_get(inputs, "workspace");
    struct tc_slice input = tc_json_get(inputs, "input");
    return tc_scan_is_object(inputs) && (!workspace.at || is_digest(workspace)) &&
           (!input.at || is_digest(input)) &&
           is_digest(tc_json_get(tc_json_get(past->result, "stdout"), "digest")) &&
           is_digest(tc_json_get(tc_json_get(past->result, "stderr"), "digest"));
}

static bool is_cut(const struct tc_past_call *past, const char *stream)
{
    return tc_json_true(tc_json_get(tc_json_get(past->result, stream), "truncated"));
}

static const char *obstacle_in_result(const struct tc_past_call *past)
{
    struct tc_slice usage = tc_json_get(past->result, "usage");
    if (!past->result.at || !usage.at)
        return "it has no result";
    if (!is_comparable(past))
        return "its record cannot be read";
    if (has_items(tc_json_get(usage, "destinations")) &&
        !is_digest(tc_json_get(tc_json_get(past->result, "exchanges"), "directory")))
        return "it used the network";
    if (is_cut(past, "stdout") || is_cut(past, "stderr"))
        return "it wrote more output than was kept";
    if (!tc_scan_is_array(tc_json_get(past->result, "changes")) ||
        tc_json_get(past->result, "changes_left_out").at)
        return "it changed more files than the log lists";
    return NULL;
}

/* Owned; NULL: the call can run again. */
static char *obstacle(const struct tc_past_call *past)
{
    struct tc_slice inputs = tc_json_get(past->decision, "inputs");
    struct tc_slice left_out = tc_json_get(inputs, "left_out");
    const char *why = NULL;
    if (!left_out.at)
        left_out = tc_json_get(tc_json_get(past->result, "exchanges"), "left_out");
    if (left_out.at)
        return tc_json_line(left_out);
    if (!inputs.at)
        why = "what it needs was not kept: set record = \"inputs\" in [audit]";
    else if (!tc_past_known(past))
        why = "the log has only digests of its arguments or options";
    else if (has_items(tc_json_get(past->decision, "unix_sockets")))
        why = "it could use unix sockets of the host";
    else if (is_bound_to_host(past))
        why = "its arguments name the workspace by its path on the host";
    else
        why = obstacle_in_result(past);
    return why ? strdup(why) : NULL;
}

/* ---- the run ---- */

static int set_input(struct tc_replay *r, struct toolcage_call *call,
                     const struct tc_past_call *past, struct toolcage_error **err)
{
    struct tc_slice inputs = tc_json_get(past->decision, "inputs");
    _autofree_ char *digest = tc_json_text(tc_json_get(inputs, "input"));
    size_t length = 0;
    if (!digest)
        return 0;
    _autofree_ char *bytes = tc_stored_bytes(r->store, digest, &length);
    return bytes ? toolcage_call_set_stdin(call, bytes, length, err) : TOOLCAGE_EUSAGE;
}

static int set_up(struct tc_replay *r, struct toolcage_call *call, const struct tc_past_call *past,
                  struct toolcage_error **err)
{
    _autofree_ char *id = tc_json_text(tc_json_get(past->decision, "call"));
    _autofree_ char *cwd = tc_json_text(tc_json_get(past->decision, "cwd"));
    int rc = toolcage_call_set(call, "replay", id ? id : "", err);
    _autofree_ char *exchanges =
        tc_json_text(tc_json_get(tc_json_get(past->result, "exchanges"), "directory"));
    if (!rc && exchanges)
        rc = toolcage_call_set(call, "exchanges", exchanges, err);
    if (!rc && cwd && !strncmp(cwd, "/workspace", strlen("/workspace")))
        rc = toolcage_call_set(call, "cwd", cwd, err);
    return rc ? rc : set_input(r, call, past, err);
}

/* Is what the tool sees as /workspace all from the copy? */
static bool is_in_copy(struct tc_slice grant, const char *copy)
{
    struct tc_slice list = tc_json_get(grant, "filesystem");
    struct tc_scan_each each = tc_scan_walk(list);
    size_t length = strlen(copy), within = strlen("/workspace");
    while (tc_scan_is_array(list) && tc_scan_next(&each)) {
        _autofree_ char *path = tc_json_text(tc_json_get(each.value, "path"));
        _autofree_ char *from = tc_json_text(tc_json_get(each.value, "from"));
        if (from && path && !strncmp(path, "/workspace", within) &&
            (strncmp(from, copy, length) != 0 || (from[length] && from[length] != '/')))
            return false;
    }
    return true;
}

/* Of process alone all refused paths can be known. */
static bool observes_paths(struct tc_slice grant)
{
    return tc_scan_is(tc_json_get(grant, "backend"), "process") &&
           !has_items(tc_json_get(grant, "fallback"));
}

/* Looks at the grant before the call runs under it. True: it runs; else the note says why not. */
static bool admit(struct tc_ending *e, struct toolcage_call *call, const char *copy)
{
    _autoerror_ struct toolcage_error *err = NULL;
    char *json = NULL;
    if (toolcage_call_explain_json(call, NULL, &json, &err)) {
        tc_ending_note_error(e, err);
        return false;
    }
    struct tc_slice grant = tc_json_of(json);
    bool asks = tc_json_true(tc_json_get(grant, "approval"));
    bool approved = tc_json_get(e->past->decision, "approval").at;
    if (!is_in_copy(grant, copy))
        tc_ending_note(e, TC_REPLAY_LEFT_OUT,
                       "the policy takes parts of the workspace from elsewhere");
    else if (asks && approved)
        tc_ending_note(e, TC_REPLAY_LEFT_OUT, "a person approved it, and a replay asks none");
    else if (asks)
        tc_ending_note(e, TC_REPLAY_DENIED, "it needs a person's approval");
    else if (observes_paths(grant))
        (void)toolcage_call_set(call, "denials", "paths", NULL);
    toolcage_free(json);
    return e->verdict == TC_REPLAY_SAME;
}

static bool lacks_requests(const struct toolcage_result *result)
{
    const struct toolcage_error *why = toolcage_result_error(result);
    return why && !strcmp(toolcage_error_stage(why), "exchanges");
}

static void run_in(struct tc_replay *r, struct tc_ending *e, const char *workspace)
{
    _autoerror_ struct toolcage_error *err = NULL;
    struct toolcage_call *call = NULL;
    int rc = tc_past_again(r->engine, r->policy, e->past, workspace, &call, &err);
    if (!rc)
        rc = set_up(r, call, e->past, &err);
    if (!rc && admit(e, call, workspace)) {
        rc = toolcage_call_run(call, &err);
        if (rc >= 0 && lacks_requests(toolcage_call_result(call)))
            tc_ending_note(e, TC_REPLAY_LEFT_OUT, "its requests are no longer stored as recorded");
        else if (rc >= 0)
            tc_ending_compare(e, r->store, toolcage_call_result(call));
    }
    if (rc < 0 && err)
        tc_ending_note_error(e, err);
    else if (rc < 0)
        tc_ending_note(e, TC_REPLAY_LEFT_OUT, "its input is no longer stored");
    (void)toolcage_call_unref(call);
}

static void note_unpack(struct tc_ending *e, int errnum)
{
    _autofree_ char *text =
        tc_cli_format("its workspace cannot be restored: %s",
                      errnum == ENOENT || errnum == EBADF ? "it is no longer stored"
                      : errnum == EBADMSG                 ? "what is stored was changed"
                      : errnum == ENOTDIR ? "set HOME or XDG_CACHE_HOME to your own directory"
                                          : strerror(errnum));
    tc_ending_note(e, TC_REPLAY_LEFT_OUT, text ? text : "out of memory");
}

static void run(struct tc_replay *r, struct tc_ending *e)
{
    struct tc_unpacked copy = {.parent = -1, .own = -1};
    _autofree_ char *why = obstacle(e->past);
    struct tc_slice inputs = tc_json_get(e->past->decision, "inputs");
    _autofree_ char *digest = tc_json_text(tc_json_get(inputs, "workspace"));
    if (why) {
        tc_ending_note(e, TC_REPLAY_LEFT_OUT, why);
        return;
    }
    if (tc_stored_unpack(r->store, digest, &copy) == 0)
        run_in(r, e, copy.path);
    else
        note_unpack(e, errno);
    tc_unpacked_done(&copy);
}

/* ---- the report ---- */

static void put_text(FILE *out, const struct tc_ending *e, const char *notes)
{
    (void)fprintf(out, "%-9s ", words[e->verdict]);
    tc_past_put(out, e->past);
    for (const char *line = notes; *line;) {
        size_t length = strcspn(line, "\n");
        (void)fprintf(out, "    %.*s\n", (int)length, line);
        line += length + (line[length] != '\0');
    }
}

static void put_json(FILE *out, const struct tc_ending *e, const char *notes)
{
    _autofree_ char *id = tc_json_text(tc_json_get(e->past->decision, "call"));
    (void)fputs("{\"call\":", out);
    tc_cli_json_string(out, id ? id : "");
    (void)fputs(",\"verdict\":", out);
    tc_cli_json_string(out, words[e->verdict]);
    (void)fputs(",\"notes\":[", out);
    for (const char *line = notes; *line;) {
        size_t length = strcspn(line, "\n");
        _autofree_ char *text = strndup(line, length);
        (void)fputs(line > notes ? "," : "", out);
        tc_cli_json_string(out, text ? text : "");
        line += length + (line[length] != '\0');
    }
    (void)fputc(']', out);
    (void)fputc('}', out);
}

static int print(const struct tc_replay *r, const struct tc_ending *e, const char *notes)
{
    char *shown = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&shown, &size);
    if (!out)
        return tc_cli_no_memory();
    if (!r->json) {
        put_text(out, e, notes);
        return tc_cli_print_text(TC_PAINT_ROWS, out, &shown);
    }
    put_json(out, e, notes);
    _autofree_ char *line = tc_cli_text(out, &shown);
    return line ? tc_cli_print_json(line) : tc_cli_no_memory();
}

static int replay_one(struct tc_replay *r, const struct kept *call)
{
    const struct tc_past_call past = {.decision = tc_json_of(call->decision),
                                      .result = tc_json_of(call->result ? call->result : "")};
    char *notes = NULL;
    size_t size = 0;
    struct tc_ending e = {.past = &past, .notes = open_memstream(&notes, &size)};
    if (!e.notes)
        return tc_cli_no_memory();
    run(r, &e);
    _autofree_ char *text = tc_cli_text(e.notes, &notes);
    r->counts[e.verdict]++;
    return text ? print(r, &e, text) : tc_cli_no_memory();
}

static int print_totals(const struct tc_replay *r)
{
    const size_t *n = r->counts;
    _autofree_ char *line =
        tc_cli_format(r->json ? "{\"calls\":%zu,\"same\":%zu,\"differs\":%zu,\"denied\":%zu,"
                                "\"left_out\":%zu}"
                              : "%zu calls: %zu same, %zu differ, %zu denied, %zu left out",
                      r->count, n[TC_REPLAY_SAME], n[TC_REPLAY_DIFFERS], n[TC_REPLAY_DENIED],
                      n[TC_REPLAY_LEFT_OUT]);
    return line ? tc_cli_print_line(line) : tc_cli_no_memory();
}

int tc_replay_run(struct tc_replay *r, bool *ret_other)
{
    int rc = 0;
    r->store = tc_stored_open(false);
    size_t first = r->count < r->most ? 0 : r->next;
    for (size_t i = 0; !rc && i < r->count; i++)
        rc = replay_one(r, &r->calls[(first + i) % r->most]);
    *ret_other = r->counts[TC_REPLAY_DIFFERS] || r->counts[TC_REPLAY_DENIED];
    return rc ? rc : print_totals(r);
}
