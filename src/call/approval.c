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
#include "call/exec/exec_check.h"
#include "call/live.h"
#include "policy/pathrule.h"

/* Adds what starts when this path of the cage is executed or read: the file, and for a program its
 * interpreter and so on; links are followed as in the cage. False: out of memory. */
static bool add_path(const struct tc_grant *grant, const char *path, struct tc_strv *files)
{
    _auto_(tc_exec_check_done) struct tc_exec_check starts = {0};
    bool fine = tc_exec_check_of_grant(grant, NULL, path, &starts);
    for (size_t i = 0; fine && i < starts.files.count; i++)
        fine = tc_strv_add(files, starts.files.items[i]);
    return fine;
}

static bool is_executable(const char *file)
{
    struct stat st;
    return stat(file, &st) == 0 && S_ISREG(st.st_mode) && st.st_mode & 0111;
}

/* Adds every file of this name on the cage's PATH, to the first that can be executed. */
static bool add_from_path(const struct tc_grant *grant, const char *name, struct tc_strv *files)
{
    const char *all = tc_strv_value(&grant->env, "PATH");
    _autofree_ char *copy = strdup(all ? all : "");
    char *rest = copy;
    for (char *dir = copy ? strsep(&rest, ":") : NULL; dir; dir = strsep(&rest, ":")) {
        size_t before = files->count;
        _autofree_ char *path = dir[0] == '/' ? tc_path_join(dir, name) : NULL;
        if (path && !add_path(grant, path, files))
            return false;
        if (files->count > before && is_executable(files->items[before]))
            return true;
    }
    return copy;
}

/* Has the word a component ".."? Behind a link it leads elsewhere than the text says. */
static bool leads_up(const char *word)
{
    for (const char *at = word; at; at = strchr(at, '/') ? strchr(at, '/') + 1 : NULL)
        if (strncmp(at, "..", 2) == 0 && (at[2] == '/' || !at[2]))
            return true;
    return false;
}

/* Adds the files that the command line names. An image's own files are bound by its digest. */
static int add_command(const struct tc_grant *grant, struct tc_strv *files,
                       struct toolcage_error **err)
{
    const char *dirs[3];
    (void)tc_grant_starts(grant, dirs);
    for (size_t i = 0; i < grant->argv.count; i++) {
        const char *word = grant->argv.items[i];
        _autofree_ char *path = tc_path_absolute(dirs[0], word);
        bool searched = i == 0 && !strchr(word, '/');
        if (leads_up(word))
            return tc_fail(err,
                           TC_WHY(TOOLCAGE_EDENIED, "approve", word,
                                  "write the path without \"..\": an approval covers the file"),
                           "%s cannot be bound to a file", word);
        if (!path)
            return tc_fail_memory(err);
        bool shown = tc_grant_shows(grant, path) || (i == 0 && !grant->image);
        bool fine = searched ? grant->image || add_from_path(grant, word, files)
                             : !shown || add_path(grant, path, files);
        if (!fine)
            return tc_fail_memory(err);
    }
    return 0;
}

/* The host's directory in which the tool starts; owned. NULL: none, or out of memory. */
static char *start_of(const struct tc_grant *grant)
{
    const char *dirs[3];
    (void)tc_grant_starts(grant, dirs);
    const struct tc_fs_entry *entry = tc_grant_shows(grant, dirs[0]);
    return entry && entry->from ? tc_path_move(entry->path, entry->from, dirs[0]) : NULL;
}

static int write_subject(const struct toolcage_call *call, struct tc_buf *ret,
                         struct toolcage_error **err)
{
    _auto_(tc_strv_done) struct tc_strv files = {0};
    _autofree_ char *cwd = start_of(&call->grant);
    const struct tc_subject subject = {.arguments = call->arguments,
                                       .input = call->input.bytes,
                                       .input_length = call->input.length,
                                       .pipe = call->input.pipe >= 0,
                                       .cwd = cwd,
                                       .files = &files};
    int r = add_command(&call->grant, &files, err);
    return r < 0 ? r : tc_subject_write(&call->grant, &subject, ret, err);
}

/* In a session the tool sees the files of earlier calls, which no approval covers. */
static int fail_session(const struct toolcage_call *call, struct toolcage_error **err)
{
    return tc_fail(err,
                   TC_WHY(TOOLCAGE_EDENIED, "approve", call->tool,
                          "run the call without a session: an approval covers the host's files, "
                          "not those that the session keeps"),
                   "a call that needs a person's approval cannot run in a session");
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
    if (call->session || tc_call_is_live(call))
        return fail_session(call, err);
    int r = write_subject(call, &subject, err);
    if (r < 0)
        return r;
    tc_digest(subject.data, subject.len, digest);
    if (ret_json)
        return write_request(subject.data, digest, ret_json, err);
    if (tc_approval_take(&call->approval, digest, &why, &reason) < 0)
        return fail_gate(call, &why, reason, err);
    memcpy(call->approved, digest, sizeof(call->approved));
    return 0;
}

int tc_call_approve(struct toolcage_call *call, const char *digest, int64_t again,
                    struct toolcage_error **err)
{
    int r = tc_call_check_new(call, "approve", err);
    if (r < 0)
        return r;
    if (again < 0)
        return tc_fail(err, TC_WHY(TOOLCAGE_EUSAGE, "approve", "count", "count from 1"),
                       "the count of a repeated approval is negative");
    if (call->approval.refusal)
        return tc_fail(
            err, TC_WHY(TOOLCAGE_EUSAGE, "approve", call->id, "make a new call, and ask again"),
            "a person has refused this call");
    if (tc_approval_give(&call->approval, digest)) {
        call->approved_again = again;
        return 0;
    }
    return tc_fail(err,
                   TC_WHY(TOOLCAGE_EUSAGE, "approve", "digest",
                          "pass the digest of toolcage_call_approval_json()"),
                   "\"%.100s\" is no digest of an approval", digest);
}

int tc_call_deny(struct toolcage_call *call, const char *reason, struct toolcage_error **err)
{
    int r = tc_call_check_new(call, "approve", err);
    return r < 0 || tc_approval_refuse(&call->approval, reason) ? r : tc_fail_memory(err);
}
