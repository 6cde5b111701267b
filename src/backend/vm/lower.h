/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The plans of a machine, whoever its monitor is. Pure. */
#ifndef TC_BACKEND_VM_LOWER_H
#define TC_BACKEND_VM_LOWER_H

#include "plan/backend.h"

/* What a monitor reads beside itself; toolcage-vm is as it was linked. */
struct tc_monitor {
    const char *name;
    const char *reads[2];
    bool connects;  /* the guest to a socket in the cage */
    bool contained; /* the machine is a container engine's: no monitor of ours stands around it */
};

int tc_vm_lower(const struct tc_monitor *monitor, const struct tc_grant *grant, struct tc_plan *ret,
                struct toolcage_error **err);
/* How much memory the machine itself has to have. */
int64_t tc_vm_mib(const struct tc_grant *grant);

#endif
