/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The result of a call: which policy rule caused each refusal, which clause would allow it, and
 * the other values computed once from the outcome. */
#include "call/result/result.h"

#include <signal.h>
#include <string.h>

#include "base/display.h"
#include "base/path.h"
#include "call/exec/exec_check.h"
#include "call/exec/exec_error.h"
#include "policy/names/syscall_names.h"

/* ---- the policy rule of each refusal ---- */

bool tc_result_verdict(const struct tc_result_frame *frame, const struct tc_denial *d,
                       struct tc_verdict *ret)
{
    const char *verb = tc_denial_row(d->kind)->verb;
    struct toolcage_error *error = NULL;
    if (!verb || !d->target || d->target[0] != '/')
        return false;
    _autofree_ char *access = tc_format("%s %s", verb, d->target);
    int rc = access ? tc_policy_verdict(frame->policy, frame->grant, access, ret, &error) : -1;
    tc_error_free(error);
    if (rc == 0 && ret->allowed)
        tc_verdict_done(ret);
    return rc == 0 && ret->target;
}

/* A path that does not exist cannot be granted: its directory can. */
static bool name_parent(struct tc_denial *d)
{
    _autofree_ char *parent = tc_path_parent(d->target);
    _autofree_ char *word = parent ? tc_shell_quote(parent) : NULL;
    free(d->hint);
    d->hint = word ? tc_format("--write %s", word) : NULL;
    return d->hint != NULL;
}

/* The policy rule that refused a path, and the smallest clause that would allow it. A path that
 * the policy would grant, or cannot name, keeps the helper's hint. */
static bool place_path(const struct tc_result_frame *frame, struct tc_denial *d)
{
    struct tc_verdict v = {0};
    if (!tc_result_verdict(frame, d, &v))
        return true;
    free(d->key);
    free(d->hint);
    d->key = v.key[0] ? TAKE(v.key) : NULL;
    d->line = v.line;
    d->hint = v.hint[0] ? TAKE(v.hint) : NULL;
    tc_verdict_done(&v);
    return d->kind != TC_DENIAL_CREATE || !d->hint || !tc_startswith(d->hint, "--write ") ||
           name_parent(d);
}

/* Calls that the profile refuses only with set-id bits in their mode. */
static bool sets_mode(const char *name)
{
    static const char *const names[] = {"chmod",   "fchmod", "fchmodat", "fchmodat2", "mkdir",
                                        "mkdirat", "open",   "openat",   "creat"};
    for (size_t i = 0; i < TC_COUNT(names); i++)
        if (tc_streq(names[i], name))
            return true;
    return false;
}

/* What would allow a refused system call: an option where the options are the grant, else a key; or
 * why nothing allows it. */
static char *syscall_hint(const struct tc_result_frame *frame, const struct tc_denial *d)
{
    bool options = tc_policy_is_default(frame->policy);
    const char *name = d->target ? d->target : "";
    const char *why = tc_syscall_never(tc_streq(name, "clone") ? "unshare" : name);
    if (d->kind == TC_DENIAL_UNIX)
        return tc_format("unix sockets are not granted; %s grants the tool's own",
                         options ? "--unix-sockets own" : "unix_sockets = \"own\"");
    if (tc_syscall_allowable(name))
        return tc_format("syscalls.allow = [\"%s\"]%s", name,
                         options ? " in a policy file allows it; no option does" : "");
    if (sets_mode(name))
        return strdup("no policy allows set-user-id bits; set-group-id bits (git init --shared, "
                      "chmod g+s) are for directories, and only where all writable directories "
                      "are overlays or copies: leave out --in-place and mode = \"bind\"");
    return why ? tc_format("no policy allows it: %s", why)
               : strdup("no policy allows it, or not with these arguments");
}

static bool place_syscall(const struct tc_result_frame *frame, struct tc_denial *d)
{
    char *hint = syscall_hint(frame, d);
    free(d->hint);
    d->hint = hint;
    return hint != NULL;
}

static bool place(const struct tc_result_frame *frame, struct tc_denial *d)
{
    if (d->kind == TC_DENIAL_SYSCALL || d->kind == TC_DENIAL_UNIX)
        return place_syscall(frame, d);
    return tc_denial_row(d->kind)->key ? tc_result_place_connect(frame, d) : place_path(frame, d);
}

/* A search for a program that the cage has: the helper saw the search continue, but not whether
 * it succeeded. */
static bool is_search(const struct tc_grant *grant, const struct tc_denial *d)
{
    _auto_(tc_exec_check_done) struct tc_exec_check starts = {0};
    return d->target && tc_exec_check_on_path(grant, NULL, tc_path_base(d->target), &starts) &&
           starts.hops.count && !starts.missing;
}

/* Programs try these calls, and do without them. Those that no program needs are probes for the
 * seccomp profile; a program that fails may have needed one of these. */
static bool is_optional(const char *name)
{
    static const char *const names[] = {"bpf", "fanotify_init", "fanotify_mark", "kcmp",
                                        "name_to_handle_at"};
    for (size_t i = 0; i < TC_COUNT(names); i++)
        if (tc_streq(names[i], name))
            return true;
    return false;
}

/* A refusal that the tool did not depend on. Tools without network still resolve names, and a
 * successful call did not need them. */
static bool is_probe(const struct tc_result_frame *frame, const struct tc_outcome *o,
                     const struct tc_denial *d)
{
    if (d->kind == TC_DENIAL_UNRESOLVED)
        return d->probe || o->status == TOOLCAGE_STATUS_OK;
    if (d->kind == TC_DENIAL_SYSCALL && o->status == TOOLCAGE_STATUS_OK && is_optional(d->target))
        return true;
    return d->probe && (d->kind != TC_DENIAL_UNSHOWN || is_search(frame->grant, d));
}

bool tc_result_place_denials(const struct tc_result_frame *frame, struct tc_outcome *o)
{
    for (size_t i = 0; i < o->denial_count; i++) {
        struct tc_denial *d = &o->denials[i];
        d->probe = is_probe(frame, o, d);
        if (!place(frame, d))
            return false;
        if (d->probe) { /* must not be suggested as a grant */
            free(TAKE(d->hint));
            free(TAKE(d->endpoint));
        }
    }
    return true;
}

/* ---- the result ---- */

enum {
    SHELL_TIMEOUT = 124,
    SHELL_OWN = 125,
    SHELL_DENIED = 126,
    SHELL_NOT_FOUND = 127,
    SHELL_SIGNAL = 128
};

static int32_t error_shell_code(const struct toolcage_result *result)
{
    switch (tc_error_code(result->error)) {
    case TOOLCAGE_ECOMMAND_NOT_FOUND:
        return SHELL_NOT_FOUND;
    case TOOLCAGE_ENOT_EXECUTABLE:
        return SHELL_DENIED;
    default:
        return result->outcome.status == TOOLCAGE_STATUS_DENIED ? SHELL_DENIED : SHELL_OWN;
    }
}

/* For a tool that ran; `none` is for one that neither exited nor was killed by a signal. */
static int32_t ended_shell_code(const struct tc_outcome *o, int32_t none)
{
    if (o->signal > 0)
        return SHELL_SIGNAL + (int32_t)(o->signal & 127);
    return o->exit_code >= 0 ? (int32_t)(o->exit_code & 255) : none;
}

int32_t tc_result_shell_code(const struct toolcage_result *result)
{
    enum { SIGNAL_INT = 2, SIGNAL_KILL = 9 };
    const struct tc_outcome *o = &result->outcome;
    switch (o->status) {
    case TOOLCAGE_STATUS_OK:
        return 0;
    case TOOLCAGE_STATUS_FAILED:
        return ended_shell_code(o, SHELL_OWN);
    case TOOLCAGE_STATUS_TIMEOUT:
        return SHELL_TIMEOUT;
    case TOOLCAGE_STATUS_LIMIT:
        /* A tool that failed because of a counter keeps its exit code. A killed tool has none,
         * and a tool that exited with 0 although its children were killed has not succeeded. */
        return o->signal > 0 || o->exit_code == 0 ? SHELL_SIGNAL + SIGNAL_KILL
                                                  : ended_shell_code(o, SHELL_SIGNAL + SIGNAL_KILL);
    case TOOLCAGE_STATUS_CANCELLED:
        return o->signal > 0 ? ended_shell_code(o, 0) : SHELL_SIGNAL + SIGNAL_INT;
    default:
        return error_shell_code(result);
    }
}

void tc_result_free(struct toolcage_result *result)
{
    if (!result)
        return;
    tc_outcome_done(&result->outcome);
    tc_error_free(result->error);
    free(result->message);
    free(result->json);
    free(result->timings);
    free(result);
}

/* The helper names paths; the policy has the line of each. */
static uint32_t line_of(const struct tc_grant *grant, const struct tc_outcome_failure *f)
{
    if (f->line > 0 && f->line <= UINT32_MAX)
        return (uint32_t)f->line;
    for (size_t i = 0; f->subject && i < grant->fs_count; i++)
        if (tc_streq(grant->fs[i].path, f->subject) || tc_streq(grant->fs[i].from, f->subject))
            return grant->fs[i].origin.line;
    return 0;
}

/* The helper's message already ends with the errno's text, which the error appends again. */
static size_t bare_length(const char *message, int errnum)
{
    size_t length = strlen(message);
    const char *text = errnum ? strerrordesc_np(errnum) : NULL;
    _autofree_ char *tail = text ? tc_format(": %s", text) : NULL;
    return tail && tc_endswith(message, tail) ? length - strlen(tail) : length;
}

struct toolcage_error *tc_error_of_failure(const struct tc_outcome_failure *f, const char *file,
                                           uint32_t line)
{
    struct toolcage_error *error = NULL;
    struct tc_why why = {.code = (int)f->code,
                         .stage = f->stage,
                         .subject = f->subject,
                         .errnum = (int)f->errnum,
                         .hint = f->hint,
                         .file = line ? file : NULL,
                         .line = line,
                         .column = line ? 1 : 0};
    const char *message = f->message ? f->message : tc_error_word(why.code);
    (void)tc_fail(&error, &why, "%.*s", (int)bare_length(message, why.errnum), message);
    return error;
}

static struct toolcage_error *error_of_failure(const struct tc_result_frame *frame,
                                               const struct tc_outcome_failure *f)
{
    uint32_t line = line_of(frame->grant, f);
    struct toolcage_error *better = tc_exec_error(frame, f);
    return better ? better
                  : tc_error_of_failure(f, tc_policy_file(frame->policy, line),
                                        tc_policy_number(line));
}

/* A shell exits with 128 and the number of the signal that ended its last command. */
static void note_failure(const struct tc_result_frame *frame, struct tc_outcome *o)
{
    static const char text[] =
        "made a system call of a foreign ABI; a cage runs 64-bit programs only";
    char *note = o->signal == SIGSYS            ? tc_format("it %s", text)
                 : o->exit_code == 128 + SIGSYS ? tc_format("a command of it %s", text)
                                                : tc_exec_note(frame, o->exit_code);
    if (note)
        tc_outcome_note(o, note);
}

/* Out-of-range values from the helper are its failure, never a success. */
static void settle_result(const struct tc_result_frame *frame, struct toolcage_result *result)
{
    struct tc_outcome *o = &result->outcome;
    if (!tc_status_known(o->status))
        o->status = TOOLCAGE_STATUS_ERROR;
    if (!result->error && o->failure.code < 0)
        result->error = error_of_failure(frame, &o->failure);
    if (o->status == TOOLCAGE_STATUS_FAILED)
        note_failure(frame, o);
    bool refused = o->status == TOOLCAGE_STATUS_DENIED || o->status == TOOLCAGE_STATUS_ERROR;
    if (o->status == TOOLCAGE_STATUS_OK && (result->error || o->exit_code != 0))
        o->status = TOOLCAGE_STATUS_ERROR;
    if (!result->error && (refused || o->status == TOOLCAGE_STATUS_ERROR))
        (void)tc_fail(
            &result->error,
            &(struct tc_why){.code = TOOLCAGE_EHELPER,
                             .stage = "result",
                             .hint = "reinstall toolcage: library and helper must be of one build"},
            "the helper reported %s without a reason", tc_status_word(o->status));
}

/* The texts for the model and for programs. False: out of memory, and both are as before. */
static bool write_texts(const struct tc_result_frame *frame, struct toolcage_result *result)
{
    char *before = result->message;
    result->message = tc_result_write_message(frame, result);
    char *json = result->message ? tc_result_write_json(frame, result) : NULL;
    if (!json) {
        free(result->message);
        result->message = before;
        return false;
    }
    free(before);
    free(result->json);
    result->json = json;
    return true;
}

void tc_result_add_note(const struct tc_result_frame *frame, struct toolcage_result *result,
                        char *note)
{
    struct tc_outcome *o = &result->outcome;
    if (o->note && note) {
        char *both = tc_format("%s; %s", o->note, note);
        free(note);
        note = both;
        if (tc_streq(o->notice, o->note))
            free(TAKE(o->notice));
        free(TAKE(o->note));
    }
    tc_outcome_note(o, note);
    (void)write_texts(frame, result);
}

int tc_result_make(const struct tc_result_frame *frame, struct tc_outcome *outcome,
                   struct toolcage_error *error, struct toolcage_result **ret,
                   struct toolcage_error **err)
{
    struct toolcage_result *result = calloc(1, sizeof(*result));
    if (!result) {
        tc_outcome_done(outcome);
        tc_error_free(error);
        return tc_fail_memory(err);
    }
    result->outcome = *outcome;
    *outcome = (struct tc_outcome){0};
    result->error = error;
    settle_result(frame, result);
    tc_result_hint_limit(&frame->grant->limits, &result->outcome);
    bool placed = tc_result_place_denials(frame, &result->outcome);
    if (placed)
        tc_result_advise(frame, &result->outcome);
    placed = placed && write_texts(frame, result);
    result->timings = tc_result_write_timings(frame, &result->outcome);
    if (!placed || !result->timings) {
        tc_result_free(result);
        return tc_fail_memory(err);
    }
    *ret = result;
    return 0;
}
