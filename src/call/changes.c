/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Changes that wait for a person: the library's side. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "backend/plan.h"
#include "base/fd.h"
#include "base/jsontext.h"
#include "call/engine.h"
#include "call/result.h"

static int check_action(const char *action, struct toolcage_error **err)
{
    static const char *const words[] = {"show", "commit", "overwrite", "discard"};
    for (size_t i = 0; i < TC_COUNT(words); i++)
        if (strcmp(action, words[i]) == 0)
            return 0;
    return tc_fail(err,
                   &(struct tc_why){.code = TOOLCAGE_EUSAGE,
                                    .stage = "changes",
                                    .subject = action,
                                    .hint = "the actions are show, commit, overwrite and discard"},
                   "nothing can be done with changes by \"%.60s\"", action);
}

/* The message of the job: a plan with two words in it. */
static int make_plan(const char *call, const char *action, int *ret_fd, struct toolcage_error **err)
{
    struct tc_plan plan = {.call = strdup(call), .payload = strdup(action)};
    struct tc_wire wire = TC_WIRE_PUT_INIT;
    tc_plan_visit(&wire, &plan);
    bool fine = plan.call && plan.payload && !wire.failed;
    *ret_fd = fine ? tc_memfd("toolcage-changes", wire.out.data, wire.out.len) : -1;
    int saved = errno;
    tc_buf_done(&wire.out);
    tc_plan_done(&plan);
    if (!fine)
        return tc_fail_memory(err);
    return *ret_fd >= 0 ? 0
                        : tc_fail(err,
                                  &(struct tc_why){.code = TOOLCAGE_ESYSTEM,
                                                   .stage = "changes",
                                                   .subject = "memfd_create",
                                                   .errnum = saved},
                                  "cannot make a memory file");
}

static void add_waiting(struct tc_buf *buf, const struct tc_outcome *outcome)
{
    tc_json_key(buf, "held");
    tc_buf_addc(buf, '[');
    for (size_t i = 0; i < outcome->waiting_count; i++) {
        const struct tc_waiting *w = &outcome->waiting[i];
        tc_buf_adds(buf, i ? ",{" : "{");
        tc_json_member(buf, "call", w->call ? w->call : "");
        tc_json_key(buf, "tool");
        if (w->tool)
            tc_json_string(buf, w->tool, strlen(w->tool));
        else
            tc_buf_adds(buf, "null");
        tc_json_key(buf, "at");
        tc_buf_addf(buf, "%lld", (long long)w->at);
        tc_json_key(buf, "changes");
        tc_buf_addf(buf, "%lld}", (long long)w->changes);
    }
    tc_buf_addc(buf, ']');
}

static char *write_answer(const char *call, const struct tc_outcome *outcome)
{
    _autobuf_ struct tc_buf buf = {.max = (size_t)1 << 32};
    tc_buf_addc(&buf, '{');
    if (call) {
        tc_json_member(&buf, "call", call);
        tc_result_write_changes(&buf, outcome);
        tc_result_write_files(&buf, outcome);
    } else {
        add_waiting(&buf, outcome);
    }
    tc_buf_addc(&buf, '}');
    return tc_buf_steal(&buf);
}

static int read_answer(const char *call, int fd, char **ret_json, struct toolcage_error **err)
{
    struct tc_outcome outcome = {0};
    int r = tc_outcome_read(fd, &outcome, err);
    if (r == 0 && outcome.failure.code < 0) {
        struct toolcage_error *error = tc_error_of_failure(&outcome.failure, NULL, 0);
        r = error ? tc_error_code(error) : TOOLCAGE_EMEMORY;
        if (err)
            *err = error;
        else
            tc_error_free(error);
    } else if (r == 0 && !(*ret_json = write_answer(call, &outcome))) {
        r = tc_fail_memory(err);
    }
    tc_outcome_done(&outcome);
    return r;
}

int tc_engine_changes(struct toolcage_engine *engine, const char *call, const char *action,
                      char **ret_json, struct toolcage_error **err)
{
    struct tc_message message;
    _autofd_ int plan = -1, fd = -1;
    int r = tc_engine_check(engine, err);
    if (r == 0)
        r = check_action(action ? action : "show", err);
    if (r == 0)
        r = make_plan(call ? call : "", action ? action : "show", &plan, err);
    if (r == 0)
        r = tc_engine_ask(engine, TC_JOB_CHANGES, plan, &message, &fd, err);
    return r < 0 ? r : read_answer(call, fd, ret_json, err);
}
