/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What all machines of one user may use of the host's memory at once, in all processes together. */
#ifndef TC_MACHINE_ROOM_H
#define TC_MACHINE_ROOM_H

#include "plan/backend.h"

/* Takes what the cage's machine may grow to; *ret holds it. 0, or -1 and the cage has failed. */
int tc_machine_room_take(struct tc_cage *cage, int *ret);
/* The same for a machine that waits for a call; those together leave half of it to others. What
 * holds it, or -1. */
int tc_machine_room_hold(const struct tc_cage *cage);
/* Gives it back; -1: there was none. */
void tc_machine_room_give(int room);

#endif
