/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Parts of the executors of virtual machines, for who has the machine made by others: toolcage-vm
 * in its cage, what it says of the call, and what comes back of files. */
#ifndef TC_BACKEND_VM_PARTS_H
#define TC_BACKEND_VM_PARTS_H

#include "cage/cage.h"
#include "plan/backend.h"

int tc_vm_cage_make(struct tc_cage *cage, const struct tc_cage_ops *ops);
int tc_vm_cage_start(struct tc_cage *cage);
void tc_vm_cage_signal(struct tc_cage *cage, bool kill);
const char *tc_vm_cage_usage(struct tc_cage *cage);
bool tc_vm_cage_destroy(struct tc_cage *cage, enum tc_may_block may_block);
const char *tc_vm_cage_mechanism(const struct tc_cage *cage, enum tc_clause clause);
/* Where the backend keeps its own; NULL: there is no record yet. */
void **tc_vm_cage_own(const struct tc_cage *cage);
/* Was it ended from outside? */
bool tc_vm_cage_killed(const struct tc_cage *cage);

/* What all machines of one user may use of the host's memory at once, in all processes together. */

/* Takes what the cage's machine may grow to; *ret holds it. 0, or -1 and the cage has failed. */
int tc_vm_memory_take(struct tc_cage *cage, int *ret);
/* The same for a machine that waits for a call; those together leave half of it to others. What
 * holds it, or -1. */
int tc_vm_memory_hold(const struct tc_cage *cage);
/* Gives it back; -1: there was none. */
void tc_vm_memory_give(int room);

#endif
