/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A call from a small host and from one with 4 GiB of 4 KiB pages resident, in turns: the same
 * time, because the library never forks its host. Exits 1 when the big one needs over 20 % more. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

enum { CALLS = 300, WARM_UP = 20 };

struct side {
    pid_t pid;
    int ask, answer;
};

static void fill(size_t bytes)
{
    char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED)
        die("no %zu MiB of memory for the big host", bytes >> 20);
    madvise(p, bytes, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < bytes; i += 4096)
        p[i] = 1;
}

/* Answers each byte with the time of one call. */
__attribute__((noreturn)) static void serve(const char *noop, size_t bytes, int ask, int answer)
{
    struct host host;
    double us;
    char c;

    if (bytes)
        fill(bytes);
    host = host_open(noop, "{ max = \"512MiB\", by = \"any\" }");
    while (read(ask, &c, 1) == 1) {
        us = host_call(&host);
        if (write(answer, &us, sizeof(us)) != sizeof(us))
            break;
    }
    host_close(&host);
    _exit(0);
}

static struct side start_side(const char *noop, size_t bytes)
{
    int ask[2], answer[2];
    pid_t pid;

    if (pipe(ask) < 0 || pipe(answer) < 0)
        die("pipe failed");
    pid = fork();
    if (pid < 0)
        die("fork failed");
    if (pid == 0) {
        close(ask[1]);
        close(answer[0]);
        serve(noop, bytes, ask[0], answer[1]);
    }
    close(ask[0]);
    close(answer[1]);
    return (struct side){.pid = pid, .ask = ask[1], .answer = answer[0]};
}

static double ask_side(const struct side *side)
{
    double us;

    if (write(side->ask, "x", 1) != 1 || read(side->answer, &us, sizeof(us)) != sizeof(us))
        die("a host died");
    return us;
}

/* All pipes first: the second host was forked with the first one's open. */
static void end_sides(struct side *sides)
{
    for (int i = 0; i < 2; i++)
        close(sides[i].ask);
    for (int i = 1; i >= 0; i--)
        waitpid(sides[i].pid, NULL, 0);
}

int main(int argc, char **argv)
{
    struct samples small = {.name = "small host"}, big = {.name = "4 GiB resident"};
    struct side sides[2];
    double ratio;

    if (argc != 2)
        die("usage: resident NOOP");
    signal(SIGPIPE, SIG_IGN);
    sides[0] = start_side(argv[1], 0);
    sides[1] = start_side(argv[1], (size_t)4 << 30);
    for (int i = -WARM_UP; i < CALLS; i++) {
        double a = ask_side(&sides[0]), b = ask_side(&sides[1]);

        if (i < 0)
            continue;
        samples_add(&small, a);
        samples_add(&big, b);
    }
    ratio = samples_at(&big, 0.5) / samples_at(&small, 0.5);
    printf("%-16s median %7.0f us   p99 %7.0f us\n", small.name, samples_at(&small, 0.5),
           samples_at(&small, 0.99));
    printf("%-16s median %7.0f us   p99 %7.0f us   x %.2f (aim: at most 1.20)\n", big.name,
           samples_at(&big, 0.5), samples_at(&big, 0.99), ratio);
    end_sides(sides);
    return ratio > 1.2;
}
