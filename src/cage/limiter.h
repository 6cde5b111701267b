/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Limits of a whole cage that somebody has to look after: processor time and what its processes
 * share are sampled, and the kernel tells when it killed for memory. */
#ifndef TC_CAGE_LIMITER_H
#define TC_CAGE_LIMITER_H

#include "plan/backend.h"

/* From here on what the plan bounds is looked after; into cage->limit. 0, or -1 with errno. */
int tc_limits_begin(struct tc_cage *cage);
/* A share of it, whenever event() is called. */
void tc_limits_look(struct tc_cage *cage);
/* Processor time of the whole cage so far; -1 with errno: unknown. */
int64_t tc_limits_cpu_us(struct tc_cage *cage);
/* The cage is about to be killed: the last look. */
void tc_limits_end(struct tc_cage *cage);
/* What PID 1 looks for, since nobody outside can; 0: nothing. */
int64_t tc_limits_segments(const struct tc_cage *cage);

#endif
