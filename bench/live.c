/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * usage: live TOOLCAGE NOOP ROUNDS PACED: a command in a live session, through the library and by
 * `toolcage session exec`, against a bare spawn and against a cage of its own, in turns. Then what
 * sessions without a command hold, and what one of them takes among the others. */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <toolcage/session.h>

#include "footprint.h"
#include "turns.h"

enum { SESSIONS = 200, HOUR_MS = 3600 * 1000 };

extern char **environ;

struct way {
    struct turn turn;
    struct host *host;
    struct toolcage_call *session;
    const char *const *argv;
};

static double spawn_once(struct turn *turn)
{
    const struct way *way = (const struct way *)turn;
    char *const *argv = (char *const *)(uintptr_t)way->argv;
    double start = clock_us();
    int status = -1;
    pid_t pid;
    if (posix_spawn(&pid, argv[0], NULL, NULL, argv, environ) || waitpid(pid, &status, 0) != pid ||
        status)
        die("%s failed", argv[0]);
    return clock_us() - start;
}

static double cage_once(struct turn *turn)
{
    return host_call(((struct way *)turn)->host);
}

static double command_once(struct turn *turn)
{
    const struct way *way = (const struct way *)turn;
    struct toolcage_error *err = NULL;
    struct toolcage_call *call = NULL;
    double start = clock_us();
    if (toolcage_session_call(way->session, &call, &err) < 0 ||
        toolcage_call_set_command(call, 1, way->argv, &err) < 0 ||
        toolcage_call_start(call, &err) < 0 || toolcage_call_wait(call, 60000, &err) != 1)
        die("%s", toolcage_error_report(err));
    double end = clock_us();
    host_check(call);
    toolcage_call_unref(call);
    return end - start;
}

static struct toolcage_call *start_session(struct host *host)
{
    struct toolcage_error *err = NULL;
    struct toolcage_call *session = NULL;
    if (toolcage_call_new(host->engine, host->policy, "noop", &session, &err) < 0 ||
        toolcage_session_open(session, HOUR_MS, HOUR_MS, &err) < 0 ||
        toolcage_call_start(session, &err) < 0 ||
        toolcage_session_wait(session, 60000, &err) != 1 || toolcage_call_result(session))
        die("%s", err ? toolcage_error_report(err) : "the session has ended");
    return session;
}

static struct host open_host(const char *noop)
{
    struct host host = {.command = noop};
    struct toolcage_error *err = NULL;
    char text[8192];
    int length =
        snprintf(text, sizeof(text),
                 "[tool.noop]\nfilesystem = { readable = [\"%s\"] }\nnetwork = \"none\"\n"
                 "memory = { max = \"512MiB\", by = \"any\" }\nsession_lifetime = \"1h\"\n",
                 noop);
    if (length < 0 || (size_t)length >= sizeof(text))
        die("%s is too long a path", noop);
    if (toolcage_policy_load_buffer(text, (size_t)length, "bench.toml", &host.policy, &err) < 0 ||
        toolcage_engine_new(&host.engine, &err) < 0)
        die("%s", toolcage_error_report(err));
    return host;
}

static void measure_many(struct host *host, struct way *command)
{
    static struct toolcage_call *sessions[SESSIONS];
    struct samples one = {0}, among = {0};
    struct footprint before = footprint_take();
    for (int i = 0; i < 200; i++)
        samples_add(&one, command_once(&command->turn));
    for (int i = 0; i < SESSIONS; i++)
        sessions[i] = start_session(host);
    pause_ms(500);
    struct footprint after = footprint_take();
    for (int i = 0; i < 200; i++)
        samples_add(&among, command_once(&command->turn));
    printf("%d idle sessions: %ld KiB each in the helper and below it, %ld KiB each in the host;\n"
           "a command takes %.0f us alone, %.0f us among them\n",
           SESSIONS, (after.helper_kib - before.helper_kib) / SESSIONS,
           (after.host_kib - before.host_kib) / SESSIONS, samples_at(&one, 0.5),
           samples_at(&among, 0.5));
    for (int i = 0; i < SESSIONS; i++)
        toolcage_call_unref(sessions[i]);
}

int main(int argc, char **argv)
{
    if (argc != 5)
        die("usage: live TOOLCAGE NOOP ROUNDS PACED");
    const char *noop = argv[2];
    const char *const bare[] = {noop, NULL};
    const char *const start[] = {argv[1], "session", "start", "--read", noop, "bench", NULL};
    const char *const exec[] = {argv[1], "session", "exec", "bench", "--", noop, NULL};
    const char *const end[] = {argv[1], "session", "end", "bench", NULL};
    struct host host = open_host(noop);
    struct toolcage_call *session = start_session(&host);
    struct way ways[] = {
        {{.name = "posix_spawn", .once = spawn_once}, .argv = bare},
        {{.name = "a session's command", .once = command_once}, .session = session, .argv = bare},
        {{.name = "a cage of its own", .once = cage_once}, .host = &host},
        {{.name = "toolcage session exec", .once = spawn_once}, .argv = exec},
    };
    struct turn *turns[] = {&ways[0].turn, &ways[1].turn, &ways[2].turn, &ways[3].turn};
    run_program(start);
    turns_take(turns, sizeof(turns) / sizeof(turns[0]), (int)strtol(argv[3], NULL, 10),
               (int)strtol(argv[4], NULL, 10));
    run_program(end);
    turns_print_head();
    turns_print(turns, sizeof(turns) / sizeof(turns[0]));
    turns_compare_head();
    turns_compare(turns[1], turns[0]);
    turns_compare(turns[1], turns[2]);
    turns_compare(turns[3], turns[0]);
    measure_many(&host, &ways[1]);
    toolcage_call_unref(session);
    host_close(&host);
    return 0;
}
