/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What the audit log costs by itself: a decision and a result appended to it, and the verification
 * of a whole log with its memory. usage: audit RECORDS, with XDG_STATE_HOME in an empty directory
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "audit/log.h"
#include "audit/reader.h"
#include "audit/verify.h"
#include "bench.h"

enum { ROUNDS = 2000, SYNCED_ROUNDS = 200, DECISION = 700, RESULT = 2500 };

static struct tc_buf members_of(size_t length)
{
    struct tc_buf buf = TC_BUF_INIT;
    tc_buf_adds(&buf, "\"call\":\"");
    while (buf.len < length)
        tc_buf_addc(&buf, 'x');
    tc_buf_addc(&buf, '"');
    return buf;
}

static void append(enum tc_audit_sync sync, const char *kind, const struct tc_buf *members)
{
    static _Atomic int64_t synced_us;
    const struct tc_audit_options options = {.sync = sync, .synced_us = &synced_us};
    struct toolcage_error *err = NULL;
    if (tc_audit_append(&options, kind, members, &err))
        die("%s", toolcage_error_message(err));
}

static void measure_append(const char *name, enum tc_audit_sync sync, int rounds)
{
    struct samples both = {.name = name};
    struct tc_buf decision = members_of(DECISION), result = members_of(RESULT);
    append(sync, "run", &decision);
    for (int i = 0; i < rounds; i++) {
        double start = clock_us();
        append(sync, "run", &decision);
        append(sync, "result", &result);
        samples_add(&both, clock_us() - start);
    }
    printf("decision and result, sync %-9s %9.1f us   p95 %9.1f us\n", name, samples_at(&both, 0.5),
           samples_at(&both, 0.95));
    free(both.us);
    tc_buf_done(&decision);
    tc_buf_done(&result);
}

static void complain(void *context, const char *segment, uint64_t line, const char *what)
{
    (void)context;
    die("%s:%ju %s", segment, (uintmax_t)line, what);
}

static long peak_kib(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_maxrss : 0;
}

static void measure_verify(long records)
{
    struct tc_buf decision = members_of(DECISION), result = members_of(RESULT);
    struct tc_audit_found found = {0};
    for (long i = 0; i < records; i += 2) {
        append(TC_SYNC_NONE, "run", &decision);
        append(TC_SYNC_NONE, "result", &result);
    }
    char *path = tc_audit_path();
    int dir = path ? tc_audit_open(path, true) : -1;
    double start = clock_us();
    if (dir < 0 || tc_audit_verify(dir, NULL, complain, NULL, &found) < 0)
        die("cannot verify the log");
    printf("verify of %ju records in %ju segments  %9.2f s   %ld KiB peak\n",
           (uintmax_t)found.records, (uintmax_t)found.segments, (clock_us() - start) / 1e6,
           peak_kib());
    (void)close(dir);
    free(path);
    tc_buf_done(&decision);
    tc_buf_done(&result);
}

int main(int argc, char *argv[])
{
    long records = argc > 1 ? strtol(argv[1], NULL, 10) : 0;
    if (records < 1)
        die("usage: audit RECORDS");
    measure_append("none", TC_SYNC_NONE, ROUNDS);
    measure_append("interval", TC_SYNC_INTERVAL, ROUNDS);
    measure_append("always", TC_SYNC_ALWAYS, SYNCED_ROUNDS);
    measure_verify(records);
    return 0;
}
