/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Stages that more than one kind of child goes through. Each returns 0, or -1 with errno; child.c
 * says why they stand in the order in which they do. */
#ifndef TC_CAGE_STAGES_H
#define TC_CAGE_STAGES_H

#include "cage/init_config.h"

/* Of the first process of a container that somebody else has made, from its orders on. */
extern const struct tc_stages tc_contained_stages;

int tc_stage_session(const struct tc_init_config *init);
int tc_stage_ids(const struct tc_init_config *init);
/* Into the working directory, which is the new root. */
/* network.c */
int tc_stage_loopback(const struct tc_init_config *init);
/* Routes and listeners of a cage that has a proxy; these go out by the socket, which the
 * child has at this number. */
int tc_stage_network(const struct tc_init_config *init, int report);
int tc_stage_trees(const struct tc_init_config *init);
int tc_stage_cwd(const struct tc_init_config *init);
/* Over the working directory, from the root that it is a layer over: an overlay shows no mounts of
 * its layers, so the devices are attached once more. */
int tc_stage_devices(int base);
int tc_stage_privileges(const struct tc_init_config *init);
int tc_stage_descriptors(const struct tc_init_config *init);
/* The same, and the init config's ruleset until the tool's exec. */
int tc_stage_ruleset(const struct tc_init_config *init);
int tc_stage_rlimits(const struct tc_init_config *init);
int tc_stage_parent(const struct tc_init_config *init);
int tc_stage_filter(const struct tc_init_config *init);

#endif
