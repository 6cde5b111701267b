/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The qemu backend's works, for the registry. */
#ifndef TC_QEMU_WORKS_H
#define TC_QEMU_WORKS_H

#include "backend/backend.h"

extern const struct tc_works tc_qemu_works;

#endif
