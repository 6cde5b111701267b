/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cli/hook/grant.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "adopt/adopt.h"
#include "cli/call/lookup.h"
#include "cli/call/replace.h"
#include "cli/call/setup.h"
#include "cli/hook/steers.h"
#include "cli/live/client.h"
#include "cli/show/io.h"

#define PROFILE "coding"
#define IDLE "2h"

enum { WORDS_MAX = 32, REASON_MAX = 4 << 10 };

static int out_of_memory(char **ret_reason)
{
    *ret_reason = strdup("toolcage is out of memory");
    return -1;
}

/* Takes the message and hint of a failure. */
static int refuse(const struct tc_failure *failure, char **ret_reason)
{
    const struct toolcage_error *err = failure->error;
    const char *message = err ? toolcage_error_message(err) : failure->message;
    const char *hint = err ? toolcage_error_hint(err) : failure->hint;
    bool hinted = hint && *hint;
    *ret_reason = tc_cli_format("toolcage: %s%s%s", message ? message : "out of memory",
                                hinted ? "\nhint: " : "", hinted ? hint : "");
    return *ret_reason ? -1 : out_of_memory(ret_reason);
}

/* ---- the policy ---- */

/* Arguments of `session start`, and of the call that answers for paths. */
struct words {
    char *items[WORDS_MAX]; /* owned */
    size_t count;
    bool failed;
};

static void add(struct words *w, const char *word)
{
    if (!word || w->count + 1 >= WORDS_MAX || !(w->items[w->count] = strdup(word)))
        w->failed = true;
    else
        w->count++;
}

static void words_done(struct words *w)
{
    for (size_t i = 0; i < w->count; i++)
        free(w->items[i]);
}
#define _autowords_ __attribute__((cleanup(words_done)))

/* The caches of package managers are too large for the private /tmp; each project has its own, so
 * that no project's commands choose what those of another one run. */
static void add_caches(struct words *w, const char *project)
{
    static const char *const names[] = {
        "XDG_CACHE_HOME=/cache",
        "TMPDIR=/cache/tmp",
        "npm_config_cache=/cache/npm",
        "PIP_CACHE_DIR=/cache/pip",
        "GOPATH=/cache/go",
        "GOCACHE=/cache/go-build",
        "CARGO_HOME=/cache/cargo",
        "MAVEN_ARGS=-Dmaven.repo.local=/cache/maven",
        "GRADLE_USER_HOME=/cache/gradle",
    };
    unsigned hash = 2166136261u;
    for (const char *at = project; *at; at++)
        hash = (hash ^ (unsigned char)*at) * 16777619u;
    const char *slash = strrchr(project, '/');
    _autofree_ char *slug = tc_adopt_slug(slash ? slash + 1 : project);
    _autofree_ char *below = slug ? tc_cli_format("agents/%.40s-%08x", slug, hash) : NULL;
    _autofree_ char *directory = below ? tc_user_path("XDG_CACHE_HOME", ".cache", below) : NULL;
    _autofree_ char *temporary = directory ? tc_cli_format("%s/tmp", directory) : NULL;
    if (!temporary || tc_record_directory(directory) || tc_record_directory(temporary))
        return; /* then the caches are in the private /tmp */
    _autofree_ char *grant = tc_cli_format("/cache=%s", directory);
    add(w, "--write");
    add(w, grant);
    for (size_t i = 0; i < TC_COUNT(names); i++) {
        add(w, "--env");
        add(w, names[i]);
    }
}

/* A home is not a project: the agent's shell could write what the user's programs load. */
static int check_project(const char *project, struct tc_failure *failure)
{
    const char *home = secure_getenv("HOME");
    _autofree_ char *real = home ? realpath(home, NULL) : NULL;
    size_t length = strlen(project);
    if (strcmp(project, "/") != 0 &&
        (!real || strncmp(real, project, length) != 0 || (real[length] && real[length] != '/')))
        return 0;
    return tc_failure_set(
        failure, TOOLCAGE_EPATH,
        "start the agent in a project's directory, or write a policy: toolcage init",
        "%s is a home directory, or above one, and is not granted to an agent", project);
}

static int choose(const struct tc_args *args, bool session, struct words *w,
                  struct tc_failure *failure)
{
    static const char *const options[] = {"policy", "preset", "tool"};
    _autofree_ char *found = NULL, *project = realpath(".", NULL);
    bool nearest, given = false;
    for (size_t i = 0; i < TC_COUNT(options); i++) {
        const char *value = tc_args_value(args, options[i]);
        _autofree_ char *option = tc_cli_format("--%s", options[i]);
        given = given || (value && i < 2);
        if (!value)
            continue;
        add(w, option);
        add(w, value);
    }
    if (!project)
        return tc_failure_set(failure, TOOLCAGE_EPATH, "start the agent in a directory that exists",
                              "cannot look at the working directory: %s", strerror(errno));
    if (!given && tc_lookup_path(NULL, &found, &nearest, failure))
        return -1;
    if (given || found)
        return 0;
    add(w, "--preset");
    add(w, PROFILE);
    if (session)
        add_caches(w, project);
    return check_project(project, failure);
}

/* ---- the session ---- */

/* Runs the verb in a child whose standard output and error are a file: the session's owner, a child
 * of it, then holds nothing that the agent waits for. *ret_text is what it printed, owned. */
static int run_captured(const struct tc_verb *verb, const struct tc_args *args, char **ret_text)
{
    _autofd_ int file = memfd_create("messages", MFD_CLOEXEC);
    int status = -1;
    pid_t pid = file < 0 || fflush(NULL) ? -1 : fork();
    if (pid == 0) {
        int code = dup2(file, STDOUT_FILENO) < 0 || dup2(file, STDERR_FILENO) < 0 ? TC_EXIT_FAILURE
                                                                                  : verb->run(args);
        (void)fflush(NULL);
        _exit(code);
    }
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    off_t size = file < 0 ? 0 : lseek(file, 0, SEEK_END);
    size_t most = size > REASON_MAX ? REASON_MAX : (size_t)size;
    char *text = calloc(1, most + 1);
    if (text && most && pread(file, text, most, 0) < 0)
        text[0] = '\0';
    *ret_text = text;
    return WIFEXITED(status) ? WEXITSTATUS(status) : TC_EXIT_FAILURE;
}

static int start(const struct tc_hook_parts *parts, struct words *w, const char *name,
                 char **ret_reason)
{
    struct tc_args args;
    _autofree_ char *said = NULL;
    add(w, "--idle");
    add(w, IDLE);
    add(w, name);
    w->items[w->count] = NULL;
    if (w->failed)
        return out_of_memory(ret_reason);
    int code = tc_args_parse(parts->start, (int)w->count, w->items, &args);
    if (!code)
        code = run_captured(parts->start, &args, &said);
    tc_args_done(&args);
    if (!code)
        return 0;
    _autofree_ char *other = tc_client_info(name); /* of a command that came at the same time */
    if (other)
        return 0;
    *ret_reason = tc_cli_format("%s", said && *said ? said : "toolcage: the session did not start");
    return *ret_reason ? -1 : out_of_memory(ret_reason);
}

int tc_hook_start(const struct tc_hook_parts *parts, const struct tc_args *args,
                  const struct tc_hook_request *request, char **ret_reason)
{
    _autofailure_ struct tc_failure failure = {0};
    _autowords_ struct words w = {0};
    _autofree_ char *info = tc_client_info(request->session);
    if (info)
        return 0;
    if (choose(args, true, &w, &failure))
        return refuse(&failure, ret_reason);
    return start(parts, &w, request->session, ret_reason);
}

/* ---- paths ---- */

/* The path without links. Of a file that does not exist the last parts are as given; they may not
 * contain ".." and not be links. Owned; NULL: it cannot be resolved. */
static char *resolve(const char *cwd, const char *path)
{
    _autofree_ char *whole = path[0] == '/' ? strdup(path) : tc_cli_format("%s/%s", cwd, path);
    _autofree_ char *part = whole ? strdup(whole) : NULL;
    struct stat st;
    while (part) {
        char *real = realpath(*part ? part : "/", NULL);
        if (real && !part[0])
            *real = '\0';
        const char *rest = whole + strlen(part);
        if (real && !*rest)
            return real;
        _autofree_ char *base = real;
        if (real)
            return strstr(rest, "..") ? NULL : tc_cli_format("%s%s", real, rest);
        char *slash = strrchr(part, '/');
        if (errno != ENOENT || !lstat(part, &st) || !slash)
            return NULL;
        *slash = '\0';
    }
    return NULL;
}

static bool is_below(const char *directory, const char *path)
{
    size_t length = strlen(directory);
    return length && !strncmp(directory, path, length) && path[length] == '/';
}

/* Files that Claude Code writes for its model: output of commands in the background, and output too
 * long for one answer. */
static bool is_agents_own(const struct tc_hook_request *r, const char *path)
{
    _autofree_ char *tasks = tc_cli_format("/tmp/claude-%u/", (unsigned)geteuid());
    _autofree_ char *session = tc_cli_format("/%s/", r->id);
    const char *end = r->transcript ? strstr(r->transcript, ".jsonl") : NULL;
    _autofree_ char *results =
        end && !end[6]
            ? tc_cli_format("%.*s/tool-results", (int)(end - r->transcript), r->transcript)
            : NULL;
    if (!tasks || !session)
        return false;
    const char *below = !strncmp(path, tasks, strlen(tasks)) ? strstr(path, session) : NULL;
    return (below && !strncmp(below + strlen(session), "tasks/", 6)) ||
           (results && is_below(results, path));
}

static int deny(struct tc_slice verdict, const char *path, bool write, char **ret_reason)
{
    _autofree_ char *reason = tc_json_text(tc_json_get(verdict, "reason"));
    _autofree_ char *key = tc_json_text(tc_json_get(verdict, "key"));
    _autofree_ char *file = tc_json_text(tc_json_get(verdict, "file"));
    int64_t line = tc_json_int(tc_json_get(verdict, "line"), 0);
    _autofree_ char *where = key && *key && line > 0
                                 ? tc_cli_format(" (%s, line %" PRId64 "%s%s)", key, line,
                                                 file ? " of " : "", file ? file : "")
                                 : strdup("");
    *ret_reason = tc_cli_format("toolcage: %s%s\nhint: a person can allow it in the policy: "
                                "filesystem.%s = [\"%s\"]",
                                reason ? reason : "the policy does not grant this path",
                                where ? where : "", write ? "writable" : "readable", path);
    return *ret_reason ? -1 : out_of_memory(ret_reason);
}

/* Is the path below one of the host's system directories, which every cage shows? */
static bool is_system(struct tc_slice report, const char *path)
{
    struct tc_scan_each each = tc_scan_walk(tc_json_get(report, "system"));
    while (tc_scan_next(&each)) {
        _autofree_ char *directory = tc_json_text(each.value);
        if (directory && (!strcmp(directory, path) || is_below(directory, path)))
            return true;
    }
    return false;
}

/* One row of the grant. */
struct row {
    char *path, *from; /* in the cage, and on the host; owned. `from` NULL: a denied name */
    bool write;
};

static void row_done(struct row *row)
{
    free(row->path);
    free(row->from);
    *row = (struct row){0};
}

static bool covers(const char *at, const char *path)
{
    return at && (!strcmp(at, path) || is_below(at, path));
}

/* The most specific row that grants the host's path; `from` NULL: none. Owned. */
static struct row find_row(struct tc_slice report, const char *path)
{
    struct row found = {0};
    struct tc_scan_each each = tc_scan_walk(tc_json_get(report, "filesystem"));
    while (tc_scan_next(&each)) {
        _autofree_ char *access = tc_json_text(tc_json_get(each.value, "access"));
        struct row row = {.path = tc_json_text(tc_json_get(each.value, "path")),
                          .from = tc_json_text(tc_json_get(each.value, "from")),
                          .write = access && !strcmp(access, "write")};
        bool grants = access && row.path && (row.write || !strcmp(access, "read")) &&
                      !tc_json_true(tc_json_get(each.value, "argument"));
        if (grants && covers(row.from, path) &&
            (!found.from || strlen(found.from) < strlen(row.from))) {
            row_done(&found);
            found = row;
        } else {
            row_done(&row);
        }
    }
    return found;
}

/* Is a name denied that has this path, in the cage? */
static bool is_denied(struct tc_slice report, const char *path)
{
    struct tc_scan_each each = tc_scan_walk(tc_json_get(report, "filesystem"));
    while (tc_scan_next(&each)) {
        _autofree_ char *name = tc_json_text(tc_json_get(each.value, "path"));
        if (!name ||
            (tc_scan_is(tc_json_get(each.value, "access"), "denied") && covers(name, path)))
            return true;
    }
    return false;
}

/* In a home that is granted as a whole, most directories that begin with a dot are hidden. */
static bool is_hidden(const struct row *row, const char *path)
{
    const char *named = secure_getenv("HOME");
    _autofree_ char *home = named ? realpath(named, NULL) : NULL;
    return home && is_below(home, path) && path[strlen(home) + 1] == '.' && covers(row->from, home);
}

enum verdict { TC_GRANTED, TC_NOT_GRANTED, TC_PRIVATE, TC_STEERS };

/* The agent's tool sees the host's file: a cage's private paths, like /tmp, are not granted. */
static enum verdict judge(const char *json, const char *path, bool write)
{
    struct tc_slice report = tc_json_of(json);
    struct row row = find_row(report, path);
    const char *rest = row.from ? path + strlen(row.from) : path;
    _autofree_ char *inside = tc_cli_format("%s%s", row.from ? row.path : "", rest);
    enum verdict verdict = TC_GRANTED;
    if (!inside || is_denied(report, inside) || is_denied(report, path) || is_hidden(&row, path))
        verdict = TC_NOT_GRANTED;
    else if (!row.from)
        verdict = is_system(report, path) ? (write ? TC_NOT_GRANTED : TC_GRANTED) : TC_PRIVATE;
    else if (write && !row.write)
        verdict = TC_NOT_GRANTED;
    else if (write && *rest && tc_hook_steers(row.from, rest + 1))
        verdict = TC_STEERS;
    row_done(&row);
    return verdict;
}

/* The reason for the model. A denial, unlike a grant, is explained without probing this host. */
static int say_why(struct toolcage_call *call, enum verdict verdict, const char *path, bool write,
                   char **ret_reason)
{
    _autofailure_ struct tc_failure failure = {0};
    _autofree_ char *access = tc_cli_format("%s %s", write ? "write" : "read", path);
    char *json = NULL;
    if (verdict == TC_STEERS) {
        *ret_reason = tc_cli_format("toolcage: %s steers the host: programs there load or run it "
                                    "automatically\nhint: a person can allow it in the policy: "
                                    "filesystem.writable = [\"%s\"]",
                                    path, path);
        return -1;
    }
    if (!access || toolcage_call_explain_json(call, access, &json, tc_failure_error(&failure)))
        return refuse(&failure, ret_reason);
    struct tc_slice found = tc_json_get(tc_json_of(json), "verdict");
    if (!tc_json_true(tc_json_get(found, "allowed")))
        (void)deny(found, path, write, ret_reason);
    else
        *ret_reason = tc_cli_format("toolcage: %s is private to each cage or hidden, and this tool "
                                    "runs outside\nhint: use a shell command, or a path in the "
                                    "project",
                                    path);
    toolcage_free(json);
    return -1;
}

static int check(struct toolcage_call *call, const char *path, bool write, char **ret_reason)
{
    _autofailure_ struct tc_failure failure = {0};
    char *json = NULL;
    if (toolcage_call_explain_json(call, NULL, &json, tc_failure_error(&failure)))
        return refuse(&failure, ret_reason);
    enum verdict verdict = judge(json, path, write);
    toolcage_free(json);
    return verdict == TC_GRANTED ? 0 : say_why(call, verdict, path, write, ret_reason);
}

int tc_hook_check_path(const struct tc_args *args, const struct tc_hook_request *request,
                       const char *path, bool write, char **ret_real, char **ret_reason)
{
    _autofailure_ struct tc_failure failure = {0};
    _autowords_ struct words w = {0};
    _autosetup_ struct tc_setup setup = {0};
    static const struct tc_option options[] = {TC_HOOK_OPTIONS, {0}};
    static const struct tc_verb verb = {.name = "hook", .options = options, .most = 0};
    struct tc_args chosen;
    const char *real = *ret_real = resolve(request->cwd, path);
    if (!real) {
        *ret_reason = tc_cli_format("toolcage: %s cannot be checked: its directory does not exist, "
                                    "or a link leads nowhere",
                                    path);
        return -1;
    }
    if (!write && is_agents_own(request, real))
        return 0;
    if (choose(args, false, &w, &failure) || w.failed)
        return refuse(&failure, ret_reason);
    int rc = tc_args_parse(&verb, (int)w.count, w.items, &chosen);
    if (!rc)
        rc = tc_setup_open(&chosen, tc_args_value(&chosen, "tool"), TC_LOOKUP_TRUSTED, &setup,
                           &failure)
                 ? refuse(&failure, ret_reason)
                 : check(setup.call, real, write, ret_reason);
    tc_args_done(&chosen);
    return rc;
}
