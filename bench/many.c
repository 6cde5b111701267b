/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Calls in a row and eight at once: how many a second, and what is left behind (nothing).
 * Exits 1 when something grew. */
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"
#include "footprint.h"

enum { CALLS = 1000, AT_ONCE = 8, ROUNDS = 3 };

/* A page here and there is play; a leak of 100 bytes a call is twice this. */
enum { SLACK_KIB = 64 };

static void run_row(struct host *host, int calls)
{
    for (int i = 0; i < calls; i++)
        host_call(host);
}

static bool finish(struct toolcage_call **slot)
{
    struct toolcage_error *err = NULL;
    int done = toolcage_call_dispatch(*slot, &err);

    if (done < 0)
        die("%s", toolcage_error_report(err));
    if (done == 0)
        return false;
    host_check(*slot);
    *slot = toolcage_call_unref(*slot);
    return true;
}

static void run_at_once(struct host *host, int calls)
{
    struct toolcage_call *slots[AT_ONCE] = {NULL};
    int started = 0, ended = 0;

    while (ended < calls) {
        struct pollfd fds[AT_ONCE];

        for (int i = 0; i < AT_ONCE; i++) {
            if (!slots[i] && started < calls) {
                slots[i] = host_start(host);
                started++;
            }
            fds[i].fd = slots[i] ? toolcage_call_fd(slots[i]) : -1;
            fds[i].events = POLLIN;
        }
        if (poll(fds, AT_ONCE, 60000) <= 0)
            die("no call ended for a minute");
        for (int i = 0; i < AT_ONCE; i++)
            if (slots[i] && fds[i].revents)
                ended += finish(&slots[i]);
    }
}

static double rate(void (*run)(struct host *, int), struct host *host)
{
    double start = clock_us();

    run(host, CALLS);
    return CALLS / ((clock_us() - start) / 1e6);
}

/* The helper cleans up behind the answer: what is measured is what stays. */
static struct footprint settled(void)
{
    pause_ms(500);
    return footprint_take();
}

static bool print_growth(const struct footprint *a, const struct footprint *b)
{
    long host = b->host_kib - a->host_kib, helper = b->helper_kib - a->helper_kib;
    long fds = b->host_fds - a->host_fds, helper_fds = b->helper_fds - a->helper_fds;
    long processes = b->helper_processes - a->helper_processes, groups = b->groups - a->groups;
    bool grew = host > SLACK_KIB || helper > SLACK_KIB || fds > 0 || helper_fds > 0 ||
                processes > 0 || groups > 0;

    printf("           %+8ld %+10ld %+8ld %+10ld %+9ld %+6ld  %s\n", host, helper, fds, helper_fds,
           processes, groups, grew ? "grew" : "none");
    return grew;
}

/* A round that warms up, then rounds like it that are measured: what a helper keeps ready depends
 * on how many calls it has seen at once, and the spare it made last may hold one descriptor more. A
 * leak grows in every round. Returns whether it did. */
static bool compare_rounds(const char *name, void (*run)(struct host *, int), struct host *host)
{
    struct footprint before, after;
    double a_second;
    bool grew = true;

    run(host, CALLS);
    before = settled();
    if (before.helper_processes == 0)
        die("the helper was not found: its growth would be a guess");
    for (int round = 0; round < ROUNDS && grew; round++) {
        a_second = rate(run, host);
        after = settled();
        printf("%-12s %8.0f %9ld %10ld %5ld %7ld", name, a_second, before.host_kib,
               before.helper_kib, before.helper_fds, before.helper_processes);
        grew = print_growth(&before, &after);
        before = after;
    }
    return grew;
}

int main(int argc, char **argv)
{
    struct footprint none, after;
    struct host host;
    bool grew;

    if (argc != 3)
        die("usage: many NOOP MEMORY");
    none = footprint_take();
    host = host_open(argv[1], argv[2]);
    printf("memory = %s\n", argv[2]);
    printf("%-12s %8s %9s %10s %5s %7s   growth: %8s %10s %8s %10s %9s %6s\n", "1,000 calls",
           "a second", "host KiB", "helper KiB", "fds", "procs", "host KiB", "helper KiB",
           "host fds", "helper fds", "processes", "groups");
    grew = compare_rounds("in a row", run_row, &host);
    grew |= compare_rounds("8 at once", run_at_once, &host);
    host_close(&host);
    after = settled();
    printf("after the engine: %ld helper processes, %+ld control groups\n", after.helper_processes,
           after.groups - none.groups);
    return grew || after.helper_processes > 0 || after.groups > none.groups;
}
