/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The engine client's configuration as fields of a task message. */
#include "engine/engine.h"

#define TC_STRUCT struct tc_engine_config
#define ENGINE_CONFIG(F) \
    F(ONE, engine)       \
    F(ONE, repository)   \
    F(ONE, tag)          \
    F(ONE, name)         \
    F(ONE, create)       \
    F(ONE, client)       \
    F(ONE, label)        \
    F(ONE, runtime)      \
    F(ONE, fifos)        \
    F(ONE, patience_ms)  \
    F(ONE, stale_s)      \
    F(ONE, about)        \
    F(ONE, sweep)        \
    F(FD, program)       \
    F(FD, socket)        \
    F(FD, port)          \
    F(FD, console)
TC_FIELDS(tc_engine_config_fields, ENGINE_CONFIG);
