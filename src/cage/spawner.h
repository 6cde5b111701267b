/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A spawner: a process that shares the helper's memory and descriptors but sits in another control
 * group, and clones cages there. With version 1 groups a process can only be born in its parent's
 * group, and moving one costs milliseconds; so the move is paid once a group. Helper and spawner
 * take turns: while one works the other waits, like two coroutines. */
#ifndef TC_CAGE_SPAWNER_H
#define TC_CAGE_SPAWNER_H

#include <linux/sched.h>
#include <stdbool.h>
#include <sys/types.h>

#include "cage/box.h"

struct tc_spawner;

/* Starts one; NULL with errno. */
struct tc_spawner *tc_spawner_new(void);
/* False: somebody killed it, and it must be revived (and settled anew). */
bool tc_spawner_lives(const struct tc_spawner *spawner);
int tc_spawner_revive(struct tc_spawner *spawner);
pid_t tc_spawner_pid(const struct tc_spawner *spawner);
/* clone3(args) in the spawner's place; the child, whose parent is the helper, enters the box. The
 * child's pid, or -1 with errno. */
pid_t tc_spawner_clone(struct tc_spawner *spawner, struct clone_args *args,
                       const struct tc_box *box);
/* Ends it; NULL is fine. Usable as the discard function of a control group. */
void tc_spawner_free(void *spawner);

#endif
