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

enum { CALLS = 1000, AT_ONCE = 8, WARM_UP = 1000 };

/* Allocators play: results differ in size, and each size keeps its free pieces. The warm-up is as
 * long as a round, bench/run turns the host's per-thread cache off, and a leak of 100 bytes a call
 * is still twice this. */
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

static bool print_growth(const char *name, const struct footprint *a, const struct footprint *b)
{
    long host = b->host_kib - a->host_kib, helper = b->helper_kib - a->helper_kib;
    long fds = b->host_fds - a->host_fds, helper_fds = b->helper_fds - a->helper_fds;
    long processes = b->helper_processes - a->helper_processes, groups = b->groups - a->groups;
    bool grew = host > SLACK_KIB || helper > SLACK_KIB || fds > 0 || helper_fds > 0 ||
                processes > 0 || groups > 0;

    printf("%-24s %+8ld %+9ld %+8ld %+10ld %+10ld %+7ld  %s\n", name, host, helper, fds, helper_fds,
           processes, groups, grew ? "GREW" : "none");
    return grew;
}

int main(int argc, char **argv)
{
    struct footprint none, warm, row, both, after;
    double in_row, at_once;
    struct host host;
    bool grew;

    if (argc != 3)
        die("usage: many NOOP MEMORY");
    none = footprint_take();
    host = host_open(argv[1], argv[2]);
    run_at_once(&host, WARM_UP);
    run_row(&host, WARM_UP);
    warm = settled();
    if (warm.helper_processes == 0)
        die("the helper was not found: its growth would be a guess");
    in_row = rate(run_row, &host);
    row = settled();
    at_once = rate(run_at_once, &host);
    both = settled();
    printf("memory = %s\n", argv[2]);
    printf("%d calls in a row: %.0f a second; %d at once: %.0f a second\n", CALLS, in_row, AT_ONCE,
           at_once);
    printf("host %ld KiB, %ld descriptors; helper %ld KiB, %ld descriptors, %ld processes\n",
           warm.host_kib, warm.host_fds, warm.helper_kib, warm.helper_fds, warm.helper_processes);
    printf("%-24s %8s %9s %8s %10s %10s %7s\n", "growth over 1,000 calls", "host KiB", "helper KiB",
           "host fds", "helper fds", "processes", "groups");
    grew = print_growth("  in a row", &warm, &row);
    grew |= print_growth("  8 at once", &row, &both);
    host_close(&host);
    after = settled();
    printf("after the engine: %ld helper processes, %+ld control groups\n", after.helper_processes,
           after.groups - none.groups);
    return grew || after.helper_processes > 0 || after.groups > none.groups;
}
