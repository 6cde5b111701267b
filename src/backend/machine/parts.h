/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Parts of the works of virtual machines, for who has the machine made by others: toolcage-vm in
 * its cage, what it says of the call, and what comes back of files. */
#ifndef TC_MACHINE_PARTS_H
#define TC_MACHINE_PARTS_H

#include "cage/cage.h"
#include "plan/backend.h"

int tc_machine_make(struct tc_cage *cage, const struct tc_local_form *form);
int tc_machine_start(struct tc_cage *cage);
void tc_machine_signal(struct tc_cage *cage, bool kill);
const char *tc_machine_usage(struct tc_cage *cage);
bool tc_machine_destroy(struct tc_cage *cage, enum tc_pace pace);
const char *tc_machine_mechanism(const struct tc_cage *cage, enum tc_clause clause);
/* Where the backend keeps its own; NULL: there is no record yet. */
void **tc_machine_more(const struct tc_cage *cage);
/* Was it ended from outside? */
bool tc_machine_killed(const struct tc_cage *cage);

#endif
