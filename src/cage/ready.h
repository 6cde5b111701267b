/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Cages that stand ready: a program of ours runs in one, has loaded what every call of its tool
 * needs, and waits. It sees nothing of any call: a call hands it its streams, its words, and one
 * root, which holds what the cage of that call would show, masks included. Each serves one call,
 * and is the call's cage from then on, with its id, its control group and its end; where the plan
 * allows more, it says how the call ended, and waits for the next that is granted the same. One
 * that fails before a call is no call's error: that is started as if there had been none. */
#ifndef TC_CAGE_READY_H
#define TC_CAGE_READY_H

#include "cage/cage.h"

/* Gives the cage one that fits its plan, with its id and its control group; false when there is
 * none. */
bool tc_ready_claim(struct tc_cage *cage);
/* Hands the call over: 1. 0: there is none, or it will not do after all, and has been ended; id and
 * group are still the cage's. -1: nor can one be made in its place. */
int tc_ready_go(struct tc_cage *cage);
/* After the start of a call: one is made for the next, soon. False: not for this tool. */
bool tc_ready_next(struct tc_cage *cage);
/* The call is over, and has given back what all share: now that is made which was not to be made
 * beside it. */
void tc_ready_over(struct tc_process_cage *p);
/* What the one that the cage claimed held of what all share; -1: there was none. */
int tc_ready_held(struct tc_process_cage *p);
/* A call lacks what they hold: those that wait give it back. False: none did. */
bool tc_ready_yield(void);
/* A call has its answer: what was to be made is due. */
void tc_ready_answered(void);
/* Where it says that the call has ended; -1: its own end says so, because there is something of the
 * host's that it could write until then. */
int tc_ready_fd(const struct tc_process_cage *p);
/* It may have said so: then the call is over. A process that serves more is no part of the cage any
 * more, one that does not is killed. */
void tc_ready_event(struct tc_cage *cage);
/* It is told to end: though it may answer this call yet, it serves no other. */
void tc_ready_ends(struct tc_process_cage *p);
/* What the call's private storage holds takes a while to be freed: that is done here. */
void tc_ready_forget_root(struct tc_process_cage *p);
/* The cage goes. */
void tc_ready_leave(struct tc_process_cage *p);
/* Ends those that nobody needed, lets go of those that have ended, makes what is due. When to come
 * again; 0: no matter. */
int64_t tc_ready_tick(int64_t now_us);
/* The helper ends. */
void tc_ready_close(void);

#endif
