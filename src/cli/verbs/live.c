/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * `toolcage session start` and `toolcage session exec`: live sessions. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>

#include "cli/call/run.h"
#include "cli/call/secret.h"
#include "cli/live/client.h"
#include "cli/live/owner.h"
#include "cli/live/place.h"
#include "cli/live/ports.h"
#include "cli/show/say.h"

#define IDLE_DEFAULT "30m"

static const struct tc_option start_options[] = {
    TC_OPTION_POLICY,
    TC_OPTION_PRESET,
    {"tool", 0, "NAME", NULL, "run under the grant of this tool instead of [defaults]"},
    {"idle", 0, "TIME", NULL, "end after this time without a command (default: " IDLE_DEFAULT ")"},
    {"lifetime", 0, "TIME", NULL,
     "end after this time (default: the policy's session_lifetime; without a policy file 8h)"},
    {"publish", 0, "PORT[:ADDRESS]", "publish",
     "make a port reachable from this host, at 127.0.0.1:0 (any free port) or unix:PATH"},
    TC_OPTIONS_NARROWING,
    TC_OPTION_HELP,
    {0},
};

static const struct tc_option exec_options[] = {
    {"env", 'e', "NAME[=VALUE]", "env", "a variable for the command; without VALUE: yours"},
    {"cwd", 0, "DIR", "cwd", "where the command starts, as it sees it"},
    {"timeout", 't', "TIME", "timeout", "end the command after this time: 500ms, 30s, 5m, 1h"},
    {"output", 0, "SIZE", "output", "how much of each output stream is kept"},
    {"tty", 0, NULL, NULL,
     "with a terminal in the cage, connected to yours; Ctrl-] three times ends it"},
    {"detach", 0, NULL, NULL, "print the command's id and leave it running: session logs, wait"},
    {"shell", 0, NULL, NULL, "CMD is shell text, and continues where the last one ended"},
    TC_OPTION_STDIN,
    TC_OPTION_JSON,
    TC_OPTION_HELP,
    {0},
};

static const char start_text[] =
    "A live session is a cage that stays. It runs in the background; its commands share "
    "processes,\n"
    "files, /tmp and limits. It ends with --idle or --lifetime, or by `toolcage session end "
    "NAME`;\n"
    "then every process in it ends. --timeout and --output are the defaults for each command.\n"
    "Under a policy file the tool needs session_lifetime. Only the backend process has live "
    "sessions.\n"
    "\n"
    "examples:\n"
    "  toolcage session start work --write .\n"
    "  toolcage session exec work -- make\n"
    "  toolcage session exec work -- sh -c 'python3 -m http.server >/tmp/log 2>&1 &'\n"
    "  toolcage session exec work -- curl -s http://127.0.0.1:8000\n"
    "  toolcage session end work\n";

static const char exec_text[] =
    "Exit codes and streams are those of `toolcage exec`. Processes that the command leaves behind "
    "stay\n"
    "until the session ends; redirect their output, because the command's is closed.\n"
    "\n"
    "examples:\n"
    "  toolcage session exec work -- make test\n"
    "  toolcage session exec --timeout 5m --cwd /tmp work -- sh -c 'pwd'\n"
    "  toolcage session exec --tty work -- vim notes\n"
    "  toolcage session exec --shell work -- 'cd src; export MODE=debug'\n"
    "  toolcage session exec --shell work -- 'pwd; echo $MODE'\n";

/* ---- start ---- */

/* The caller's descriptors above 2, which are all without close-on-exec. Another process may wait
 * for their end. */
static bool close_inherited(void)
{
    DIR *dir = opendir("/proc/self/fd");
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        int fd = (int)strtol(entry->d_name, NULL, 10);
        int flags = fd > STDERR_FILENO ? fcntl(fd, F_GETFD) : -1;
        if (flags >= 0 && !(flags & FD_CLOEXEC))
            (void)close(fd);
    }
    return dir && !closedir(dir);
}

/* The background process has its own session and no terminal. */
static bool leave_caller(void)
{
    if (!close_inherited())
        return false;
    _autofd_ int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = STDIN_FILENO; null >= 0 && fd <= STDERR_FILENO; fd++)
        if (dup2(null, fd) < 0)
            return false;
    return null >= 0;
}

static int read_times(const struct tc_args *args, struct tc_live_owner *owner,
                      struct tc_failure *failure)
{
    const char *idle = tc_args_value(args, "idle"), *lifetime = tc_args_value(args, "lifetime");
    owner->idle_ms = tc_read_time("idle", idle ? idle : IDLE_DEFAULT, failure);
    owner->lifetime_ms = lifetime ? tc_read_time("lifetime", lifetime, failure) : 0;
    return owner->idle_ms < 0 || owner->lifetime_ms < 0 ? -1 : 0;
}

/* 0: the session accepts commands; else the exit code after an error message. */
static int open_session(const struct tc_args *args, struct tc_live_owner *owner)
{
    _autofailure_ struct tc_failure failure = {0};
    struct toolcage_error **err = tc_failure_error(&failure);
    struct tc_setup *setup = owner->setup;
    if (tc_setup_open(args, owner->tool, TC_LOOKUP_TRUSTED, setup, &failure) ||
        toolcage_session_open(setup->call, owner->idle_ms, owner->lifetime_ms, err) ||
        toolcage_call_start(setup->call, err) || toolcage_session_wait(setup->call, -1, err) < 0)
        return tc_failure_tell(&failure, args, owner->tool);
    const struct toolcage_result *result = toolcage_call_result(setup->call);
    if (!result)
        return 0;
    tc_cli_error(toolcage_result_error(result));
    int code = toolcage_result_shell_code(result);
    return code ? code : TC_EXIT_FAILURE;
}

/* Returns the exit code; if the session runs, only after its end, and `ready` gets a byte before.
 */
static int own(const struct tc_args *args, struct tc_live_owner *owner, int ready)
{
    _autosetup_ struct tc_setup setup = {0};
    owner->setup = &setup;
    if (setsid() < 0)
        return TC_EXIT_FAILURE;
    int rc = open_session(args, owner);
    if (rc)
        return rc;
    tc_ports_tell(setup.call);
    if (!leave_caller() || write(ready, "", 1) != 1)
        return TC_EXIT_FAILURE;
    (void)close(ready);
    tc_owner_serve(owner);
    tc_place_leave(owner->name);
    return 0;
}

/* The parent waits for the byte, or for the exit code of a process that failed. */
static int await(pid_t pid, int ready, const char *name)
{
    char byte;
    int status = 0;
    ssize_t n;
    do
        n = read(ready, &byte, 1);
    while (n < 0 && errno == EINTR);
    if (n == 1) {
        tc_cli_say("session %s runs; toolcage session exec %s -- CMD", name, name);
        return 0;
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) && WEXITSTATUS(status) ? WEXITSTATUS(status) : TC_EXIT_FAILURE;
}

static int run_start(const struct tc_args *args)
{
    _autofailure_ struct tc_failure failure = {0};
    struct tc_live_owner owner = {.name = args->operands[0],
                                  .verb = &tc_verb_session_exec,
                                  .tool = tc_args_value(args, "tool"),
                                  .timed = tc_args_has(args, "timeout"),
                                  .listener = -1};
    int lock = -1, pair[2];
    if (tc_place_check(owner.name, &failure) || read_times(args, &owner, &failure) ||
        tc_place_listen(owner.name, &lock, &owner.listener, &failure))
        return tc_failure_tell(&failure, args, owner.tool);
    pid_t pid = pipe2(pair, O_CLOEXEC) || fflush(NULL) ? -1 : fork();
    if (pid < 0) {
        (void)tc_failure_set(&failure, TOOLCAGE_ESYSTEM,
                             "raise this user's limits of processes and open files (ulimit -u, -n)",
                             "cannot start the session's process: %s", strerror(errno));
        return tc_failure_tell(&failure, args, owner.tool);
    }
    if (pid == 0) {
        (void)close(pair[0]);
        int rc = own(args, &owner, pair[1]);
        (void)fflush(NULL);
        _exit(rc);
    }
    (void)close(pair[1]);
    (void)close(owner.listener);
    int rc = await(pid, pair[0], owner.name);
    (void)close(pair[0]);
    if (rc) /* while the lock is held: the name is not another session's */
        tc_place_leave(owner.name);
    (void)close(lock);
    return rc;
}

const struct tc_verb tc_verb_session_start = {
    .name = "session start",
    .operands = "[options] NAME",
    .summary = "start a live session: a cage in which many commands run",
    .text = start_text,
    .options = start_options,
    .minor = true,
    .least = 1,
    .most = 1,
    .run = run_start,
};

/* ---- exec ---- */

static int run_tty(const struct tc_args *args, size_t first)
{
    static const char *const others[] = {"detach", "json", "stdin"};
    for (size_t i = 0; i < TC_COUNT(others); i++)
        if (tc_args_has(args, others[i])) {
            tc_cli_say("session exec: --%s cannot be combined with --tty", others[i]);
            tc_cli_hint("leave --%s out", others[i]);
            return TC_EXIT_FAILURE;
        }
    if (tc_terminal_is_one())
        return tc_client_exec(args, first, true);
    tc_cli_say("session exec: --tty needs a terminal as standard input and output");
    tc_cli_hint("leave --tty out");
    return TC_EXIT_FAILURE;
}

static int run_exec(const struct tc_args *args)
{
    bool input = false;
    size_t first = args->operand_count > 1 && !strcmp(args->operands[1], "--") ? 2 : 1;
    if (args->operand_count <= first) {
        tc_cli_say("session exec: no command given");
        tc_cli_hint("toolcage session exec %s -- CMD",
                    args->operand_count ? args->operands[0] : "NAME");
        return TC_EXIT_FAILURE;
    }
    if (tc_args_has(args, "shell") && (tc_args_has(args, "cwd") || tc_args_has(args, "env"))) {
        tc_cli_say("session exec: --cwd and --env cannot be combined with --shell");
        tc_cli_hint("write cd DIR, or export NAME=VALUE, in the command");
        return TC_EXIT_FAILURE;
    }
    if (tc_args_has(args, "tty"))
        return run_tty(args, first);
    if (tc_args_has(args, "detach") && tc_args_has(args, "stdin")) {
        tc_cli_say("session exec: a detached command has no standard input");
        tc_cli_hint("leave --stdin out");
        return TC_EXIT_FAILURE;
    }
    int rc = tc_args_has(args, "detach") ? 0 : tc_input_choose(args, &input);
    return rc ? rc : tc_client_exec(args, first, input);
}

const struct tc_verb tc_verb_session_exec = {
    .name = "session exec",
    .operands = "[options] NAME [--] CMD [ARG]...",
    .summary = "run a command in a live session",
    .text = exec_text,
    .options = exec_options,
    .minor = true,
    .command = true,
    .least = 0,
    .most = -1,
    .run = run_exec,
};
