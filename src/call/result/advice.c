/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A note for a failed tool whose cause no denial names: what its own output says, compared with the
 * grant. The output is the tool's, so a note only says what to look at. */
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "call/result/result.h"
#include "policy/model.h"

static bool has_denial(const struct tc_outcome *o, const char *word)
{
    for (size_t i = 0; i < o->denial_count; i++)
        if (!o->denials[i].probe && tc_streq(tc_denial_row(o->denials[i].kind)->word, word))
            return true;
    return false;
}

/* Paths are observed only on request, so only the tool's output tells. */
static char *advise_writable(const struct tc_result_frame *frame, const struct tc_outcome *o)
{
    if ((!tc_contains(o->err.head, o->err.head_len, "Read-only file system") &&
         !tc_contains(o->err.head, o->err.head_len, "EROFS")) || /* Node */
        has_denial(o, "write"))
        return NULL;
    return strdup(tc_policy_is_default(frame->policy)
                      ? "a path that it writes is read-only: --why names it, and --write PATH "
                        "grants it"
                      : "a path that it writes is read-only: denials = \"paths\" names it, and "
                        "filesystem.writable grants it");
}

/* The caller's environment for modules, if the tool cannot read it. */
static char *advise_modules(const struct tc_result_frame *frame, const struct tc_outcome *o)
{
    static const char *const rows[][2] = {{"ModuleNotFoundError", "VIRTUAL_ENV"},
                                          {"ModuleNotFoundError", "CONDA_PREFIX"},
                                          {"Cannot find module", "NODE_PATH"},
                                          {"ERR_MODULE_NOT_FOUND", "NODE_PATH"}};
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        const char *path = getenv(rows[i][1]);
        if (!path || path[0] != '/' || !tc_contains(o->err.head, o->err.head_len, rows[i][0]) ||
            tc_grant_find(frame->grant, path))
            continue;
        return tc_format(tc_policy_is_default(frame->policy)
                             ? "a module is missing, and the modules in %s (%s) are not granted: "
                               "--read %s"
                             : "a module is missing, and the modules in %s (%s) are not granted: "
                               "filesystem.readable = [\"%s\"]",
                         path, rows[i][1], path);
    }
    return NULL;
}

/* What an overlay cannot do. */
static char *advise_overlay(const struct tc_result_frame *frame, const struct tc_outcome *o)
{
    static const char moved[] =
        "in an overlay a directory that was there can be copied, not renamed: mv does that";
    static const char *const rows[][2] = {
        {"hardlink different from source",
         "in an overlay a hard link has another inode: git clone --no-hardlinks"},
        {"Invalid cross-device link", moved},
        {"EXDEV", moved}, /* Node */
        {"Value too large for defined data type",
         "in an overlay a file of another user or group cannot be changed"}};
    bool here = frame->grant && frame->grant->workspace != TC_WORKSPACE_BIND;
    for (size_t i = 0; here && i < TC_COUNT(rows); i++)
        if (tc_contains(o->err.head, o->err.head_len, rows[i][0]))
            return tc_format("%s%s", rows[i][1],
                             tc_policy_is_default(frame->policy)
                                 ? ", or --in-place"
                                 : ", or workspace.mode = \"bind\"");
    return NULL;
}

static char *advise_variables(const struct tc_result_frame *frame)
{
    const struct tc_spec *tool = frame->tool ? tc_policy_tool(frame->policy, frame->tool) : NULL;
    const struct tc_spec *said = tc_policy_given(frame->policy, tool, TC_KEY_ENV);
    for (size_t i = 0; said && i < said->env_pass.count; i++)
        if (!getenv(said->env_pass.items[i]))
            return tc_format("the variable %s, which env.pass names, is not set here",
                             said->env_pass.items[i]);
    return NULL;
}

void tc_result_advise(const struct tc_result_frame *frame, struct tc_outcome *o)
{
    if (o->status != TOOLCAGE_STATUS_FAILED || o->note || !frame->policy)
        return;
    char *text = advise_writable(frame, o);
    text = text ? text : tc_result_advise_repository(frame, o);
    text = text ? text : advise_overlay(frame, o);
    text = text ? text : advise_modules(frame, o);
    text = text ? text : advise_variables(frame);
    if (text)
        tc_outcome_note(o, text);
}
