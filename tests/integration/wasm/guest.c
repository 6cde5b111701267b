/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A module for tests: one thing for each first word, good or bad. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static int fail(const char *what)
{
    perror(what);
    return 1;
}

static int show(char **a)
{
    char bytes[4096];
    ssize_t n = 0;
    int fd = strcmp(a[0], "-") == 0 ? 0 : open(a[0], O_RDONLY);
    while (fd >= 0 && (n = read(fd, bytes, sizeof(bytes))) > 0)
        (void)!write(1, bytes, (size_t)n);
    return fd < 0 || n < 0 ? fail(a[0]) : 0;
}

static int put(char **a)
{
    int fd = open(a[0], O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (fd < 0 || write(fd, a[1], strlen(a[1])) < 0)
        return fail(a[0]);
    return 0;
}

static int list(char **a)
{
    DIR *dir = opendir(a[0]);
    struct dirent *e;
    while (dir && (e = readdir(dir)))
        if (e->d_name[0] != '.')
            puts(e->d_name);
    return dir ? 0 : fail(a[0]);
}

static int make_link(char **a)
{
    return symlink(a[0], a[1]) ? fail(a[1]) : 0;
}

static int move(char **a)
{
    return rename(a[0], a[1]) ? fail(a[1]) : 0;
}

static int take_away(char **a)
{
    return unlink(a[0]) ? fail(a[0]) : 0;
}

static int environment(char **a)
{
    extern char **environ;
    for (char **at = environ; *at; at++)
        puts(*at);
    return 0;
}

static int nap(char **a)
{
    struct timespec time = {atoi(a[0]), 0};
    return nanosleep(&time, NULL);
}

static int spin(char **a)
{
    for (volatile int x = 0;; x++)
        ;
}

static int flood(char **a)
{
    struct timespec time;
    for (;;)
        (void)clock_gettime(CLOCK_MONOTONIC, &time);
}

/* The engine's stack, not the guest's own. */
static int dig(char **a)
{
    static int (*volatile again)(char **a) = dig;
    return again(a) + 1;
}

static int trap(char **a)
{
    __builtin_trap();
}

static int grow(char **a)
{
    size_t pages = 0;
    while (__builtin_wasm_memory_grow(0, 16) != (size_t)-1)
        pages += 16;
    printf("%zu\n", pages / 16);
    return 0;
}

static int leave(char **a)
{
    exit(atoi(a[0]));
}

static int echo(char **a)
{
    for (; *a; a++)
        puts(*a);
    return 0;
}

static int shout(char **a)
{
    static char line[65536];
    memset(line, 'x', sizeof(line));
    for (int i = 0; i < 64; i++)
        if (write(1, line, sizeof(line)) < 0)
            return 7;
    return 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(char **a);
        int words;
    } verbs[] = {
        {"show", show, 1},       {"put", put, 2},    {"list", list, 1},
        {"link", make_link, 2},  {"move", move, 2},  {"remove", take_away, 1},
        {"env", environment, 0}, {"nap", nap, 1},    {"spin", spin, 0},
        {"flood", flood, 0},     {"dig", dig, 0},    {"trap", trap, 0},
        {"grow", grow, 0},       {"exit", leave, 1}, {"echo", echo, 0},
        {"shout", shout, 0},
    };
    for (size_t i = 0; argc > 1 && i < sizeof(verbs) / sizeof(verbs[0]); i++)
        if (strcmp(verbs[i].name, argv[1]) == 0 && argc - 2 >= verbs[i].words)
            return verbs[i].run(argv + 2);
    fputs("no such verb\n", stderr);
    return 99;
}
