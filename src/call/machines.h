/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Virtual machines on this machine: what runs them, and what runs in them. */
#ifndef TC_CALL_MACHINES_H
#define TC_CALL_MACHINES_H

#include "base/error.h"
#include "policy/grant.h"

/* Is the backend of this name a virtual machine? */
bool tc_machines_run(const char *backend);
/* Can the outermost of these layers run the others inside? The guest's engine runs each call in a
 * process cage. */
bool tc_machines_hold(const struct tc_strv *layers);
/* Names in the grant the monitor, the guest's files and the image's disk. */
int tc_machines_find(struct tc_grant *grant, struct toolcage_error **err);
/* Is there all that the grant's machine needs but the disk of an image; NULL: of any grant's.
 * *ret_vmm is owned. */
int tc_machines_look(const struct tc_grant *grant, char **ret_vmm, struct toolcage_error **err);

#endif
