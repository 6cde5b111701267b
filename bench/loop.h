/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The bare engine in this process, with the settings of a worker for many calls: what a call of a
 * module costs at least, without a cage, another process or a system interface. */
#ifndef BENCH_LOOP_H
#define BENCH_LOOP_H

#include "turns.h"

/* Compiles the module, serializes it, and loads that again, as a worker does; dies when it cannot.
 */
void loop_open(const char *library, const void *module, size_t size);
/* What the two took, in µs. */
double loop_compiled_us(void);
double loop_loaded_us(void);
/* A store, an instance, its start, and their end. */
double loop_once(struct turn *turn);

#endif
