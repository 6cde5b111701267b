/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * toolcage-wasm: runs a WebAssembly module inside a cage. Started only by toolcage. */
#include <signal.h>
#include <stdio.h>

#include "wasm/worker.h"

int main(void)
{
    static const struct {
        const char *name;
        int (*run)(struct tc_wasm_order *order);
    } works[] = {{"run", tc_wasm_run},
                 {"edge", tc_wasm_run_edge},
                 {"compile", tc_wasm_compile},
                 {"inspect", tc_wasm_inspect}};
    struct tc_wasm_order order;
    (void)signal(SIGPIPE, SIG_IGN); /* a guest that writes to a closed pipe gets an errno */
    bool whole = tc_wasm_begin(&order);
    for (size_t i = 0; whole && i < TC_COUNT(works); i++)
        if (tc_streq(works[i].name, order.work))
            return works[i].run(&order);
    (void)fputs("toolcage-wasm: this program is started only by toolcage\n", stderr);
    return TC_WASM_REFUSED;
}
