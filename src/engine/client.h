/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The life of one container of containerd's, by its own client. */
#ifndef TC_ENGINE_CLIENT_H
#define TC_ENGINE_CLIENT_H

#include "engine/attach.h"
#include "engine/engine.h"

/* As tc_engine_live() does it over HTTP. The lines stay the caller's. False when there was not even
 * memory for it. */
bool tc_engine_live_by_client(const struct tc_engine_lines *lines,
                              const struct tc_engine_config *config);

#endif
