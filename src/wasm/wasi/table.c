/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The table of system calls. */
#include "wasm/wasi/guest.h"

#define ROW(name, types) {#name, types, tc_wasi_##name},
const struct tc_wasi_call tc_wasi_calls[] = {TC_WASI_LIST(ROW)};
#undef ROW
const size_t tc_wasi_call_count = TC_COUNT(tc_wasi_calls);

const struct tc_wasi_call *tc_wasi_find(const char *name)
{
    for (size_t i = 0; i < tc_wasi_call_count; i++)
        if (strcmp(tc_wasi_calls[i].name, name) == 0)
            return &tc_wasi_calls[i];
    return NULL;
}
