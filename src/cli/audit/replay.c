/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Runs recorded calls again, each in a copy of its workspace as it was, without a network, and
 * compares how they end. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/audit/past.h"
#include "cli/show/clean.h"
#include "cli/show/say.h"
#include "inputs/reader.h"

enum { SHOWN_BYTES = 120, SHOWN_CHANGES = 5 };

enum verdict { SAME, DIFFERS, DENIED, LEFT_OUT, VERDICTS };
static const char *const words[VERDICTS] = {"same", "differs", "denied", "left out"};

struct tc_replay {
    struct toolcage_engine *engine;
    struct toolcage_policy *policy;
    bool json;
    struct kept { /* owned: the newest calls of the log */
        char *decision, *result;
    } * calls;
    size_t most, count, next; /* a ring: `next` is where the next call goes */
    int store;                /* -1: there is none */
    size_t counts[VERDICTS];
};

/* How one call ends now, in comparison with its record. */
struct ending {
    const struct tc_past_call *past;
    struct tc_slice now; /* the result; borrowed */
    enum verdict verdict;
    FILE *notes; /* lines that say why */
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

static bool is_replay(const struct tc_past_call *past)
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
    if (!tc_scan_is(tc_json_get(past->decision, "kind"), "run") || is_replay(past))
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

/* Owned; NULL: the call can run again. */
static char *obstacle(const struct tc_past_call *past)
{
    struct tc_slice inputs = tc_json_get(past->decision, "inputs");
    struct tc_slice left_out = tc_json_get(inputs, "left_out");
    struct tc_slice usage = tc_json_get(past->result, "usage");
    const char *why = NULL;
    if (left_out.at)
        return tc_json_line(left_out);
    if (!inputs.at)
        why = "what it needs was not kept: set record = \"inputs\" in [audit]";
    else if (!tc_past_known(past))
        why = "the log has only digests of its arguments";
    else if (!past->result.at || !usage.at)
        why = "it has no result";
    else if (has_items(tc_json_get(usage, "destinations")))
        why = "it used the network";
    else if (has_items(tc_json_get(past->decision, "unix_sockets")))
        why = "it could use unix sockets of the host";
    else if (is_bound_to_host(past))
        why = "its arguments name the workspace by its path on the host";
    return why ? strdup(why) : NULL;
}

/* ---- the differences ---- */

static void note(struct ending *e, enum verdict verdict, const char *text)
{
    _autofree_ char *line = tc_clean(TC_CLEAN_LINE, text, strlen(text), &(size_t){0});
    e->verdict = e->verdict == SAME ? verdict : e->verdict;
    (void)fprintf(e->notes, "%s\n", line ? line : "out of memory");
}

static void compare_member(struct ending *e, const char *key)
{
    struct tc_slice was = tc_json_get(e->past->result, key), is = tc_json_get(e->now, key);
    if (was.length == is.length && (!was.at || !memcmp(was.at, is.at, was.length)))
        return;
    _autofree_ char *text = tc_cli_format("%s: %.*s, now %.*s", key, (int)was.length,
                                          was.at ? was.at : "", (int)is.length, is.at ? is.at : "");
    note(e, DIFFERS, text ? text : key);
}

static void note_line(struct ending *e, const char *sign, const char *line)
{
    int length = (int)strcspn(line, "\n");
    _autofree_ char *text =
        tc_cli_format("  %s %.*s%s", sign, length < SHOWN_BYTES ? length : SHOWN_BYTES, line,
                      length > SHOWN_BYTES ? "…" : "");
    note(e, DIFFERS, text ? text : sign);
}

/* The first line that differs. */
static void note_text(struct ending *e, const char *name, const char *was, const char *is)
{
    size_t line = 1, start = 0;
    for (size_t i = 0; was[i] && was[i] == is[i]; i++)
        if (was[i] == '\n') {
            line++;
            start = i + 1;
        }
    _autofree_ char *head = tc_cli_format("%s differs from line %zu on:", name, line);
    note(e, DIFFERS, head ? head : name);
    note_line(e, "-", was + start);
    note_line(e, "+", is + start);
}

static void note_bytes(struct ending *e, const char *name)
{
    _autofree_ char *text = tc_cli_format("%s differs", name);
    note(e, DIFFERS, text ? text : name);
}

static bool is_text(const char *bytes, size_t length)
{
    return !memchr(bytes, '\0', length);
}

static void compare_stream(struct tc_replay *r, struct ending *e,
                           const struct toolcage_result *result, int stream)
{
    static const char *const names[] = {"stdout", "stderr"};
    const char *name = names[stream - 1];
    _autofree_ char *digest =
        tc_json_text(tc_json_get(tc_json_get(e->past->result, name), "digest"));
    size_t length = 0, was_length = 0;
    const char *now = toolcage_result_output(result, stream, &length);
    if (!digest || tc_stored_is(digest, now ? now : "", length))
        return;
    _autofree_ char *text = strndup(now ? now : "", length);
    _autofree_ char *was = tc_stored_bytes(r->store, digest, &was_length);
    if (was && text && is_text(was, was_length) && is_text(text, length))
        note_text(e, name, was, text);
    else
        note_bytes(e, name);
}

/* "PATH (kind, content)" of each change, in order. */
struct changes {
    char **items;
    size_t count;
};

static char *describe_change(struct tc_slice change)
{
    _autofree_ char *path = tc_json_path(change);
    _autofree_ char *kind = tc_json_line(tc_json_get(change, "kind"));
    _autofree_ char *content = tc_json_text(tc_json_get(change, "sha256"));
    _autofree_ char *mode = tc_json_line(tc_json_get(change, "mode"));
    _autofree_ char *target = tc_json_name(change, "target", "target_base64");
    return tc_cli_format("%s (%s%s%s%s%.12s%s%s)", path ? path : "?", kind ? kind : "?",
                         mode ? ", mode " : "", mode ? mode : "", content ? ", sha256 " : "",
                         content ? content : "", target ? ", to " : "", target ? target : "");
}

static int compare_texts(const void *x, const void *y)
{
    return strcmp(*(char *const *)x, *(char *const *)y);
}

static struct changes list_changes(struct tc_slice list)
{
    struct changes c = {0};
    size_t most = 0;
    struct tc_scan_each each = tc_scan_walk(list);
    while (tc_scan_is_array(list) && tc_scan_next(&each))
        most++;
    c.items = calloc(most + 1, sizeof(*c.items));
    each = tc_scan_walk(list);
    while (c.items && tc_scan_is_array(list) && tc_scan_next(&each))
        if ((c.items[c.count] = describe_change(each.value)))
            c.count++;
    if (c.items)
        qsort(c.items, c.count, sizeof(*c.items), compare_texts);
    return c;
}

static void forget_changes(struct changes *c)
{
    for (size_t i = 0; i < c->count; i++)
        free(c->items[i]);
    free(c->items);
}

static void note_change(struct ending *e, size_t *shown, const char *what, const char *change)
{
    _autofree_ char *text = tc_cli_format("%s: %s", what, change);
    if (++*shown <= SHOWN_CHANGES)
        note(e, DIFFERS, text ? text : what);
    else if (*shown == SHOWN_CHANGES + 1)
        note(e, DIFFERS, "more changes differ");
}

static void compare_changes(struct ending *e)
{
    struct changes was = list_changes(tc_json_get(e->past->result, "changes"));
    struct changes is = list_changes(tc_json_get(e->now, "changes"));
    size_t shown = 0;
    for (size_t i = 0, k = 0; i < was.count || k < is.count;) {
        int order = i == was.count ? 1 : k == is.count ? -1 : strcmp(was.items[i], is.items[k]);
        if (order < 0)
            note_change(e, &shown, "no longer changed", was.items[i]);
        else if (order > 0)
            note_change(e, &shown, "changed now", is.items[k]);
        i += order <= 0;
        k += order >= 0;
    }
    forget_changes(&was);
    forget_changes(&is);
}

/* Was the same refused when the call was recorded? */
static bool was_denied(const struct ending *e, struct tc_slice denial)
{
    struct tc_slice list = tc_json_get(e->past->result, "denials");
    struct tc_slice target = tc_json_get(denial, "target");
    struct tc_scan_each each = tc_scan_walk(list);
    while (tc_scan_is_array(list) && tc_scan_next(&each)) {
        struct tc_slice other = tc_json_get(each.value, "target");
        if (other.length == target.length && !memcmp(other.at, target.at, target.length))
            return true;
    }
    return false;
}

/* Programs look for many files that are nowhere: that counts in the workspace alone. */
static bool counts(const char *operation, const char *target)
{
    return !operation || strcmp(operation, "look") != 0 ||
           !strncmp(target, "/workspace", strlen("/workspace"));
}

/* What the policy refuses now, in a call that ends in another way. */
static void note_denials(struct ending *e)
{
    struct tc_slice list = tc_json_get(e->now, "denials");
    struct tc_scan_each each = tc_scan_walk(list);
    size_t shown = 0;
    while (tc_scan_is_array(list) && tc_scan_next(&each) && shown < SHOWN_CHANGES) {
        _autofree_ char *operation = tc_json_line(tc_json_get(each.value, "operation"));
        _autofree_ char *target = tc_json_line(tc_json_get(each.value, "target"));
        _autofree_ char *key = tc_json_line(tc_json_get(each.value, "key"));
        int64_t line = tc_json_int(tc_json_get(each.value, "line"), 0);
        if (!key || !target || !counts(operation, target) || was_denied(e, each.value))
            continue;
        _autofree_ char *place = line ? tc_cli_format("%s, line %" PRId64, key, line) : strdup(key);
        _autofree_ char *text = tc_cli_format("refused: %s %s (%s)", operation ? operation : "?",
                                              target, place ? place : key);
        note(e, DENIED, text ? text : target);
        e->verdict = DENIED;
        shown++;
    }
}

static void note_error(struct ending *e, const struct toolcage_error *err)
{
    const char *file = NULL;
    uint32_t line = 0, column = 0;
    toolcage_error_location(err, &file, &line, &column);
    _autofree_ char *text =
        line ? tc_cli_format("%s (%s:%u)", toolcage_error_message(err), file, line)
             : strdup(toolcage_error_message(err));
    note(e, DENIED, text ? text : "out of memory");
}

static void compare_result(struct tc_replay *r, struct ending *e,
                           const struct toolcage_result *result)
{
    static const char *const members[] = {"status", "exit_code", "signal", "limit"};
    e->now = tc_json_of(toolcage_result_json(result));
    if (toolcage_result_status(result) == TOOLCAGE_STATUS_DENIED && toolcage_result_error(result)) {
        note_error(e, toolcage_result_error(result));
        return;
    }
    for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++)
        compare_member(e, members[i]);
    compare_stream(r, e, result, 1);
    compare_stream(r, e, result, 2);
    compare_changes(e);
    if (e->verdict != SAME)
        note_denials(e);
}

/* ---- the run ---- */

/* A person approved the recorded call; this one reaches nothing and changes nothing. */
static int approve(struct toolcage_call *call, const struct tc_past_call *past,
                   struct toolcage_error **err)
{
    char *json = NULL;
    if (!tc_json_get(past->decision, "approval").at)
        return 0;
    int rc = toolcage_call_approval_json(call, &json, err);
    _autofree_ char *digest = rc ? NULL : tc_json_text(tc_json_get(tc_json_of(json), "digest"));
    if (digest)
        rc = toolcage_call_approve(call, digest, err);
    toolcage_free(json);
    return rc;
}

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
    if (!rc && cwd && !strncmp(cwd, "/workspace", strlen("/workspace")))
        rc = toolcage_call_set(call, "cwd", cwd, err);
    if (!rc && tc_scan_is(tc_json_get(past->decision, "backend"), "process"))
        rc = toolcage_call_set(call, "denials", "paths", err); /* says what is refused, and why */
    if (!rc)
        rc = set_input(r, call, past, err);
    return rc ? rc : approve(call, past, err);
}

static void run_in(struct tc_replay *r, struct ending *e, const char *workspace)
{
    _autoerror_ struct toolcage_error *err = NULL;
    struct toolcage_call *call = NULL;
    int rc = tc_past_again(r->engine, r->policy, e->past, workspace, &call, &err);
    if (!rc)
        rc = set_up(r, call, e->past, &err);
    if (!rc)
        rc = toolcage_call_start(call, &err);
    if (!rc)
        rc = toolcage_call_wait(call, -1, &err);
    if (rc >= 0)
        compare_result(r, e, toolcage_call_result(call));
    else if (err)
        note_error(e, err);
    else
        note(e, LEFT_OUT, "its input is no longer stored");
    (void)toolcage_call_unref(call);
}

static void note_unpack(struct ending *e, int errnum)
{
    _autofree_ char *text =
        tc_cli_format("its workspace cannot be restored: %s",
                      errnum == ENOENT || errnum == EBADF ? "it is no longer stored"
                      : errnum == EBADMSG                 ? "what is stored was changed"
                                                          : strerror(errnum));
    note(e, LEFT_OUT, text ? text : "out of memory");
}

static void run(struct tc_replay *r, struct ending *e)
{
    struct tc_unpacked copy = {.parent = -1, .own = -1};
    _autofree_ char *why = obstacle(e->past);
    struct tc_slice inputs = tc_json_get(e->past->decision, "inputs");
    _autofree_ char *digest = tc_json_text(tc_json_get(inputs, "workspace"));
    if (why) {
        note(e, LEFT_OUT, why);
        return;
    }
    if (tc_stored_unpack(r->store, digest, &copy) == 0)
        run_in(r, e, copy.path);
    else
        note_unpack(e, errno);
    tc_unpacked_done(&copy);
}

/* ---- the report ---- */

static void put_text(FILE *out, const struct ending *e, const char *notes)
{
    (void)fprintf(out, "%-9s ", words[e->verdict]);
    tc_past_put(out, e->past);
    for (const char *line = notes; *line;) {
        size_t length = strcspn(line, "\n");
        (void)fprintf(out, "    %.*s\n", (int)length, line);
        line += length + (line[length] != '\0');
    }
}

static void put_json(FILE *out, const struct ending *e, const char *notes)
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

static int print(const struct tc_replay *r, const struct ending *e, const char *notes)
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
    struct ending e = {.past = &past, .notes = open_memstream(&notes, &size)};
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
                      r->count, n[SAME], n[DIFFERS], n[DENIED], n[LEFT_OUT]);
    return line ? tc_cli_print_line(line) : tc_cli_no_memory();
}

int tc_replay_run(struct tc_replay *r, bool *ret_other)
{
    int rc = 0;
    r->store = tc_stored_open(false);
    size_t first = r->count < r->most ? 0 : r->next;
    for (size_t i = 0; !rc && i < r->count; i++)
        rc = replay_one(r, &r->calls[(first + i) % r->most]);
    *ret_other = r->counts[DIFFERS] || r->counts[DENIED];
    return rc ? rc : print_totals(r);
}
