/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Where control groups are on this machine, as text says it: pure. */
#ifndef TC_LINUX_CGROUP_PLACES_H
#define TC_LINUX_CGROUP_PLACES_H

#include "linux/cgroup.h"

struct tc_cgroup_place {
    char *mount; /* mount point of the hierarchy; NULL: not mounted */
    char *own;   /* directory of this process's group in it; NULL: not below the mount */
};

struct tc_cgroup_places {
    struct tc_cgroup_place v1[TC_CGROUP_CONTROLLERS];
    struct tc_cgroup_place v2;
};

/* From the texts of /proc/self/cgroup and /proc/self/mountinfo. false: out of memory. */
bool tc_cgroup_places_parse(const char *groups, const char *mounts, struct tc_cgroup_places *ret);
void tc_cgroup_places_done(struct tc_cgroup_places *places);

/* "memory", "pids", "cpu", "cpuacct" */
const char *tc_cgroup_controller_name(enum tc_cgroup_controller controller);
/* Is the word in the list of words parted by any character of `separators`? */
bool tc_cgroup_has_word(const char *list, const char *separators, const char *word);

#endif
