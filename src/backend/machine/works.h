/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The works of virtual machines, for the registry. */
#ifndef TC_MACHINE_WORKS_H
#define TC_MACHINE_WORKS_H

#include "backend/backend.h"

extern const struct tc_works tc_qemu_works, tc_firecracker_works;

#endif
