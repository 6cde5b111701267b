/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Slots of struct tc_works that the backends of this machine have in common; backend.h says what
 * each is for. */
#ifndef TC_CAGE_SLOTS_H
#define TC_CAGE_SLOTS_H

#include "backend/backend.h"

bool tc_local_oomed(struct tc_cage *cage);
int64_t tc_local_cpu_us(struct tc_cage *cage);
/* What PID 1 looks for, since nobody outside can; 0: nothing. */
int64_t tc_local_segments_max(const struct tc_cage *cage);
int64_t tc_local_shared_bytes(struct tc_cage *cage);
void tc_local_signal(struct tc_cage *cage, bool at_once);
const char *tc_local_usage(struct tc_cage *cage);
bool tc_local_holds_much(const struct tc_cage *cage);
void tc_local_release(struct tc_cage *cage);
void tc_local_destroy(struct tc_cage *cage);

/* Control groups, ids, roots and processes ahead, proxies, and what is kept on disk. */
extern const struct tc_machine tc_local_machine;

#endif
