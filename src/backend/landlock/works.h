/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The works of a cage without namespaces, for the registry. No policy names them: who has given up
 * what they cannot hold gets them where nothing else can be built. */
#ifndef TC_LANDLOCK_WORKS_H
#define TC_LANDLOCK_WORKS_H

#include "backend/backend.h"

extern const struct tc_works tc_landlock_works;

#endif
