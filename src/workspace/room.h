/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#ifndef TC_WORKSPACE_ROOM_H
#define TC_WORKSPACE_ROOM_H

#include "workspace/workspace.h"

/* The directory whose disk is too full for a commit, and the size of the changes. */
struct tc_room {
    const char *path; /* borrowed from the plan; NULL: every disk has room */
    uint64_t bytes;
};

/* Does a disk lack the room for the changes that a commit copies to it? */
bool tc_room_lacks(const struct tc_cage *cage, struct tc_room *ret);
/* Writes the failure of a call whose changes are staged for that reason. Returns -1. */
int tc_room_fail(const struct tc_room *room, const char *call, struct tc_outcome *found);

#endif
