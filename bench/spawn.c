/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * One call of a program that does nothing, by every contender in turns: back to back, then with a
 * pause before each, as an agent calls. Taking turns is what makes the ratios hold on a busy
 * machine.
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

#include "bench.h"

enum { ARGS_MAX = 24, CONTENDERS_MAX = 16 };

struct contender {
    const char *name;
    const char *argv[ARGS_MAX];
    const char *memory; /* the library, with this memory clause */
    struct host host;
    struct samples dense, paced;
    bool usable;
};

static struct contender contenders[CONTENDERS_MAX];
static size_t contender_count;

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

static double time_command(const struct contender *c, int null)
{
    double start = clock_us();
    int status = run_command(c->argv, null);

    if (status != 0)
        die("%s failed in the middle of the run (wait status %d)", c->name, status);
    return clock_us() - start;
}

static double time_once(struct contender *c, int null)
{
    return c->memory ? host_call(&c->host) : time_command(c, null);
}

static const char *first_line(char *said)
{
    said[strcspn(said, "\n")] = '\0';
    return *said ? said : "(it said nothing)";
}

/* Tries it once and says why not when it fails. */
static void probe(struct contender *c)
{
    char said[512] = "";
    int pipe_fds[2], status;
    ssize_t length;

    if (c->memory)
        return;
    if (pipe2(pipe_fds, O_CLOEXEC | O_NONBLOCK) < 0)
        die("pipe failed");
    status = run_command(c->argv, pipe_fds[1]);
    length = read(pipe_fds[0], said, sizeof(said) - 1);
    said[length > 0 ? length : 0] = '\0';
    close(pipe_fds[0]);
    close(pipe_fds[1]);
    c->usable = status == 0;
    if (status == -1)
        printf("not measured: %s: %s is not installed\n", c->name, c->argv[0]);
    else if (status != 0)
        printf("not measured: %s: it failed here: %s\n", c->name, first_line(said));
}

/* Each line of the list: "name|word|word…", or "name|library|MEMORY". */
static void read_contender(char *line)
{
    struct contender *c = &contenders[contender_count];
    char *rest = line, *word;
    size_t count = 0;

    line[strcspn(line, "\n")] = '\0';
    if (!*line || *line == '#')
        return;
    if (contender_count == CONTENDERS_MAX)
        die("more than %d contenders", CONTENDERS_MAX);
    c->name = c->dense.name = c->paced.name = strdup(strsep(&rest, "|"));
    while (count < ARGS_MAX - 1 && (word = strsep(&rest, "|")))
        c->argv[count++] = strdup(word);
    if (count == 0)
        die("%s has no command", c->name);
    if (strcmp(c->argv[0], "library") == 0)
        c->memory = c->argv[1];
    c->usable = true;
    contender_count++;
}

static void read_contenders(const char *path)
{
    char line[4096];
    FILE *f = fopen(path, "re");

    if (!f)
        die("cannot open %s", path);
    while (fgets(line, sizeof(line), f))
        read_contender(line);
    fclose(f);
}

static void run_rounds(int rounds, unsigned pause, int null)
{
    for (int round = -2; round < rounds; round++) {
        for (size_t i = 0; i < contender_count; i++) {
            struct contender *c = &contenders[i];
            double us;

            if (!c->usable)
                continue;
            if (pause)
                pause_ms(pause);
            us = time_once(c, null);
            if (round >= 0)
                samples_add(pause ? &c->paced : &c->dense, us);
        }
    }
}

static void print_row(struct contender *c, const struct contender *base)
{
    double dense = samples_at(&c->dense, 0.5), paced = samples_at(&c->paced, 0.5);
    double dense_base = samples_at((struct samples *)&base->dense, 0.5);
    double paced_base = samples_at((struct samples *)&base->paced, 0.5);

    printf("%-34s %8.0f %8.0f %7.1f   %8.0f %8.0f %7.1f\n", c->name, dense,
           samples_at(&c->dense, 0.99), dense_base > 0 ? dense / dense_base : 0, paced,
           samples_at(&c->paced, 0.99), paced_base > 0 ? paced / paced_base : 0);
}

int main(int argc, char **argv)
{
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

    if (argc != 5 || null < 0)
        die("usage: spawn CONTENDERS NOOP ROUNDS PACED_ROUNDS");
    read_contenders(argv[1]);
    for (size_t i = 0; i < contender_count; i++) {
        probe(&contenders[i]);
        if (contenders[i].memory)
            contenders[i].host = host_open(argv[2], contenders[i].memory);
    }
    if (contender_count == 0 || !contenders[0].usable)
        die("the first contender is the baseline and has to run");
    run_rounds((int)strtol(argv[3], NULL, 10), 0, null);
    run_rounds((int)strtol(argv[4], NULL, 10), 100, null);
    printf("%-34s %26s   %26s\n", "", "back to back", "100 ms before each");
    printf("%-34s %8s %8s %7s   %8s %8s %7s\n", "microseconds", "median", "p99", "ratio", "median",
           "p99", "ratio");
    for (size_t i = 0; i < contender_count; i++)
        if (contenders[i].usable)
            print_row(&contenders[i], &contenders[0]);
    for (size_t i = 0; i < contender_count; i++)
        if (contenders[i].memory)
            host_close(&contenders[i].host);
    return 0;
}
