/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * "Command not found" of a file that is there. */
#include "call/host/starts.h"

#include <string.h>

#include "base/path.h"
#include "call/host/facts.h"
#include "provenance/provenance.h"

static bool look(const struct tc_grant *grant, const char *home, struct tc_starts *ret)
{
    const char *command = grant->argv.items[0], *cwd = grant->cwd ? grant->cwd : grant->caller_cwd;
    if (!strchr(command, '/'))
        return tc_starts_on_path(grant, home, command, ret);
    _autofree_ char *path =
        command[0] == '/' || cwd ? tc_path_absolute(cwd ? cwd : "/", command) : strdup("/");
    return path && tc_starts_of_grant(grant, home, path, ret);
}

/* May a tool have chosen what is missing? The file is asked about as the cage shows it. */
static bool is_written(const struct tc_result_frame *frame, const struct tc_starts *starts)
{
    _autoprovenance_ struct tc_provenance writers;
    return !tc_provenance_here(&writers, &frame->grant->tool_writable, NULL) ||
           tc_provenance_tool(&writers, starts->by ? starts->by : frame->grant->argv.items[0]);
}

/* What would grant it, in the words of the policy or of the options; what is granted, and not
 * there, is to be installed. */
static char *hint_of(const struct tc_result_frame *frame, const struct tc_starts *starts)
{
    _autobuf_ struct tc_buf out = TC_BUF_INIT;
    if (is_written(frame, starts))
        return strdup("a tool may have chosen that: look at it before you grant it");
    for (size_t i = 0; i < starts->grant.count; i++) {
        struct tc_verdict v = {0};
        struct toolcage_error *err = NULL;
        _autofree_ char *access = tc_format("read %s", starts->grant.items[i]);
        int rc = access ? tc_policy_verdict(frame->policy, frame->grant, access, &v, &err) : -1;
        tc_error_free(err);
        if (rc == 0 && !v.allowed && v.hint[0])
            tc_buf_addf(&out, "%s%s", out.len ? " " : "", v.hint);
        if (rc == 0)
            tc_verdict_done(&v);
    }
    if (!out.len)
        tc_buf_adds(&out, starts->interpreter ? "install it, or name another one in the file"
                                              : "install it, or name the program itself");
    return tc_buf_steal(&out);
}

static struct toolcage_error *write_error(const struct tc_result_frame *frame,
                                          const struct tc_starts *starts)
{
    struct toolcage_error *error = NULL;
    const char *command = frame->grant->argv.items[0];
    _autofree_ char *hint = hint_of(frame, starts);
    struct tc_why why = {
        .code = TOOLCAGE_ECOMMAND_NOT_FOUND, .stage = "exec", .subject = command, .hint = hint};
    if (!hint)
        return NULL;
    if (starts->interpreter)
        (void)tc_fail(&error, &why, "%s is there, but its interpreter is not: %s (named by %s)",
                      command, starts->missing, starts->by);
    else
        (void)tc_fail(&error, &why, "%s leads to %s, which the cage does not have", command,
                      starts->missing);
    return error;
}

struct toolcage_error *tc_unstarted_error(const struct tc_result_frame *frame,
                                          const struct tc_outcome_failure *failure)
{
    const struct tc_grant *grant = frame->grant;
    _autosurroundings_ struct tc_surroundings here = {0};
    _auto_(tc_starts_done) struct tc_starts starts = {0};
    struct toolcage_error *err = NULL;
    if (failure->code != TOOLCAGE_ECOMMAND_NOT_FOUND || !tc_streq(failure->stage, "exec") ||
        !grant->argv.count || grant->image || grant->module)
        return NULL;
    int rc = tc_surroundings_gather(&here, &err);
    tc_error_free(err);
    if (rc < 0 || !look(grant, here.home, &starts) || !tc_starts_lacks(&starts))
        return NULL;
    return write_error(frame, &starts);
}
