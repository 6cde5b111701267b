/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Sessions between their calls: the library's side. */
#include <string.h>

#include "base/jsontext.h"
#include "call/kept.h"
#include "call/result/result.h"

static int check(const char *name, const char *action, struct toolcage_error **err)
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

static void add_row(struct tc_buf *buf, const struct tc_session_row *s)
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

static char *write_answer(const char *name, const struct tc_outcome *outcome)
{
    _autobuf_ struct tc_buf buf = TC_BUF_INIT;
    (void)name;
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

int tc_engine_sessions(struct toolcage_engine *engine, const char *name, const char *action,
                       char **ret_json, struct toolcage_error **err)
{
    const struct tc_kept_ask ask = {.kind = TC_JOB_SESSIONS,
                                    .stage = "session",
                                    .name = name,
                                    .action = action ? action : "list",
                                    .write = write_answer};
    int r = tc_engine_check(engine, err);
    if (r == 0)
        r = check(name, ask.action, err);
    return r < 0 ? r : tc_engine_ask_kept(engine, &ask, ret_json, err);
}
