/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A copied workspace: the tool works on a private copy, and what it changed comes back when the
 * call succeeds. The copy lives in a tmpfs that nobody else can reach, so nothing of it can be left
 * behind. */
#ifndef TC_PROCESS_WORKSPACE_H
#define TC_PROCESS_WORKSPACE_H

#include "backend/process/process.h"

/* Copies the item's tree; a detached, writable mount of the copy (kept by the cage), also in
 * item->copy. -1 with the failure written. Links are copied as links; sockets, pipes and devices
 * are left out, and so are denied names. */
int tc_workspace_copy(struct tc_cage *cage, struct tc_item *item);

/* Brings back what the tool changed, file by file and each atomically. What the host changed in the
 * meantime is not touched, and what steers the host is held back; both are listed in `found`. */
void tc_workspace_commit(struct tc_cage *cage, struct tc_outcome *found);

#endif
