/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#ifndef TC_BACKEND_ENGINE_STAGES_H
#define TC_BACKEND_ENGINE_STAGES_H

#include "cage/box.h"

/* Of the process that becomes toolcage-engine; behind them those of the first program in the
 * container. The box has that program's descriptor as its `bundle`. */
extern const struct tc_stages tc_engine_stages;

#endif
