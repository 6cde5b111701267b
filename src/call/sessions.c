/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Sessions between their calls: the library's side. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "backend/plan.h"
#include "base/fd.h"
#include "base/jsontext.h"
#include "call/engine.h"
#include "call/result.h"

static int check(const char *name, const char *action, struct toolcage_error **err)
{
    bool known = strcmp(action, "list") == 0 || strcmp(action, "end") == 0;
    if (known && (!name || tc_session_name(name)))
        return 0;
    return tc_fail(err,
                   &(struct tc_why){.code = TOOLCAGE_EUSAGE,
                                    .stage = "session",
                                    .subject = known ? "name" : action,
                                    .hint = known ? "`toolcage session list` has the names"
                                                  : "the actions are list and end"},
                   known ? "no session can have this name"
                         : "nothing can be done with sessions by this word");
}

static int make_plan(const char *name, const char *action, int *ret_fd, struct toolcage_error **err)
{
    struct tc_plan plan = {.session = strdup(name), .payload = strdup(action)};
    struct tc_wire wire = TC_WIRE_PUT_INIT;
    tc_plan_visit(&wire, &plan);
    bool fine = plan.session && plan.payload && !wire.failed;
    *ret_fd = fine ? tc_memfd("toolcage-sessions", wire.out.data, wire.out.len) : -1;
    int saved = errno;
    tc_buf_done(&wire.out);
    tc_plan_done(&plan);
    if (!fine)
        return tc_fail_memory(err);
    return *ret_fd >= 0 ? 0
                        : tc_fail(err,
                                  &(struct tc_why){.code = TOOLCAGE_ESYSTEM,
                                                   .stage = "session",
                                                   .subject = "memfd_create",
                                                   .errnum = saved},
                                  "cannot make a memory file");
}

static void add_row(struct tc_buf *buf, const struct tc_session_row *s)
{
    tc_buf_addc(buf, '{');
    tc_json_member(buf, "name", s->name ? s->name : "");
    tc_json_key(buf, "tool");
    if (s->tool)
        tc_json_string(buf, s->tool, strlen(s->tool));
    else
        tc_buf_adds(buf, "null");
    tc_json_member(buf, "bounds", s->bounds ? s->bounds : "");
    tc_json_key(buf, "calls");
    tc_buf_addf(buf, "%lld", (long long)s->calls);
    tc_json_key(buf, "bytes");
    tc_buf_addf(buf, "%lld", (long long)s->bytes);
    tc_json_key(buf, "made");
    tc_buf_addf(buf, "%lld", (long long)s->made);
    tc_json_key(buf, "used");
    tc_buf_addf(buf, "%lld}", (long long)s->used);
}

static char *write_answer(const struct tc_outcome *outcome)
{
    _autobuf_ struct tc_buf buf = TC_BUF_INIT;
    tc_buf_addc(&buf, '{');
    tc_json_key(&buf, "sessions");
    tc_buf_addc(&buf, '[');
    for (size_t i = 0; i < outcome->session_count; i++) {
        tc_buf_adds(&buf, i ? "," : "");
        add_row(&buf, &outcome->sessions[i]);
    }
    tc_buf_adds(&buf, "]}");
    return tc_buf_steal(&buf);
}

static int read_answer(int fd, char **ret_json, struct toolcage_error **err)
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
    } else if (r == 0 && !(*ret_json = write_answer(&outcome))) {
        r = tc_fail_memory(err);
    }
    tc_outcome_done(&outcome);
    return r;
}

int tc_engine_sessions(struct toolcage_engine *engine, const char *name, const char *action,
                       char **ret_json, struct toolcage_error **err)
{
    struct tc_message message;
    _autofd_ int plan = -1, fd = -1;
    const char *what = action ? action : "list";
    int r = tc_engine_check(engine, err);
    if (r == 0)
        r = check(name, what, err);
    if (r == 0)
        r = make_plan(name ? name : "", what, &plan, err);
    if (r == 0)
        r = tc_engine_ask(engine, TC_JOB_SESSIONS, plan, &message, &fd, err);
    return r < 0 ? r : read_answer(fd, ret_json, err);
}
