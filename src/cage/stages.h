/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Stages shared by several kinds of child processes. Each returns 0, or -1 with errno; child.c
 * documents their order. */
#ifndef TC_CAGE_STAGES_H
#define TC_CAGE_STAGES_H

#include "cage/init_config.h"

/* Stages of the first process in an engine's container, after it has received its init config. */
extern const struct tc_stages tc_contained_stages;

int tc_stage_session(const struct tc_init_config *init);
int tc_stage_ids(const struct tc_init_config *init);
/* network.c */
int tc_stage_loopback(const struct tc_init_config *init);
/* Routes and listeners of a cage with a proxy; the listeners are sent over the child's fd
 * `report`. */
int tc_stage_network(const struct tc_init_config *init, int report);
/* Attaches the granted mounts below the working directory, which is the new root. */
int tc_stage_trees(const struct tc_init_config *init);
int tc_stage_cwd(const struct tc_init_config *init);
/* Attaches the devices below the working directory again, from the root `base`: an overlay does not
 * show mounts of its layers. */
int tc_stage_devices(int base);
int tc_stage_privileges(const struct tc_init_config *init);
int tc_stage_descriptors(const struct tc_init_config *init);
/* Like tc_stage_descriptors(), and keeps the config's ruleset open until the tool's exec. */
int tc_stage_ruleset(const struct tc_init_config *init);
int tc_stage_rlimits(const struct tc_init_config *init);
int tc_stage_parent(const struct tc_init_config *init);
int tc_stage_filter(const struct tc_init_config *init);

#endif
