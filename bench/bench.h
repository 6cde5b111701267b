/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What the drivers share: samples and their order statistics, and a host that makes calls. A driver
 * may exit on failure: a figure that is wrong is worse than none. */
#ifndef BENCH_H
#define BENCH_H

#include <stddef.h>
#include <stdint.h>
#include <toolcage/toolcage.h>

struct samples {
    const char *name;
    double *us;
    size_t count, room;
};

double clock_us(void);
void pause_ms(unsigned ms);

void samples_add(struct samples *s, double us);
double samples_at(struct samples *s, double part); /* 0.5: the median; sorts */

struct host {
    struct toolcage_engine *engine;
    struct toolcage_policy *policy;
    const char *command;
};

/* A host whose tool "noop" is granted `command` and nothing else; `memory` is the policy's word. */
struct host host_open(const char *command, const char *memory);
/* The same under a policy file that has this tool. */
struct host host_open_file(const char *command, const char *path);
void host_close(struct host *host);

/* One call, from nothing to its result; its time in µs, or dies saying what the result was. */
double host_call(struct host *host);

/* The same in two halves, for several at once. */
struct toolcage_call *host_start(struct host *host);
void host_check(struct toolcage_call *call);

/* To its end; dies when it fails. */
void run_program(const char *const argv[]);

void die(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

#endif
