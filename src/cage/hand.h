/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What a program of ours in a cage is told (base/task.h): at its start all of it, or, where it
 * waits for its call, that call later, with its streams and the root that its cage would have. */
#ifndef TC_CAGE_HAND_H
#define TC_CAGE_HAND_H

#include "cage/cage.h"

/* An overlay is made in a mount namespace. */
bool tc_hand_can(const struct tc_process_cage *p);
/* The root that the cage of this call would have, with everything in its place; attached nowhere.
 * The mounts themselves: each copy of one that goes by itself has the kernel wait until nobody
 * looks at it, thirty times as long as anything else here. How many of them are there; less than
 * all: it cannot be done here (before Linux 6.15 nothing goes onto what is not attached itself). */
size_t tc_hand_put_together(const struct tc_process_cage *p, int root);
/* For the cage that is started in its place: copies under the same numbers, and with them what
 * stood there already. A mount that was put onto another is in both copies, over itself. */
bool tc_hand_take_back(struct tc_cage *cage, size_t count);
/* Says it to who waits there. False: it is not said. */
bool tc_hand_call(const struct tc_cage *cage, int talk, int root);
/* Before a process is cloned: the socket of the plan's program, if it has one, with its task in it.
 * 0, or -1 with the failure written. */
int tc_hand_program(struct tc_cage *cage);

#endif
