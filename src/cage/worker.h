/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Workers: prestarted cages in which a toolcage program runs, has loaded everything that the calls
 * of its tool share, and waits. A worker has no data of a call. The helper sends a worker the
 * call's streams and arguments, and one root with the mounts and masks of the call's cage. From
 * then on the worker is the call's cage: its id, its cgroup and its exit count for the call. A
 * worker serves one call; if the plan allows more, it reports the call's end and waits for the next
 * call with the same grant. If a worker fails before it accepts a call, the call is started without
 * a worker. */
#ifndef TC_CAGE_WORKER_H
#define TC_CAGE_WORKER_H

#include "cage/cage.h"
#include "cage/pool.h"

/* worker_key.c */
/* Serialises the plan without its per-call parts: the key of workers that may serve the call.
 * False: workers cannot serve this plan, or there is no memory. */
bool tc_worker_key(const struct tc_plan *plan, struct tc_buf *ret);
/* Does this mount belong to the worker's own cage, not to a call? */
bool tc_worker_mount(const struct tc_mount *mount);

/* Gives the cage a worker that fits its plan, with the worker's id and cgroup; false when there is
 * none. */
bool tc_worker_claim(struct tc_cage *cage);
/* Sends the call to the claimed worker. 1: sent. 0: there is no worker, or it did not accept the
 * call and was ended; the cage keeps the id and the cgroup. -1: nor can a new process be created.
 */
int tc_worker_go(struct tc_cage *cage);
/* After the start of a call: requests a worker for the next call. If workers hold a budget share,
 * the entry is the cage's `next`. False: the tool has no workers. */
bool tc_worker_next(struct tc_cage *cage);
/* Takes the budget share of the claimed worker; -1: none. */
int tc_worker_held(struct tc_process_cage *p);
/* A call lacks a budget share: drops the idle workers that hold one. False: there were none. */
bool tc_worker_yield(void);
/* The socket of the claimed worker's program; -1: none. */
int tc_worker_talk(const struct tc_process_cage *p);
/* The fd on which the worker reports the call's end. -1: only its exit counts, because until then
 * it could write to host files. */
int tc_worker_fd(const struct tc_process_cage *p);
/* Reads the worker's report that the call has ended, if there is one. A worker that serves more
 * calls leaves the cage; any other is killed. */
void tc_worker_event(struct tc_cage *cage);
/* Marks the worker as ending: it may still answer this call, and serves no other. */
void tc_worker_ends(struct tc_process_cage *p);
/* Frees the call's private storage, which may take a while. */
void tc_worker_forget_root(struct tc_process_cage *p);
/* The cage ends: returns or drops its worker. */
void tc_worker_leave(struct tc_process_cage *p);

/* handoff.c: sends a call to a toolcage program in a cage (base/task.h). A program started for its
 * call receives everything at its start. A prestarted program receives the call later, with the
 * call's streams and the root of the call's cage. */
/* Can the call's mounts be sent? Not with overlays, which need a mount namespace. */
bool tc_handoff_can(const struct tc_process_cage *p);
/* Attaches all mounts of the call to its detached root. Moves the mounts, and makes no clones of
 * them: for each clone that is released separately the kernel waits for an RCU grace period, which
 * takes thirty times as long as the rest. Returns how many mounts are attached. Fewer than all: the
 * kernel cannot attach more (before Linux 6.15 nothing can be mounted on a detached mount). */
size_t tc_handoff_assemble(const struct tc_process_cage *p, int root);
/* For the cage that is started instead: clones the mounts under the same fd numbers and adds the
 * worker's own mounts. A mount on top of another mount is cloned with both, over itself. */
bool tc_handoff_take_back(struct tc_cage *cage, size_t count);
/* Sends the call to the waiting program. False: not sent. */
bool tc_handoff_call(const struct tc_cage *cage, int talk, int root);
/* Before a process is cloned: creates the socket of the plan's program, if any, and sends its task.
 * 0, or -1 with the failure recorded. */
int tc_handoff_program(struct tc_cage *cage);

#endif
