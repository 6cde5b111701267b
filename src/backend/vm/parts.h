/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Parts of the VM executors, for a backend whose VM is started by another program (Kata):
 * toolcage-vm in its cage, the guest's report of the call, and the file changes. */
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
/* Pointer to the backend's own state; NULL: there is no record yet. */
void **tc_vm_cage_own(const struct tc_cage *cage);
/* Did the helper kill the cage? */
bool tc_vm_cage_killed(const struct tc_cage *cage);

/* A budget for the memory that all VMs of one user, in all processes, may use at once. */

/* Takes the maximum size of the cage's VM from the budget. *ret is the fd that holds the share. 0,
 * or -1 with the failure recorded. */
int tc_vm_memory_take(struct tc_cage *cage, int *ret);
/* The same for a VM prestarted before its call; all of these use at most half the budget. Returns
 * the share's fd, or -1. */
int tc_vm_memory_hold(const struct tc_cage *cage);
/* Returns the share; -1: none was taken. */
void tc_vm_memory_give(int room);

#endif
