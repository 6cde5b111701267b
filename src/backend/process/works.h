/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The process backend's works, for the registry. */
#ifndef TC_PROCESS_WORKS_H
#define TC_PROCESS_WORKS_H

#include "backend/backend.h"

extern const struct tc_works tc_process_works;

#endif
