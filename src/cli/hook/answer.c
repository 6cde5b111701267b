/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The answer to an agent's hook. Every way out that is not an answer is exit code 2, which agents
 * take for a refusal, with the reason on standard error. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/hook/agents.h"
#include "cli/hook/coded.h"
#include "cli/hook/grant.h"
#include "cli/hook/hook.h"
#include "cli/hook/settings.h"
#include "cli/show/io.h"
#include "cli/show/say.h"
#include "text/shell.h"

#define NO_SERVERS "{\"mcpServers\": {}}\n"

enum {
    REFUSED = 2,
    INPUT_MAX = 32 << 20,
    DEADLINE_S = 45, /* less than the agents' own, after which the tool would run */
    PATCH_FILES_MAX = 256,
};

static int refuse(const char *why)
{
    tc_cli_say("the tool may not run: %s", why);
    return REFUSED;
}

/* ---- decisions ---- */

/* The text for the session's shell, which a command that keeps no state leaves. Owned. */
static char *prepare(const struct tc_hook_request *request)
{
    if (request->state == TC_STATE_SHARED)
        return strdup(request->text);
    const char *back = "command cd -- \"$" TC_HOOK_DIR "\" || exit; ";
    _autofree_ char *word = tc_shell_quote(request->text);
    return word ? tc_cli_format("%sexec \"${BASH:-sh}\" -c %s",
                                request->state == TC_STATE_NONE ? back : "", word)
                : NULL;
}

/* The command line that takes the place of the model's; owned. */
static char *rewrite(const struct tc_hook_request *request)
{
    _autofree_ char *whole = prepare(request);
    _autofree_ char *self = realpath("/proc/self/exe", NULL);
    _autofree_ char *program = self ? tc_shell_quote(self) : NULL;
    _autofree_ char *text = whole ? tc_hook_encode(whole) : NULL;
    return program && text ? tc_cli_format("%s hook run %s %s", program, request->session, text)
                           : NULL;
}

static int decide_shell(const struct tc_hook_parts *parts, const struct tc_args *args,
                        const struct tc_hook_request *request, FILE *out, char **ret_reason)
{
    if (!request->text || !*request->text) {
        *ret_reason = strdup("toolcage: there is no command");
        return -1;
    }
    if (tc_hook_start(parts, args, request, ret_reason))
        return -1;
    _autofree_ char *command = rewrite(request);
    if (!command) {
        *ret_reason = tc_cli_format("toolcage: the command cannot be passed on: %s\nhint: write it "
                                    "to a file, and run that",
                                    strerror(errno));
        return -1;
    }
    tc_hook_put_argument(out, request, command);
    return 0;
}

static int refuse_path(char **ret_reason)
{
    *ret_reason = strdup("toolcage: this path cannot be checked\nhint: give an absolute path");
    return -1;
}

/* Agents change some paths before they open them: a home, a mention, blanks around the path, which
 * need not be ASCII. */
static bool is_odd(const char *path)
{
    static const char *const blanks[] = {"\xc2\x85",     "\xc2\xa0",     "\xe1\x9a\x80", "\xe2\x80",
                                         "\xe2\x81\x9f", "\xe3\x80\x80", "\xef\xbb\xbf"};
    size_t length = strlen(path);
    for (const char *at = path; *at; at++)
        if ((unsigned char)*at < ' ' || *at == 0x7f || *at == '\\')
            return true;
    for (size_t i = 0; i < TC_COUNT(blanks); i++)
        if (!strncmp(path, blanks[i], strlen(blanks[i])) ||
            (length >= 3 && strstr(path + length - 3, blanks[i])))
            return true;
    return !length || strchr("~@$ ", path[0]) || path[length - 1] == ' ' || strstr(path, "://");
}

/* The path in a line of a patch; NULL: none. Blanks before the mark need not be ASCII either. */
static const char *file_in(const char *line)
{
    static const char *const marks[] = {
        "*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "};
    const char *found = NULL;
    for (size_t i = 0; *line != '+' && *line != '-' && !found && i < TC_COUNT(marks); i++)
        if ((found = strstr(line, marks[i])))
            found += strlen(marks[i]);
    return found;
}

/* The files that lines of a patch name, all to be written. */
static int decide_patch(const struct tc_args *args, const struct tc_hook_request *request,
                        char **ret_reason)
{
    size_t files = 0;
    char *rest = request->text;
    for (char *line; rest && (line = strsep(&rest, "\n"));) {
        const char *path = file_in(line);
        _autofree_ char *real = NULL;
        if (!path)
            continue;
        if (++files > PATCH_FILES_MAX || is_odd(path))
            return refuse_path(ret_reason);
        if (tc_hook_check_path(args, request, path, true, &real, ret_reason))
            return -1;
    }
    if (files)
        return 0;
    *ret_reason = strdup("toolcage: no file is found in the patch");
    return -1;
}

/* A pattern for names can lead out of the directory to search. Braces can spell what is not in the
 * text: {,x}/etc and {.,x}{.,y}. */
static bool leads_out(const struct tc_hook_request *request)
{
    static const char *const parts[] = {"..", "{/", ",/", "{,", ",,", ",}", ".}", ".,", ".{"};
    bool names = !strcmp(request->name, "Glob") || !strcmp(request->name, "glob");
    _autofree_ char *pattern = names ? tc_json_text(tc_json_get(request->input, "pattern")) : NULL;
    if (!names || !pattern || strchr("/~$\\", pattern[0]))
        return names;
    bool braces = strchr(pattern, '{'), dotted = strstr(pattern, "{.") || strstr(pattern, ",.");
    for (size_t i = 0; i < (braces ? TC_COUNT(parts) : 1); i++)
        if (strstr(pattern, parts[i]) && (strcmp(parts[i], ".{") != 0 || dotted))
            return true;
    return false;
}

/* The path of a tool that reads or writes. Tools that search take the working directory if there is
 * none. Gemini CLI edits another file if there is none of this name, so it gets the path that was
 * checked. */
static int decide_path(const struct tc_args *args, const struct tc_hook_request *request, FILE *out,
                       char **ret_reason)
{
    _autofree_ char *real = NULL;
    const char *path = request->text;
    bool optional =
        request->tool->kind == TC_HOOK_READ && strcmp(request->tool->argument, "file_path") != 0;
    if (leads_out(request) || (path ? is_odd(path) : !optional))
        return refuse_path(ret_reason);
    if (tc_hook_check_path(args, request, path ? path : request->cwd,
                           request->kind == TC_HOOK_WRITE, &real, ret_reason))
        return -1;
    if (path && request->agent->answer == TC_ANSWER_GEMINI)
        tc_hook_put_argument(out, request, real);
    else
        tc_hook_put_nothing(out, request->agent);
    return 0;
}

/* 0 with the answer in `out`; -1 with the reason of a refusal. */
static int decide(const struct tc_hook_parts *parts, const struct tc_args *args,
                  const struct tc_hook_request *request, FILE *out, char **ret_reason)
{
    int rc = 0;
    switch (request->kind) {
    case TC_HOOK_SHELL:
        return decide_shell(parts, args, request, out, ret_reason);
    case TC_HOOK_UNKNOWN:
        *ret_reason = tc_cli_format("toolcage: the tool %.60s is not one that toolcage can cage or "
                                    "check\nhint: use the shell tool",
                                    request->name);
        return -1;
    case TC_HOOK_READ:
    case TC_HOOK_WRITE:
        return decide_path(args, request, out, ret_reason);
    case TC_HOOK_PATCH:
        rc = decide_patch(args, request, ret_reason);
        break;
    case TC_HOOK_OTHER:
        break;
    }
    if (!rc)
        tc_hook_put_nothing(out, request->agent);
    return rc;
}

/* The directory in which the agent was started; owned. In the input's cwd Codex passes what its
 * model asked for, so it is taken from the first line of Codex's transcript. */
static char *project_of(const struct tc_hook_request *request)
{
    const char *variable = request->agent->project;
    const char *named = variable ? getenv(variable) : NULL;
    if (variable)
        return strdup(named && named[0] == '/' ? named : request->cwd);
    _autofree_ char *line = NULL;
    size_t size = 0;
    FILE *in = request->transcript ? fopen(request->transcript, "re") : NULL;
    ssize_t length = in ? getline(&line, &size, in) : -1;
    if (in)
        (void)fclose(in);
    if (length < 0)
        return NULL;
    char *cwd = tc_json_text(tc_json_get(tc_json_get(tc_json_of(line), "payload"), "cwd"));
    if (cwd && cwd[0] == '/')
        return cwd;
    free(cwd);
    return NULL;
}

/* Creates what a command could otherwise create, of this agent and of those that the user has: a
 * cage cannot change such names once they exist. */
static bool hold_names(const struct tc_hook_agent *mine)
{
    bool fine = true;
    for (size_t i = 0; fine && tc_hook_agent_at(i); i++) {
        const struct tc_hook_agent *agent = tc_hook_agent_at(i);
        _autofree_ char *own = tc_hook_settings_path(agent, NULL, "");
        if (agent != mine && (!own || access(own, F_OK)))
            continue;
        fine = !mkdir(agent->folder, 0777) || errno == EEXIST || errno == EACCES || errno == EROFS;
        _autofd_ int fd = fine && agent->servers
                              ? open(agent->servers, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666)
                              : -1;
        if (fd >= 0)
            fine = !tc_cli_write(fd, NO_SERVERS, strlen(NO_SERVERS));
        else if (fine && agent->servers)
            fine = errno == EEXIST || errno == EACCES || errno == EROFS;
    }
    return fine;
}

/* Where a name of the settings is a link, the target could be a file that commands may write. */
static bool hold_settings(const struct tc_hook_request *request)
{
    static const char *const names[] = {"",
                                        "/settings.json",
                                        "/settings.local.json",
                                        "/hooks.json",
                                        "/config.toml",
                                        "/agents",
                                        "/skills",
                                        "/commands"};
    const char *folder = request->agent->folder;
    struct stat st;
    if (!hold_names(request->agent))
        return false;
    for (size_t i = 0; i < TC_COUNT(names); i++) {
        _autofree_ char *path = tc_cli_format("%s%s", folder, names[i]);
        if (!path || (!lstat(path, &st) && S_ISLNK(st.st_mode)))
            return false;
    }
    const char *servers = request->agent->servers;
    return !servers || lstat(servers, &st) || !S_ISLNK(st.st_mode);
}

static int answer(const struct tc_hook_parts *parts, const struct tc_args *args,
                  const struct tc_hook_request *request)
{
    _autofree_ char *project = project_of(request);
    _autofree_ char *reason = NULL;
    char *text = NULL;
    size_t size = 0;
    if (!project || chdir(project))
        return refuse("the project's directory is not known, or cannot be entered");
    if (!hold_settings(request))
        return refuse(
            "the agent's settings in the project cannot be held: their directory cannot be "
            "created, or there is a link in it");
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return refuse("out of memory");
    if (decide(parts, args, request, out, &reason) && reason)
        tc_hook_put_denial(out, request->agent, reason);
    bool whole = !fclose(out) && text;
    int rc = !whole || (!size && reason) || tc_cli_write(STDOUT_FILENO, text, size)
                 ? refuse("the answer cannot be written")
                 : 0;
    free(text);
    return rc;
}

int tc_hook_answer(const struct tc_hook_parts *parts, const struct tc_args *args)
{
    const struct tc_hook_agent *agent = tc_hook_agent_find(args->operands[0]);
    struct tc_hook_request request = {0};
    size_t length = 0;
    (void)alarm(DEADLINE_S);
    if (!agent)
        return refuse("toolcage hook knows no agent of this name; see toolcage hook --help");
    _autofree_ char *input = tc_cli_read_input("-", INPUT_MAX, &length);
    if (!input)
        return refuse("the hook's input cannot be read");
    const char *why = tc_hook_read(agent, input, length, &request);
    _autofree_ char *text =
        why ? tc_cli_format("toolcage does not understand the hook's input: %s", why) : NULL;
    int rc = why ? refuse(text ? text : why) : answer(parts, args, &request);
    tc_hook_request_done(&request);
    return rc;
}
