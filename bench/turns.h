/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Contenders that take turns within one process, and the tables of what they took. Taking turns is
 * what makes the ratios hold on a busy machine. */
#ifndef BENCH_TURNS_H
#define BENCH_TURNS_H

#include "bench.h"

struct turn {
    const char *name;
    double (*once)(struct turn *turn); /* the time of one in µs; NULL: it cannot run here */
    struct samples dense, paced;
};

/* `rounds` back to back, then `paced_rounds` with a pause before each turn, as an agent calls. */
void turns_take(struct turn *const *turns, size_t count, int rounds, int paced_rounds);

void turns_print_head(void);
/* Each with its ratio to the first. */
void turns_print(struct turn *const *turns, size_t count);

void turns_compare_head(void);
/* What `turn` takes over `base`: ratio and difference, of the medians and of the p99. */
void turns_compare(struct turn *turn, struct turn *base);

#endif
