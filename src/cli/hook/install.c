/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * `toolcage hook install`: shows the change of the agent's settings, asks, and keeps a backup. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "adopt/adopt.h"
#include "cli/adopt/file.h"
#include "cli/adopt/jobs.h"
#include "cli/adopt/show.h"
#include "cli/call/replace.h"
#include "cli/hook/agents.h"
#include "cli/hook/hook.h"
#include "cli/hook/settings.h"
#include "cli/show/say.h"

enum { TC_EXIT_NO = 1 };

static int fail(struct tc_failure *failure, const char *what, const char *path)
{
    return tc_failure_set(failure, TOOLCAGE_ESYSTEM, "make it a place that you can write",
                          "cannot %s %s: %s", what, path, strerror(errno));
}

/* ---- writing ---- */

/* The settings before, in the user's state directory; *ret_path is owned. */
static int back_up(const struct tc_hook_agent *agent, const struct tc_adopt_file *file,
                   char **ret_path, char **ret_note, struct tc_failure *failure)
{
    _autofree_ char *directory = tc_user_path("XDG_STATE_HOME", ".local/state", "hook");
    if (!directory || tc_record_directory(directory))
        return fail(failure, "create", directory ? directory : "a directory for the backup");
    *ret_note = tc_cli_format("%s/note", directory);
    *ret_path = tc_cli_format("%s/before-%s-%" PRId64, directory, agent->name, (int64_t)time(NULL));
    if (!*ret_path || !*ret_note)
        return tc_failure_set(failure, TOOLCAGE_EMEMORY, NULL, "out of memory");
    return file->text && tc_record_write(*ret_path, file->text, file->length)
               ? fail(failure, "write", *ret_path)
               : 0;
}

/* A file that was not there; its directory may be missing, too. */
static int create(const char *path, const char *text, size_t length, struct tc_failure *failure)
{
    _autofree_ char *directory = strdup(path);
    char *slash = directory ? strrchr(directory, '/') : NULL;
    if (!slash)
        return tc_failure_set(failure, TOOLCAGE_EMEMORY, NULL, "out of memory");
    *slash = '\0';
    if (mkdir(directory, 0777) && errno != EEXIST)
        return fail(failure, "create", directory);
    _autofd_ int at = open(directory, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return at < 0 || tc_replace(at, slash + 1, text, length) ? fail(failure, "write", path) : 0;
}

static int store(const struct tc_hook_agent *agent, const struct tc_adopt_file *file,
                 const char *path, const char *text, size_t length, struct tc_failure *failure)
{
    _autofree_ char *backup = NULL, *note = NULL;
    if (back_up(agent, file, &backup, &note, failure) ||
        (file->text ? tc_adopt_replace(file, text, length, note, failure)
                    : create(path, text, length, failure)))
        return -1;
    if (file->text)
        tc_cli_say("%s is written; the backup is %s", path, backup);
    else
        tc_cli_say("%s is written", path);
    return 0;
}

/* ---- showing ---- */

/* The part that differs, as one edit. */
static char *show(const char *path, const char *before, size_t before_length, const char *after,
                  size_t after_length)
{
    size_t least = before_length < after_length ? before_length : after_length, at = 0, end = 0;
    while (at < least && before[at] == after[at])
        at++;
    while (end < least - at && before[before_length - end - 1] == after[after_length - end - 1])
        end++;
    struct tc_adopt_edit edit = {.range = {at, before_length - end},
                                 .text = strndup(after + at, after_length - end - at)};
    const struct tc_adopt_edits edits = {.items = &edit, .count = 1};
    char *text =
        edit.text ? tc_adopt_show(path, before, before_length, after, after_length, &edits) : NULL;
    free(edit.text);
    return text;
}

static int confirm(const struct tc_args *args)
{
    int yes = tc_args_has(args, "yes") ? 1 : tc_adopt_confirm("write this? y: yes, n: no");
    if (yes < 0) {
        tc_cli_say("there is no terminal to ask at, and nothing was written");
        tc_cli_hint("--yes writes without a question");
        return TC_EXIT_FAILURE;
    }
    if (!yes)
        tc_cli_say("nothing was written");
    return yes ? 0 : TC_EXIT_NO;
}

static void print_next(const struct tc_hook_agent *agent)
{
    if (agent->answer == TC_ANSWER_GEMINI)
        tc_cli_hint("Gemini CLI no longer reads a project's .env, which commands may write: move "
                    "your keys to ~/.gemini/.env");
    tc_cli_say("next: end every running %s, then toolcage doctor --agents", agent->title);
    if (!strcmp(agent->name, "codex"))
        tc_cli_hint("Codex ignores a hook until you trust it: start codex and type /hooks; and its "
                    "own sandbox must not cut off the hook: sandbox_mode = \"danger-full-access\"");
}

/* ---- the whole ---- */

static int change(const struct tc_args *args, const struct tc_hook_agent *agent, const char *path,
                  const struct tc_adopt_file *file, struct tc_failure *failure)
{
    const char *before = file->text ? file->text : "{}\n";
    size_t before_length = file->text ? file->length : strlen(before), length = 0;
    bool removes = tc_args_has(args, "remove");
    _autofree_ char *command = tc_hook_command_line(agent, args);
    _autofree_ char *after =
        !command  ? NULL
        : removes ? tc_hook_settings_remove(agent, before, before_length, &length)
                  : tc_hook_settings_add(agent, before, before_length, command, &length);
    if (!after)
        return tc_failure_set(failure, TOOLCAGE_EPOLICY, "repair it, or move it away",
                              "%s is not JSON that can be edited", path);
    if (length == before_length && !memcmp(after, before, length)) {
        tc_cli_say(removes ? "%s has no hook of toolcage" : "%s has the hook", path);
        return 0;
    }
    _autofree_ char *diff = show(path, before, before_length, after, length);
    int rc = diff ? tc_cli_print_painted(TC_PAINT_DIFF, diff) : tc_cli_no_memory();
    if (rc || tc_args_has(args, "dry-run"))
        return rc;
    rc = confirm(args);
    if (!rc)
        rc = store(agent, file, path, after, length, failure);
    if (!rc && !removes)
        print_next(agent);
    return rc;
}

int tc_hook_install(const struct tc_args *args)
{
    _autofailure_ struct tc_failure failure = {0};
    struct tc_adopt_file file = {.directory = -1};
    const struct tc_hook_agent *agent = tc_hook_agent_find(args->operands[0]);
    const char *scope = tc_args_value(args, "scope");
    bool own = !scope || !strcmp(scope, "user");
    _autofree_ char *here = realpath(".", NULL);
    if (!agent || (!own && strcmp(scope, "project") != 0) || !here) {
        (void)tc_failure_set(&failure, TOOLCAGE_EUSAGE, "see toolcage hook install --help", "%s",
                             agent ? "--scope is user or project"
                                   : "the agents are claude, codex and gemini");
        return tc_failure_tell(&failure, args, NULL);
    }
    _autofree_ char *path = tc_hook_settings_path(agent, own ? NULL : here, NULL);
    int rc = path ? tc_adopt_open(path, own, &file, &failure)
                  : tc_failure_set(&failure, TOOLCAGE_EUSAGE, "set HOME to an absolute path",
                                   "there is no home directory for the settings");
    if (!rc)
        rc = change(args, agent, path, &file, &failure);
    tc_adopt_close(&file);
    return rc < 0 ? tc_failure_tell(&failure, args, NULL) : rc;
}
