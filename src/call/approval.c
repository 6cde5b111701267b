/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A call and its approval: the request for a person, the answer, and the check before the call
 * is sent to the helper. */
#include <string.h>
#include <sys/stat.h>

#include "approve/subject.h"
#include "base/jsontext.h"
#include "base/path.h"
#include "call/call.h"
#include "call/exec/exec_check.h"

/* False: out of memory. */
static bool find_program(const struct tc_grant *grant, const char *command,
                         struct tc_exec_check *ret)
{
    const char *dirs[3];
    (void)tc_grant_starts(grant, dirs);
    if (!strchr(command, '/'))
        return tc_exec_check_on_path(grant, NULL, command, ret);
    _autofree_ char *path = tc_path_absolute(dirs[0], command);
    return path && tc_exec_check_of_grant(grant, NULL, path, ret);
}

/* The file on the host that the path in the cage shows, if it is a regular file; owned. */
static char *file_at(const struct tc_grant *grant, const char *path)
{
    const struct tc_fs_entry *entry = tc_grant_shows(grant, path);
    _autofree_ char *host =
        entry && entry->from ? tc_format("%s%s", entry->from, path + strlen(entry->path)) : NULL;
    struct stat st;
    return host && stat(host, &st) == 0 && S_ISREG(st.st_mode) ? TAKE(host) : NULL;
}

/* Adds the files that the command line names: scripts and other input. */
static bool add_words(const struct tc_grant *grant, struct tc_strv *files)
{
    const char *dirs[3];
    (void)tc_grant_starts(grant, dirs);
    for (size_t i = 1; i < grant->argv.count && !grant->image; i++) {
        _autofree_ char *path = tc_path_absolute(dirs[0], grant->argv.items[i]);
        _autofree_ char *file = path ? file_at(grant, path) : NULL;
        if (file && !tc_strv_add(files, file))
            return false;
    }
    return true;
}

static int write_subject(const struct toolcage_call *call, struct tc_buf *ret,
                         struct toolcage_error **err)
{
    const struct tc_grant *grant = &call->grant;
    _auto_(tc_exec_check_done) struct tc_exec_check starts = {0};
    const char *command = grant->argv.count && !grant->image ? grant->argv.items[0] : NULL;
    const struct tc_subject subject = {.arguments = call->arguments,
                                       .session = call->session,
                                       .input = call->input.bytes,
                                       .input_length = call->input.length,
                                       .pipe = call->input.pipe >= 0,
                                       .files = &starts.files};
    if ((command && !find_program(grant, command, &starts)) || !add_words(grant, &starts.files))
        return tc_fail_memory(err);
    return tc_subject_write(grant, &subject, ret, err);
}

/* *ret_json: the request, a JSON object; owned by the caller. */
static int write_request(const char *subject, const char *digest, char **ret_json,
                         struct toolcage_error **err)
{
    struct tc_buf out = TC_BUF_INIT;
    tc_buf_addc(&out, '{');
    tc_json_bool(&out, "needed", true);
    tc_json_member(&out, "digest", digest);
    tc_json_number(&out, "expires_s", TC_APPROVAL_SECONDS);
    tc_json_key(&out, "subject");
    tc_buf_adds(&out, subject);
    tc_buf_addc(&out, '}');
    *ret_json = tc_buf_steal(&out);
    return *ret_json ? 0 : tc_fail_memory(err);
}

static int fail_gate(const struct toolcage_call *call, struct tc_why *why, char *reason,
                     struct toolcage_error **err)
{
    _autofree_ char *text = reason;
    return text ? tc_fail(err, why, "tool %s did not run: %s",
                          call->tool ? call->tool : "(a bare command)", text)
                : tc_fail_memory(err);
}

int tc_call_pass_gate(struct toolcage_call *call, char **ret_json, struct toolcage_error **err)
{
    _autobuf_ struct tc_buf subject = TC_BUF_INIT;
    char digest[TC_DIGEST_SIZE], *reason = NULL;
    struct tc_why why = {.stage = "approve", .subject = call->tool};
    if (!call->grant.approval)
        return 0;
    int r = write_subject(call, &subject, err);
    if (r < 0)
        return r;
    tc_digest(subject.data, subject.len, digest);
    if (ret_json)
        return write_request(subject.data, digest, ret_json, err);
    return tc_approval_take(&call->approval, digest, &why, &reason) < 0
               ? fail_gate(call, &why, reason, err)
               : 0;
}

static int check_open(const struct toolcage_call *call, struct toolcage_error **err)
{
    return call->state == TC_CALL_NEW ? 0
                                      : tc_fail(err,
                                                TC_WHY(TOOLCAGE_EUSAGE, "approve", call->id,
                                                       "answer before toolcage_call_start()"),
                                                "the call was started already");
}

int tc_call_approve(struct toolcage_call *call, const char *digest, struct toolcage_error **err)
{
    int r = check_open(call, err);
    if (r < 0 || tc_approval_give(&call->approval, digest))
        return r;
    return tc_fail(err,
                   TC_WHY(TOOLCAGE_EUSAGE, "approve", "digest",
                          "pass the digest of toolcage_call_approval_json()"),
                   "\"%.100s\" is no digest of an approval", digest);
}

int tc_call_deny(struct toolcage_call *call, const char *reason, struct toolcage_error **err)
{
    int r = check_open(call, err);
    return r < 0 || tc_approval_refuse(&call->approval, reason) ? r : tc_fail_memory(err);
}
