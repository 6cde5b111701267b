/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The works of wasm and wasmedge, for the registry. */
#ifndef TC_WASM_WORKS_H
#define TC_WASM_WORKS_H

#include "backend/backend.h"

extern const struct tc_works tc_wasm_works, tc_wasmedge_works;

#endif
