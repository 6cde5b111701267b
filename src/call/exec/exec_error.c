/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "call/exec/exec_error.h"

#include <string.h>

#include "base/display.h"
#include "base/path.h"
#include "call/exec/exec_check.h"
#include "call/host/facts.h"
#include "policy/names/system_paths.h"
#include "policy/pathrule.h"
#include "provenance/provenance.h"

/* One failed command. The texts are owned. */
struct failed {
    const struct tc_result_frame *frame;
    const char *command;
    int errnum;
    char *path; /* in the cage; NULL: a name that was not found on PATH */
    struct tc_exec_check starts;
    bool maybe_absent; /* the hint grants a path that the host may not have either */
    char *message, *hint;
};

static void failed_done(struct failed *f)
{
    tc_exec_check_done(&f->starts);
    free(f->path);
    free(f->message);
    free(f->hint);
}

static const char *directory_of(const struct tc_grant *grant)
{
    const char *starts[3];
    (void)tc_grant_starts(grant, starts);
    return starts[0];
}

/* Looks the command up. False: out of memory. */
static bool look_up(struct failed *f, const char *home)
{
    const struct tc_grant *grant = f->frame->grant;
    if (strchr(f->command, '/')) {
        f->path = tc_path_absolute(directory_of(grant), f->command);
        return f->path && tc_exec_check_of_grant(grant, home, f->path, &f->starts);
    }
    if (!tc_exec_check_on_path(grant, home, f->command, &f->starts))
        return false;
    const char *found = f->starts.hops.count ? f->starts.hops.items[0] : f->starts.by;
    f->path = found ? strdup(found) : NULL;
    return f->path || !found;
}

/* Could a tool have chosen the missing path? */
static bool is_written(const struct failed *f)
{
    _autoprovenance_ struct tc_provenance writers;
    const char *by = f->starts.by ? f->starts.by : f->path;
    const struct tc_fs_entry *e = by ? tc_grant_shows(f->frame->grant, by) : NULL;
    _autofree_ char *host = e && e->from && tc_path_within(e->path, by)
                                ? tc_format("%s%s", e->from, by + strlen(e->path))
                                : strdup(by);
    return !host || !tc_provenance_here(&writers, &f->frame->grant->tool_writable, NULL) ||
           tc_provenance_tool(&writers, host);
}

/* ---- hints for a missing file ---- */

/* The policy keys or options that would grant the paths; NULL: none, or out of memory. */
static char *list_clauses(const struct failed *f)
{
    _autobuf_ struct tc_buf out = TC_BUF_INIT;
    for (size_t i = 0; i < f->starts.grant.count; i++) {
        struct tc_verdict v = {0};
        struct toolcage_error *err = NULL;
        _autofree_ char *access = tc_format("read %s", f->starts.grant.items[i]);
        int rc =
            access ? tc_policy_verdict(f->frame->policy, f->frame->grant, access, &v, &err) : -1;
        tc_error_free(err);
        if (rc == 0 && !v.allowed && v.hint[0])
            tc_buf_addf(&out, "%s%s", out.len ? " " : "", v.hint);
        if (rc == 0)
            tc_verdict_done(&v);
    }
    return out.len ? tc_buf_steal(&out) : NULL;
}

/* The path that the cage shows for this path of the host; NULL: it does not show it. Owned. */
static char *shown_as(const struct tc_grant *grant, const char *host)
{
    for (size_t i = 0; i < grant->fs_count; i++) {
        const struct tc_fs_entry *e = &grant->fs[i];
        if (e->access != TC_ACCESS_DENY && e->from && !tc_streq(e->from, e->path) &&
            tc_path_within(e->from, host))
            return tc_format("%s%s", e->path, host + strlen(e->from));
    }
    return NULL;
}

/* The cage's /tmp hides the host's, so no verdict asks for a grant. */
static char *clause_of_private(const struct failed *f)
{
    const char *needed = f->starts.missing;
    _autofree_ char *bin = tc_path_parent(needed);
    _autofree_ char *prefix = bin ? tc_path_parent(bin) : NULL;
    bool whole = prefix && tc_path_depth(prefix) > 1 && tc_streq(tc_path_base(bin), "bin");
    return tc_path_clause(f->frame->policy, whole ? prefix : needed, false);
}

/* The cage has the interpreter under another name, because the workspace is /workspace there. */
static char *hint_at_place(const struct failed *f, const char *place)
{
    _autofree_ char *word = tc_shell_quote(place), *script = tc_shell_quote(f->command);
    if (!word || !script)
        return NULL;
    if (!f->starts.interpreter)
        return tc_format("the cage shows that path as %s", place);
    return tc_format("the cage shows that path as %s; name it in the command: %s %s", place, word,
                     script);
}

/* Nothing grants it, or the file does not exist. */
static char *hint_at_absent(const struct failed *f)
{
    if (f->starts.interpreter && strstr(f->starts.missing, "/ld-musl"))
        return strdup("the program is built for musl (Alpine): install musl, or a build for this "
                      "system's C library");
    if (f->starts.interpreter)
        return tc_format("install it, or name another one in %s", f->starts.by);
    if (f->starts.by)
        return strdup("the link is broken: correct it, or name the program itself");
    if (f->command[0] == '~')
        return strdup("no shell replaces ~ here: write the path");
    return tc_format("check the path; the command starts in %s", directory_of(f->frame->grant));
}

/* Does not look whether the host has the path: that would reveal it. */
static char *hint_at_grant(struct failed *f, const char *clauses)
{
    if (is_written(f))
        return strdup("a tool may have chosen that: look at it before you grant it");
    f->maybe_absent = true;
    if (tc_system_path_private(f->starts.missing))
        return tc_format("the cage's /tmp is private: move it elsewhere, or grant it: %s", clauses);
    return strdup(clauses);
}

static char *hint_at_missing(struct failed *f)
{
    const struct tc_grant *grant = f->frame->grant;
    const char *missing = f->starts.missing;
    _autofree_ char *place = shown_as(grant, missing);
    if (place)
        return hint_at_place(f, place);
    bool hidden = tc_system_path_private(missing) && !tc_grant_shows(grant, missing);
    _autofree_ char *clauses = hidden ? clause_of_private(f) : list_clauses(f);
    return clauses ? hint_at_grant(f, clauses) : hint_at_absent(f);
}

/* ---- the causes ---- */

/* "#!/bin/sh\r": the kernel takes the carriage return for a part of the name. */
static bool explain_line_ends(struct failed *f)
{
    const char *missing = f->starts.missing;
    size_t length = missing ? strlen(missing) : 0;
    if (!f->starts.interpreter || !length || missing[length - 1] != '\r')
        return false;
    _autofree_ char *word = tc_shell_quote(f->command);
    const char *name = tc_path_base(missing);
    f->message = tc_format("%s has Windows line ends, so its interpreter is named \"%.*s\\r\"",
                           f->command, (int)strlen(name) - 1, name);
    f->hint = word ? tc_format("convert it: sed -i 's/\\r$//' %s", word) : NULL;
    return true;
}

/* "#!sh": the kernel looks for it in the working directory. */
static bool explain_relative(struct failed *f)
{
    if (f->starts.missing || !f->starts.relative)
        return false;
    f->message = tc_format("%s names its interpreter by a relative path", f->command);
    f->hint = strdup("write the whole path in its first line, as in #!/bin/sh");
    return true;
}

static bool explain_missing(struct failed *f)
{
    if (!f->starts.missing)
        return false;
    f->hint = hint_at_missing(f);
    if (f->starts.interpreter)
        f->message = tc_format(
            "%s is there, but its interpreter is not: %s (named by %s)%s", f->command,
            f->starts.missing, f->starts.by,
            f->maybe_absent ? "; if this machine has none either, correct that file" : "");
    else if (f->starts.by)
        f->message = tc_format("%s leads to %s, which the cage does not have", f->command,
                               f->starts.missing);
    else
        f->message = tc_format("command not found in the cage: %s", f->command);
    return true;
}

static bool explain_name(struct failed *f)
{
    if (f->path)
        return false;
    f->message = tc_format("command not found in the cage: %s", f->command);
    f->hint =
        tc_command_name_hint(f->frame->grant, tc_policy_is_default(f->frame->policy), f->command);
    return true;
}

/* Of the program and its interpreter, the one that cannot be executed. */
static bool explain_format(struct failed *f)
{
    const struct tc_strv *files = &f->starts.files;
    for (size_t i = 0; i < files->count && !f->message; i++) {
        const char *name = i ? files->items[i] : f->command;
        _autofree_ char *fault = tc_file_fault(files->items[i], name, f->errnum, &f->hint);
        if (fault)
            f->message = tc_format("cannot execute %s: %s%s %s", f->command,
                                   i ? "its interpreter " : "it", i ? name : "", fault);
    }
    return f->message != NULL;
}

static struct toolcage_error *write_error(const struct failed *f, int code)
{
    struct toolcage_error *error = NULL;
    struct tc_why why = {.code = code, .stage = "exec", .subject = f->command, .hint = f->hint};
    if (f->message)
        (void)tc_fail(&error, &why, "%s", f->message);
    return error;
}

/* Is the command a file of this host? */
static bool reads_host(const struct tc_grant *grant)
{
    return grant->argv.count && !grant->image && !grant->module;
}

struct toolcage_error *tc_exec_error(const struct tc_result_frame *frame,
                                     const struct tc_outcome_failure *failure)
{
    const struct tc_grant *grant = frame->grant;
    bool missing = failure->code == TOOLCAGE_ECOMMAND_NOT_FOUND;
    _autosurroundings_ struct tc_surroundings here = {0};
    struct toolcage_error *err = NULL;
    if ((!missing && failure->code != TOOLCAGE_ENOT_EXECUTABLE) ||
        !tc_streq(failure->stage, "exec") || !reads_host(grant))
        return NULL;
    _auto_(failed_done) struct failed f = {
        .frame = frame, .command = grant->argv.items[0], .errnum = (int)failure->errnum};
    int rc = tc_surroundings_gather(&here, &err);
    tc_error_free(err);
    if (rc < 0 || !look_up(&f, here.home))
        return NULL;
    bool explained = missing ? explain_name(&f) || explain_line_ends(&f) || explain_relative(&f) ||
                                   explain_missing(&f)
                             : explain_format(&f);
    return explained ? write_error(&f, (int)failure->code) : NULL;
}

/* An interpreter has these codes for an unknown option or program, the carriage return included. */
char *tc_exec_note(const struct tc_result_frame *frame, int64_t exit_code)
{
    const struct tc_grant *grant = frame->grant;
    if ((exit_code != 2 && exit_code != 126 && exit_code != 127) || !reads_host(grant))
        return NULL;
    _auto_(failed_done) struct failed f = {.frame = frame, .command = grant->argv.items[0]};
    if (!look_up(&f, NULL) || !f.starts.windows_ends)
        return NULL;
    _autofree_ char *word = tc_shell_quote(f.command);
    return word ? tc_format("%s has Windows line ends, so its first line names another program; "
                            "convert it: sed -i 's/\\r$//' %s",
                            f.command, word)
                : NULL;
}
