/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Lowers a grant to the two plans of a VM (of the cage around the VMM, and of the guest), for any
 * VMM. Makes no system call. */
#ifndef TC_BACKEND_VM_LOWER_H
#define TC_BACKEND_VM_LOWER_H

#include "plan/backend.h"

/* Files that a VMM reads in addition to its program. */
struct tc_monitor {
    const char *name;
    const char *reads[2];
    bool connects;  /* the VMM connects guest ports to a socket in the cage */
    bool contained; /* a runtime (Kata) starts the VM: its VMM is not in a cage */
};

int tc_vm_lower(const struct tc_monitor *monitor, const struct tc_grant *grant, struct tc_plan *ret,
                struct toolcage_error **err);
/* The memory size of the VM itself. */
int64_t tc_vm_mib(const struct tc_grant *grant);

#endif
