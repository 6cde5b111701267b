/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The fields of a task of toolcage-wasm, as base/field.h reads and writes them. */
#include "wasm/order.h"

#define TC_STRUCT struct tc_wasm_order
#define ORDER(F)                             \
    F(ONE, work)                             \
    F(ONE, engine)                           \
    F(ONE, module)                           \
    F(ONE, digest)                           \
    F(ONE, code)                             \
    F(ONE, code_digest)                      \
    F(ONE, code_stamp)                       \
    F(ONE, calls)                            \
    F(ONE, memory)                           \
    F(ONE, fuel)                             \
    F(ONE, cpu_time)                         \
    F(ONE, watched)                          \
    F(LIST, read, .flags = TC_WASM_OF_CALL)  \
    F(LIST, write, .flags = TC_WASM_OF_CALL) \
    F(LIST, env, .flags = TC_WASM_OF_CALL)   \
    F(LIST, args, .flags = TC_WASM_OF_CALL)  \
    F(POINTER, ahead)                        \
    F(POINTER, only)                         \
    F(POINTER, root)                         \
    F(POINTER, here)
TC_FIELDS(tc_wasm_order_fields, ORDER);
