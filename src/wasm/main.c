/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * toolcage-wasm: runs a WebAssembly module, inside a cage that was built around it. Nobody calls it
 * by hand. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "wasm/worker.h"

/* More calls than one come only to who waits for them. */
static bool is_whole(struct tc_wasm_order *order)
{
    order->calls = order->ahead ? order->calls : 0;
    return order->engine && order->module && (!order->code || order->code_digest) &&
           order->memory >= 0 && order->fuel >= 0 && order->cpu_time >= 0 && order->calls >= 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *verb;
        int (*run)(struct tc_wasm_order *order);
    } verbs[] = {{"run", tc_wasm_run},
                 {"edge", tc_wasm_run_edge},
                 {"compile", tc_wasm_compile},
                 {"inspect", tc_wasm_inspect}};
    struct tc_wasm_order order = {.root = AT_FDCWD};
    (void)signal(SIGPIPE, SIG_IGN); /* a guest that writes to nobody is told by an errno */
    for (size_t i = 0; argc > 1 && i < TC_COUNT(verbs); i++)
        if (strcmp(verbs[i].verb, argv[1]) == 0 && tc_wasm_read_words(&order, argv + 2) &&
            is_whole(&order))
            return verbs[i].run(&order);
    (void)fputs("toolcage-wasm: this is a part of toolcage, and is started by it alone\n", stderr);
    return TC_WASM_REFUSED;
}
