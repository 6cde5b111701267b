/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * One call of a program that does nothing, by every contender in turns, the order drawn by lot:
 * back to back, then with a pause before each.
 *
 * A contender is a command line (timed from posix_spawn to the end of waitpid) or the library (from
 * toolcage_call_new to the result). One that cannot run here is named with its own words, not left
 * out in silence. */
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "turns.h"

enum { ARGS_MAX = 24, CONTENDERS_MAX = 16, PAIRS_MAX = 8 };

struct contender {
    struct turn turn; /* first: a turn is taken by its address */
    const char *argv[ARGS_MAX];
    const char *memory; /* the library, with this memory clause */
    const char *policy; /* the library, under this file: the program is /noop of its image */
    bool first;         /* and a new engine for each call */
    struct host host;
};

/* What is compared besides: a contender over another. */
struct pair {
    const char *over, *base;
};

static struct contender contenders[CONTENDERS_MAX];
static struct pair pairs[PAIRS_MAX];
static size_t contender_count, pair_count;
static int null_fd;

extern char **environ;

/* Runs argv with its output going to `out`; its wait status. */
static int run_command(const char *const *argv, int out)
{
    posix_spawn_file_actions_t actions;
    int status, failed;
    pid_t pid;

    if (posix_spawn_file_actions_init(&actions) != 0)
        die("out of memory");
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, out, 1);
    posix_spawn_file_actions_adddup2(&actions, out, 2);
    failed = posix_spawnp(&pid, argv[0], &actions, NULL, (char *const *)argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failed)
        return -1;
    while (waitpid(pid, &status, 0) < 0)
        ;
    return status;
}

static double time_command(struct turn *turn)
{
    const struct contender *c = (struct contender *)turn;
    double start = clock_us();
    int status = run_command(c->argv, null_fd);

    if (status != 0)
        die("%s failed in the middle of the run (wait status %d)", turn->name, status);
    return clock_us() - start;
}

static double time_first(struct turn *turn)
{
    const struct contender *c = (struct contender *)turn;
    double start = clock_us(), end;
    struct host host = host_open(c->host.command, c->memory);

    host_call(&host);
    end = clock_us();
    host_close(&host);
    return end - start;
}

static double time_library(struct turn *turn)
{
    return host_call(&((struct contender *)turn)->host);
}

static void leave_out(struct contender *c, const char *why)
{
    c->turn.once = NULL;
    printf("not measured: %s: %s\n", c->turn.name, why);
}

static void leave_out_failed(struct contender *c, const char *said)
{
    char why[600];

    snprintf(why, sizeof(why), "it failed here: %s", said);
    why[strcspn(why, "\n")] = '\0';
    leave_out(c, *said ? why : "it failed here and said nothing");
}

static void probe_command(struct contender *c)
{
    char said[512] = "";
    int pipe_fds[2], status;
    ssize_t length;

    if (pipe2(pipe_fds, O_CLOEXEC | O_NONBLOCK) < 0)
        die("pipe failed");
    status = run_command(c->argv, pipe_fds[1]);
    length = read(pipe_fds[0], said, sizeof(said) - 1);
    said[length > 0 ? length : 0] = '\0';
    close(pipe_fds[0]);
    close(pipe_fds[1]);
    if (status == -1)
        leave_out(c, "it is not installed");
    else if (status != 0)
        leave_out_failed(c, said);
}

/* A clause that this machine or user cannot have: the memory of a control group. */
static void probe_library(struct contender *c)
{
    struct toolcage_call *call = host_start(&c->host);
    const struct toolcage_result *result;

    if (toolcage_call_wait(call, 60000, NULL) != 1)
        die("%s: no result after a minute", c->turn.name);
    result = toolcage_call_result(call);
    if (toolcage_result_status(result) != TOOLCAGE_STATUS_OK)
        leave_out_failed(c, toolcage_result_message(result));
    toolcage_call_unref(call);
}

/* Tries it once: one that cannot run here is left out, with the reason. */
static void open_contender(struct contender *c, const char *noop)
{
    if (!c->memory && !c->policy) {
        probe_command(c);
        return;
    }
    c->host = c->policy ? host_open_file("/noop", c->policy) : host_open(noop, c->memory);
    probe_library(c);
}

static void read_pair(char *words)
{
    char *over = strsep(&words, "|");

    if (pair_count == PAIRS_MAX || !words)
        die("more than %d pairs, or one without a base: %s", PAIRS_MAX, over);
    pairs[pair_count++] = (struct pair){.over = strdup(over), .base = strdup(words)};
}

static void read_contender(char *line)
{
    struct contender *c = &contenders[contender_count];
    char *rest = line, *word;
    size_t count = 0;

    if (contender_count == CONTENDERS_MAX)
        die("more than %d contenders", CONTENDERS_MAX);
    c->turn.name = strdup(strsep(&rest, "|"));
    while (count < ARGS_MAX - 1 && (word = strsep(&rest, "|")))
        c->argv[count++] = strdup(word);
    if (count == 0)
        die("%s has no command", c->turn.name);
    c->first = strcmp(c->argv[0], "first") == 0;
    if (c->first || strcmp(c->argv[0], "library") == 0)
        c->memory = c->argv[1];
    if (strcmp(c->argv[0], "policy") == 0)
        c->policy = c->argv[1];
    c->turn.once = c->first ? time_first : c->memory || c->policy ? time_library : time_command;
    contender_count++;
}

/* Each line of the list: "name|word|word…", "name|library|MEMORY", "name|first|MEMORY",
 * "name|policy|FILE", or
 * "over|NAME|NAME OF ITS BASE". */
static void read_contenders(const char *path)
{
    char line[4096];
    FILE *f = fopen(path, "re");

    if (!f)
        die("cannot open %s", path);
    while (fgets(line, sizeof(line), f)) {
        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, "over|", 5) == 0)
            read_pair(line + 5);
        else if (*line && *line != '#')
            read_contender(line);
    }
    fclose(f);
}

static struct turn *find(const char *name)
{
    for (size_t i = 0; i < contender_count; i++)
        if (strcmp(contenders[i].turn.name, name) == 0)
            return &contenders[i].turn;
    die("no contender is called %s", name);
}

static void print_all(struct turn *const *turns)
{
    turns_print_head();
    turns_print(turns, contender_count);
    turns_compare_head();
    for (size_t i = 0; i < pair_count; i++)
        turns_compare(find(pairs[i].over), find(pairs[i].base));
}

int main(int argc, char **argv)
{
    struct turn *turns[CONTENDERS_MAX];

    null_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (argc != 5 || null_fd < 0)
        die("usage: spawn CONTENDERS NOOP ROUNDS PACED_ROUNDS");
    read_contenders(argv[1]);
    for (size_t i = 0; i < contender_count; i++) {
        turns[i] = &contenders[i].turn;
        open_contender(&contenders[i], argv[2]);
    }
    if (contender_count == 0 || !turns[0]->once)
        die("the first contender is the baseline and has to run");
    turns_take(turns, contender_count, (int)strtol(argv[3], NULL, 10),
               (int)strtol(argv[4], NULL, 10));
    print_all(turns);
    for (size_t i = 0; i < contender_count; i++)
        if (contenders[i].memory)
            host_close(&contenders[i].host);
    return 0;
}
