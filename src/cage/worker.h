/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Workers: cages in which a program of ours runs, has loaded what every call of its tool needs, and
 * waits. It sees nothing of any call: a call hands it its streams, its words, and one root, which
 * holds what the cage of that call would show, masks included. Each serves one call, and is the
 * call's cage from then on, with its id, its control group and its end; where the plan allows more,
 * it says how the call ended, and waits for the next that is granted the same. One that fails
 * before a call is no call's error: that is started as if there had been none. */
#ifndef TC_CAGE_WORKER_H
#define TC_CAGE_WORKER_H

#include "cage/cage.h"
#include "cage/pool.h"

/* worker_key.c */
/* The plan of the worker that may serve calls of this plan, as bytes: all but the call. False: a
 * call of this plan is served by none, or there is no memory. */
bool tc_worker_key(const struct tc_plan *plan, struct tc_buf *ret);
/* Is it of the worker's own cage, and not of a call? */
bool tc_worker_mount(const struct tc_mount *mount);

/* Gives the cage one that fits its plan, with its id and its control group; false when there is
 * none. */
bool tc_worker_claim(struct tc_cage *cage);
/* Hands the call over: 1. 0: there is none, or it will not do after all, and has been ended; id and
 * group are still the cage's. -1: nor can one be made in its place. */
int tc_worker_go(struct tc_cage *cage);
/* After the start of a call: one is made for the next, soon; where workers hold something that all
 * share it is the cage's `next`. False: not for this tool. */
bool tc_worker_next(struct tc_cage *cage);
/* What the one that the cage claimed held of what all share; -1: there was none. */
int tc_worker_held(struct tc_process_cage *p);
/* A call lacks what they hold: those that wait give it back. False: none did. */
bool tc_worker_yield(void);
/* The socket of the program that the cage claimed; -1: there was none. */
int tc_worker_talk(const struct tc_process_cage *p);
/* Where it says that the call has ended; -1: its own end says so, because there is something of the
 * host's that it could write until then. */
int tc_worker_fd(const struct tc_process_cage *p);
/* It may have said so: then the call is over. A process that serves more is no part of the cage any
 * more, one that does not is killed. */
void tc_worker_event(struct tc_cage *cage);
/* It is told to end: though it may answer this call yet, it serves no other. */
void tc_worker_ends(struct tc_process_cage *p);
/* What the call's private storage holds takes a while to be freed: that is done here. */
void tc_worker_forget_root(struct tc_process_cage *p);
/* The cage goes. */
void tc_worker_leave(struct tc_process_cage *p);

/* handoff.c: what a program of ours in a cage is told (base/task.h): at its start all of it, or,
 * where it waits for its call, that call later, with its streams and the root that its cage would
 * have.
 */

/* An overlay is made in a mount namespace. */
bool tc_handoff_can(const struct tc_process_cage *p);
/* The root that the cage of this call would have, with everything in its place; attached nowhere.
 * The mounts themselves: each copy of one that goes by itself has the kernel wait until nobody
 * looks at it, thirty times as long as anything else here. How many of them are there; less than
 * all: it cannot be done here (before Linux 6.15 nothing goes onto what is not attached itself). */
size_t tc_handoff_assemble(const struct tc_process_cage *p, int root);
/* For the cage that is started in its place: copies under the same numbers, and with them what
 * stood there already. A mount that was put onto another is in both copies, over itself. */
bool tc_handoff_take_back(struct tc_cage *cage, size_t count);
/* Says it to who waits there. False: it is not said. */
bool tc_handoff_call(const struct tc_cage *cage, int talk, int root);
/* Before a process is cloned: the socket of the plan's program, if it has one, with its task in it.
 * 0, or -1 with the failure written. */
int tc_handoff_program(struct tc_cage *cage);

#endif
