/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * An overlaid workspace: the tool sees the host's tree, and what it changes goes into a layer of
 * private storage above it. Nothing is copied that the tool does not write. */
#ifndef TC_WORKSPACE_OVERLAY_H
#define TC_WORKSPACE_OVERLAY_H

#include "workspace/workspace.h"

/* Does the tool work on an overlay of this item? */
bool tc_overlay_wanted(const struct tc_plan *plan, const struct tc_item *item);
/* Makes the item's layer, and notes what is needed to see later what the host changed meanwhile.
 * 0, or -1 with the failure written. `mounts`
 * is the text of mountinfo. */
int tc_overlay_open(struct tc_cage *cage, struct tc_item *item, const char *mounts);
/* After the end, in the process that gathers: what stood on the host, when the call began, wherever
 * the layer says something else; into p->copied, as if it had been copied. 0, or -1 with errno:
 * then nothing may come back. */
int tc_overlay_compare(struct tc_cage *cage, const struct tc_item *item);

#endif
