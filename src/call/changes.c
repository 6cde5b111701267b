/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Changes that wait for a person: the library's side. */
#include <string.h>

#include "base/jsontext.h"
#include "call/kept.h"
#include "call/result/result.h"

static int check_action(const char *action, struct toolcage_error **err)
{
    static const char *const words[] = {"show", "commit", "overwrite", "discard"};
    for (size_t i = 0; i < TC_COUNT(words); i++)
        if (strcmp(action, words[i]) == 0)
            return 0;
    return tc_fail(err,
                   TC_WHY(TOOLCAGE_EUSAGE, "changes", action,
                          "the actions are show, commit, overwrite and discard"),
                   "changes have no action \"%.60s\"", action);
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

static int check_paths(size_t count, const char *const paths[], struct toolcage_error **err)
{
    for (size_t i = 0; i < count; i++)
        if (!paths || !paths[i] || paths[i][0] != '/')
            return tc_fail(err,
                           TC_WHY(TOOLCAGE_EUSAGE, "changes",
                                  paths && paths[i] ? paths[i] : "paths",
                                  "write it as the changes have it"),
                           "the path of a change begins with /");
    return 0;
}

int tc_engine_changes(struct toolcage_engine *engine, const char *call, const char *action,
                      size_t path_count, const char *const paths[], char **ret_json,
                      struct toolcage_error **err)
{
    const struct tc_kept_ask ask = {.kind = TC_JOB_CHANGES,
                                    .stage = "changes",
                                    .name = call,
                                    .action = action ? action : "show",
                                    .path_count = path_count,
                                    .paths = paths,
                                    .write = write_answer};
    int r = tc_engine_check(engine, err);
    if (r == 0)
        r = check_action(ask.action, err);
    if (r == 0)
        r = check_paths(path_count, paths, err);
    return r < 0 ? r : tc_engine_ask_kept(engine, &ask, ret_json, err);
}
