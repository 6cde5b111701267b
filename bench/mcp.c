/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What the Model Context Protocol adds, in turns within one process: a call of the program that
 * does nothing through the library and through `toolcage mcp`; and a call of a trivial server
 * directly and through `toolcage wrap`. Each server lives for the whole run. A call by MCP is timed
 * from the write of the request to the end of the answer's line. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "turns.h"

enum { ANSWER_MS = 60000, REQUEST_MAX = 8192 };

#define FINE "\"isError\":false"
#define REFUSED "\"isError\":true"

/* A server, and the client's end of its pipes. */
struct server {
    const char *name;
    pid_t pid;
    int ask;
    FILE *answers;
    char *line;
    size_t size;
    unsigned long id;
};

struct contender {
    struct turn turn; /* first: a turn is taken by its address */
    struct host *host;
    struct server *server;
    char params[REQUEST_MAX];
};

extern char **environ;

static struct server start(const char *name, const char *const *argv)
{
    struct server server = {.name = name};
    posix_spawn_file_actions_t actions;
    int ask[2], answer[2];

    if (pipe2(ask, O_CLOEXEC) < 0 || pipe2(answer, O_CLOEXEC) < 0 ||
        posix_spawn_file_actions_init(&actions) != 0)
        die("no pipes for %s", name);
    posix_spawn_file_actions_adddup2(&actions, ask[0], 0);
    posix_spawn_file_actions_adddup2(&actions, answer[1], 1);
    if (posix_spawn(&server.pid, argv[0], &actions, NULL, (char *const *)argv, environ) != 0)
        die("%s: cannot start %s", name, argv[0]);
    posix_spawn_file_actions_destroy(&actions);
    close(ask[0]);
    close(answer[1]);
    server.ask = ask[1];
    server.answers = fdopen(answer[0], "r");
    if (!server.answers)
        die("out of memory");
    return server;
}

static void stop(struct server *server)
{
    int status;

    close(server->ask);
    while (waitpid(server->pid, &status, 0) < 0)
        ;
    fclose(server->answers);
    free(server->line);
    if (status != 0)
        die("%s ended with wait status %d", server->name, status);
}

static void send_line(const struct server *server, const char *line, size_t length)
{
    if (write(server->ask, line, length) != (ssize_t)length)
        die("%s takes no request any more", server->name);
}

/* One answer for each request: nothing is left in the buffer when the next one is waited for. */
static void receive_line(struct server *server)
{
    struct pollfd ready = {.fd = fileno(server->answers), .events = POLLIN};

    if (poll(&ready, 1, ANSWER_MS) != 1)
        die("%s: no answer after a minute", server->name);
    if (getline(&server->line, &server->size, server->answers) < 0)
        die("%s ended without an answer", server->name);
}

/* The time of one request; dies unless its answer holds `expected`. */
static double request(struct server *server, const char *method, const char *params,
                      const char *expected)
{
    char text[REQUEST_MAX + 256], id[32];
    double begin, end;
    int length = snprintf(text, sizeof(text),
                          "{\"jsonrpc\":\"2.0\",\"id\":%lu,\"method\":\"%s\",\"params\":%s}\n",
                          ++server->id, method, params);

    begin = clock_us();
    send_line(server, text, (size_t)length);
    receive_line(server);
    end = clock_us();
    snprintf(id, sizeof(id), "\"id\":%lu,", server->id);
    if (!strstr(server->line, id) || !strstr(server->line, expected))
        die("%s: no %s in the answer to %s: %s", server->name, expected, method, server->line);
    return end - begin;
}

static void shake_hands(struct server *server, const char *tool)
{
    static const char ready[] = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";

    request(server, "initialize",
            "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},"
            "\"clientInfo\":{\"name\":\"bench\",\"version\":\"0\"}}",
            "\"protocolVersion\":\"2025-11-25\"");
    send_line(server, ready, strlen(ready));
    request(server, "tools/list", "{}", tool);
}

static double time_library(struct turn *turn)
{
    return host_call(((struct contender *)turn)->host);
}

static double time_request(struct turn *turn)
{
    struct contender *c = (struct contender *)turn;

    return request(c->server, "tools/call", c->params, FINE);
}

static struct contender by_library(const char *name, struct host *host)
{
    return (struct contender){.turn = {.name = name, .once = time_library}, .host = host};
}

static struct contender by_server(const char *name, struct server *server, const char *tool,
                                  const char *arguments)
{
    struct contender c = {.turn = {.name = name, .once = time_request}, .server = server};
    int length =
        snprintf(c.params, sizeof(c.params), "{\"name\":\"%s\",\"arguments\":%s}", tool, arguments);

    if (length < 0 || (size_t)length >= sizeof(c.params))
        die("%s: too long arguments", name);
    return c;
}

/* Otherwise the row would show what it costs not to check. */
static void expect_refusal(struct server *wrap)
{
    request(wrap, "tools/call", "{\"name\":\"checked\",\"arguments\":{\"path\":\"/etc/passwd\"}}",
            REFUSED);
}

static void measure(struct host *host, struct server *mcp, struct server *direct,
                    struct server *wrap, int rounds, int paced_rounds)
{
    char arguments[REQUEST_MAX];
    int length = snprintf(arguments, sizeof(arguments), "{\"path\":\"%s\"}", host->command);
    struct contender c[] = {
        by_library("toolcage library", host),
        by_server("toolcage mcp", mcp, "noop", "{}"),
        by_server("server, direct", direct, "any", arguments),
        by_server("toolcage wrap, any arguments", wrap, "any", arguments),
        by_server("toolcage wrap, checked argument", wrap, "checked", arguments),
    };
    struct turn *turns[] = {&c[0].turn, &c[1].turn, &c[2].turn, &c[3].turn, &c[4].turn};

    if (length < 0 || (size_t)length >= sizeof(arguments))
        die("%s is too long a path", host->command);
    turns_take(turns, 5, rounds, paced_rounds);
    turns_print_head();
    turns_print(turns, 2);
    turns_print(turns + 2, 3);
    turns_compare_head();
    turns_compare(turns[1], turns[0]);
    turns_compare(turns[3], turns[2]);
    turns_compare(turns[4], turns[2]);
}

int main(int argc, char **argv)
{
    if (argc != 9)
        die("usage: mcp TOOLCAGE TOOLS.TOML SERVERS.TOML NOOP MEMORY SERVER ROUNDS PACED_ROUNDS");
    const char *mcp_argv[] = {argv[1], "mcp", "--policy", argv[2], NULL};
    const char *wrap_argv[] = {argv[1], "wrap", "--policy", argv[3], "--server", "bench", NULL};
    const char *direct_argv[] = {argv[6], NULL};
    struct host host = host_open(argv[4], argv[5]);
    struct server mcp = start("toolcage mcp", mcp_argv), direct = start("server", direct_argv),
                  wrap = start("toolcage wrap", wrap_argv);

    signal(SIGPIPE, SIG_IGN); /* not before: the servers would inherit it */
    shake_hands(&mcp, "\"noop\"");
    shake_hands(&direct, "\"checked\"");
    shake_hands(&wrap, "\"checked\"");
    expect_refusal(&wrap);
    measure(&host, &mcp, &direct, &wrap, (int)strtol(argv[7], NULL, 10),
            (int)strtol(argv[8], NULL, 10));
    stop(&wrap);
    stop(&direct);
    stop(&mcp);
    host_close(&host);
    return 0;
}
