/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What containerd is asked for: the same container as of every engine (create.h), in the words of
 * the OCI runtime specification, which containerd passes on as they are. Pure. */
#ifndef TC_BACKEND_ENGINE_SPEC_H
#define TC_BACKEND_ENGINE_SPEC_H

#include "backend/engine/create.h"

/* JSON, owned; NULL when out of memory. */
char *tc_engine_spec(const struct tc_engine_container *c);

#endif
