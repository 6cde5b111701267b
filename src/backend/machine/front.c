/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The fronts of virtual machines with a monitor of ours. */
#include <string.h>

#include "backend/machine/lower.h"
#include "backend/registry.h"

static const struct tc_monitor qemu = {"qemu",
                                       {"/usr/share/qemu", "/usr/share/seabios"},
                                       false,
                                       false},
                               firecracker = {"firecracker", {NULL}, true, false};

static int lower(const struct tc_front *front, const struct tc_grant *grant, struct tc_plan *ret,
                 struct toolcage_error **err)
{
    bool emulator = strcmp(front->name, qemu.name) == 0;
    return tc_machine_lower(emulator ? &qemu : &firecracker, grant, ret, err);
}

#define HAS                                                                     \
    (TC_FEATURE_BIT(IMAGE) | TC_FEATURE_BIT(SYSCALLS) | TC_FEATURE_BIT(BYTES) | \
     TC_FEATURE_BIT(COPY) | TC_FEATURE_BIT(OVERLAY))

const struct tc_front tc_qemu_front = {
    .name = "qemu",
    .summary = "a virtual machine for each call, with a kernel of its own",
    .provides = ~(tc_clauses)0,
    .has = HAS,
    .lower = lower,
};

const struct tc_front tc_firecracker_front = {
    .name = "firecracker",
    .summary = "the same by Firecracker, where the processor can",
    .provides = ~(tc_clauses)0,
    .has = HAS,
    .lower = lower,
};
