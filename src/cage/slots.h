/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Slots of struct tc_works that the backends of this machine have in common; backend.h says what
 * each is for. */
#ifndef TC_CAGE_SLOTS_H
#define TC_CAGE_SLOTS_H

#include "plan/backend.h"

void tc_local_signal(struct tc_cage *cage, bool at_once);
const char *tc_local_usage(struct tc_cage *cage);
bool tc_local_destroy(struct tc_cage *cage, enum tc_pace pace);

/* Control groups, ids, roots and processes ahead, proxies, and what is kept on disk. */
extern const struct tc_machine tc_local_machine;

#endif
