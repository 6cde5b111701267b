/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Queries to the helper about data stored on disk between calls: staged changes and sessions. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/jsontext.h"
#include "call/engine.h"
#include "call/result/result.h"
#include "call/settle.h"
#include "plan/plan.h"

struct ask {
    enum tc_job_kind kind;
    const char *stage; /* of errors: "changes", "session" */
    const char *name;  /* the call's or the session's; NULL: all */
    const char *action;
    size_t path_count; /* which of the call's changes; none: all */
    const char *const *paths;
    const char *seen; /* the digest of the changes that a person saw; NULL: it does not matter */
    /* The helper's reply as JSON text: owned, NULL when out of memory. */
    char *(*write)(const char *name, const struct tc_outcome *outcome);
};

/* The job's message: a plan that contains the action, the name and the paths. */
static int make_plan(const struct ask *ask, int *ret_fd, struct toolcage_error **err)
{
    struct tc_plan plan = {.payload = strdup(ask->action),
                           .bounds = ask->seen ? strdup(ask->seen) : NULL};
    char **name = ask->kind == TC_JOB_CHANGES ? &plan.call : &plan.session;
    *name = strdup(ask->name ? ask->name : "");
    bool whole = true;
    for (size_t i = 0; i < ask->path_count && whole; i++)
        whole = tc_strv_add(&plan.argv, ask->paths[i]);
    struct tc_wire wire = TC_WIRE_PUT_INIT;
    tc_plan_visit(&wire, &plan);
    bool fine = whole && *name && plan.payload && !ask->seen == !plan.bounds && !wire.failed;
    *ret_fd = fine ? tc_memfd("toolcage-kept", wire.out.data, wire.out.len) : -1;
    int saved = errno;
    tc_buf_done(&wire.out);
    tc_plan_done(&plan);
    if (!fine)
        return tc_fail_memory(err);
    return *ret_fd >= 0
               ? 0
               : tc_fail(err,
                         TC_WHY_ERRNO(TOOLCAGE_ESYSTEM, ask->stage, "memfd_create", saved, NULL),
                         "cannot make a memory file");
}

/* Fills *ret (zeroed); the caller frees it also on failure. */
static int ask_outcome(struct toolcage_engine *engine, const struct ask *ask,
                       struct tc_outcome *ret, struct toolcage_error **err)
{
    struct tc_message message;
    _autofd_ int plan = -1, fd = -1;
    int r = make_plan(ask, &plan, err);
    if (r == 0)
        r = tc_engine_ask(engine, ask->kind, plan, &message, &fd, err);
    if (r == 0)
        r = tc_outcome_read(fd, ret, err);
    if (r < 0 || ret->failure.code >= 0)
        return r;
    struct toolcage_error *error = tc_error_of_failure(&ret->failure, NULL, 0);
    r = error ? tc_error_code(error) : TOOLCAGE_EMEMORY;
    if (err)
        *err = error;
    else
        tc_error_free(error);
    return r;
}

static int ask_state(struct toolcage_engine *engine, const struct ask *ask, char **ret_json,
                     struct toolcage_error **err)
{
    struct tc_outcome outcome = {0};
    int r = ask_outcome(engine, ask, &outcome, err);
    if (r == 0 && !(*ret_json = ask->write(ask->name, &outcome)))
        r = tc_fail_memory(err);
    tc_outcome_done(&outcome);
    return r;
}

/* ---- changes ---- */

static int check_action(const char *action, struct toolcage_error **err)
{
    static const char *const words[] = {"show", "commit", "overwrite", "steering", "discard"};
    for (size_t i = 0; i < TC_COUNT(words); i++)
        if (strcmp(action, words[i]) == 0)
            return 0;
    return tc_fail(err,
                   TC_WHY(TOOLCAGE_EUSAGE, "changes", action,
                          "the actions are show, commit, overwrite, steering and discard"),
                   "changes have no action \"%.60s\"", action);
}

const char *tc_engine_settle_action(int32_t settle)
{
    static const char *const actions[] = {[TOOLCAGE_SETTLE_COMMIT] = "commit",
                                          [TOOLCAGE_SETTLE_OVERWRITE] = "overwrite",
                                          [TOOLCAGE_SETTLE_DISCARD] = "discard",
                                          [TOOLCAGE_SETTLE_STEERING] = "steering"};
    return settle >= 0 && (size_t)settle < TC_COUNT(actions) ? actions[settle]
                                                             : "(no value of TOOLCAGE_SETTLE_...)";
}

static void add_waiting(struct tc_buf *buf, const struct tc_outcome *outcome)
{
    tc_json_key(buf, "held");
    tc_buf_addc(buf, '[');
    for (size_t i = 0; i < outcome->waiting_count; i++) {
        const struct tc_waiting *w = &outcome->waiting[i];
        tc_buf_adds(buf, i ? ",{" : "{");
        tc_json_member(buf, "call", w->call ? w->call : "");
        tc_json_optional(buf, "tool", w->tool);
        tc_json_number(buf, "at", w->at);
        tc_json_number(buf, "changes", w->changes);
        tc_json_number(buf, "caches", w->caches);
        tc_buf_addc(buf, '}');
    }
    tc_buf_addc(buf, ']');
}

static char *write_changes(const char *call, const struct tc_outcome *outcome)
{
    _autobuf_ struct tc_buf buf = {.max = (size_t)1 << 32};
    tc_buf_addc(&buf, '{');
    if (call) {
        tc_json_member(&buf, "call", call);
        tc_json_optional(&buf, "digest", outcome->seen);
        tc_result_write_changes(&buf, outcome);
        tc_result_write_files(&buf, outcome);
    } else {
        add_waiting(&buf, outcome);
    }
    tc_buf_addc(&buf, '}');
    return tc_buf_steal(&buf);
}

static int check_paths(size_t count, const char *const paths[], struct toolcage_error **err)
{
    for (size_t i = 0; i < count; i++)
        if (!paths || !paths[i] || paths[i][0] != '/')
            return tc_fail(err,
                           TC_WHY(TOOLCAGE_EUSAGE, "changes",
                                  paths && paths[i] ? paths[i] : "paths",
                                  "copy it from the list of changes"),
                           "the path of a change begins with /");
    return 0;
}

/* ---- settling changes of a call whose policy has [audit] ---- */

static int fail_unrecorded(const char *call, struct toolcage_error *why,
                           struct toolcage_error **err)
{
    int r = tc_fail(err, TC_WHY(TOOLCAGE_ESYSTEM, "audit", call, tc_error_hint(why)),
                    "the staged changes of call %s were settled, but how is not in the audit log: "
                    "%s",
                    call, tc_error_message(why));
    tc_error_free(why);
    return r;
}

/* Settles them, and records how that ended. */
static int settle_recorded(struct toolcage_engine *engine, const struct ask *ask,
                           const struct tc_settling *settling, char **ret_json,
                           struct toolcage_error **err)
{
    struct tc_outcome outcome = {0};
    struct toolcage_error *why = NULL, *unrecorded = NULL;
    int r = ask_outcome(engine, ask, &outcome, &why);
    if (r < 0 && !why)
        (void)tc_fail_memory(&why);
    int recorded = tc_settle_record_end(settling, &outcome, why, &unrecorded);
    if (r == 0 && recorded == 0 && !(*ret_json = ask->write(ask->name, &outcome)))
        r = tc_fail_memory(err);
    tc_outcome_done(&outcome);
    if (r == 0 && recorded < 0)
        return fail_unrecorded(ask->name, unrecorded, err);
    tc_error_free(unrecorded);
    if (why && err)
        *err = why;
    else
        tc_error_free(why);
    return r;
}

/* What is settled is what the record says: bound to its digest, as far as there is one. A discard
 * of everything also works without the directories that were changed, which a bound one needs. */
static int settle(struct toolcage_engine *engine, const struct ask *wanted, char **ret_json,
                  struct toolcage_error **err)
{
    struct ask ask = *wanted, question = *wanted;
    struct tc_outcome about = {0};
    bool whole = strcmp(ask.action, "discard") == 0 && !ask.path_count;
    question.action = "about";
    question.path_count = 0;
    question.seen = NULL;
    int r = ask_outcome(engine, &question, &about, err);
    struct tc_settling settling = {.call = ask.name,
                                   .action = ask.action,
                                   .seen = ask.seen,
                                   .path_count = ask.path_count,
                                   .paths = ask.paths,
                                   .synced_us = tc_engine_audit_synced(engine),
                                   .about = &about};
    if (r == 0 && about.audit)
        r = tc_settle_record(&settling, err);
    if (about.audit && !ask.seen && !whole)
        ask.seen = about.seen;
    if (r == 0)
        r = about.audit ? settle_recorded(engine, &ask, &settling, ret_json, err)
                        : ask_state(engine, &ask, ret_json, err);
    tc_outcome_done(&about);
    return r;
}

int tc_engine_changes(struct toolcage_engine *engine, const char *call, const char *action,
                      const char *seen, size_t path_count, const char *const paths[],
                      char **ret_json, struct toolcage_error **err)
{
    const struct ask ask = {.kind = TC_JOB_CHANGES,
                            .stage = "changes",
                            .name = call,
                            .action = action ? action : "show",
                            .path_count = path_count,
                            .paths = paths,
                            .seen = seen,
                            .write = write_changes};
    int r = tc_engine_check(engine, err);
    if (r == 0)
        r = check_action(ask.action, err);
    if (r == 0)
        r = check_paths(path_count, paths, err);
    if (r < 0)
        return r;
    return !call || strcmp(ask.action, "show") == 0 ? ask_state(engine, &ask, ret_json, err)
                                                    : settle(engine, &ask, ret_json, err);
}

/* ---- sessions ---- */

static int check_session(const char *name, const char *action, struct toolcage_error **err)
{
    bool known = strcmp(action, "list") == 0 || strcmp(action, "end") == 0;
    if (known && (!name || tc_session_name(name)))
        return 0;
    return tc_fail(
        err,
        TC_WHY(TOOLCAGE_EUSAGE, "session", known ? "name" : action,
               known ? "`toolcage session list` has the names" : "the actions are list and end"),
        known ? "a session cannot have this name" : "sessions have no such action");
}

static void add_session(struct tc_buf *buf, const struct tc_session_row *s)
{
    tc_buf_addc(buf, '{');
    tc_json_member(buf, "name", s->name ? s->name : "");
    tc_json_optional(buf, "tool", s->tool);
    tc_json_member(buf, "bounds", s->bounds ? s->bounds : "");
    tc_json_number(buf, "calls", s->calls);
    tc_json_number(buf, "bytes", s->bytes);
    tc_json_number(buf, "made", s->made);
    tc_json_number(buf, "used", s->used);
    tc_buf_addc(buf, '}');
}

static char *write_sessions(const char *name, const struct tc_outcome *outcome)
{
    _autobuf_ struct tc_buf buf = TC_BUF_INIT;
    (void)name;
    tc_buf_addc(&buf, '{');
    tc_json_key(&buf, "sessions");
    tc_buf_addc(&buf, '[');
    for (size_t i = 0; i < outcome->session_count; i++) {
        tc_buf_adds(&buf, i ? "," : "");
        add_session(&buf, &outcome->sessions[i]);
    }
    tc_buf_adds(&buf, "]}");
    return tc_buf_steal(&buf);
}

int tc_engine_sessions(struct toolcage_engine *engine, const char *name, const char *action,
                       char **ret_json, struct toolcage_error **err)
{
    const struct ask ask = {.kind = TC_JOB_SESSIONS,
                            .stage = "session",
                            .name = name,
                            .action = action ? action : "list",
                            .write = write_sessions};
    int r = tc_engine_check(engine, err);
    if (r == 0)
        r = check_session(name, ask.action, err);
    return r < 0 ? r : ask_state(engine, &ask, ret_json, err);
}
