/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What a deterministic call may use up: the engine counts what the guest computes, we what it has
 * done for it. */
#include <sys/socket.h>

#include "base/fd.h"
#include "base/task.h"
#include "wasm/wasi/wasi.h"
#include "wasm/worker.h"

/* A call of the guest's takes about a microsecond of the machine's time. */
enum { CALL_COST = 1000 };

static const struct tc_wasm *api;
static uint64_t tank;
static bool empty; /* by a call of the guest's */

static uint64_t left(const struct wasmtime_context *context)
{
    uint64_t fuel = 0;
    struct wasmtime_error *error = api->wasmtime_context_get_fuel(context, &fuel);
    if (error)
        tc_wasm_fail("fuel", "%s", tc_wasm_said(api, error, NULL));
    return fuel;
}

static void set(struct wasmtime_context *context, uint64_t fuel)
{
    struct wasmtime_error *error = api->wasmtime_context_set_fuel(context, fuel);
    if (error)
        tc_wasm_fail("fuel", "%s", tc_wasm_said(api, error, NULL));
}

void tc_wasm_fill_up(const struct tc_wasm *of, struct wasmtime_context *context, int64_t fuel)
{
    api = of;
    tank = (uint64_t)fuel;
    if (tank)
        set(context, tank);
}

void tc_wasm_look_at_fuel(struct wasmtime_context *context, struct tc_wasi *guest)
{
    if (!tank)
        return;
    guest->used = tank - left(context);
    guest->cost = 0;
}

bool tc_wasm_pay(struct wasmtime_context *context, struct tc_wasi *guest)
{
    if (!tank)
        return true;
    uint64_t fuel = tank - guest->used, cost = CALL_COST + guest->cost;
    empty = cost >= fuel;
    set(context, empty ? 0 : fuel - cost);
    return !empty;
}

void tc_wasm_tell_fuel(struct wasmtime_context *context, const struct wasm_trap *why)
{
    uint8_t code = 0;
    if (!tank)
        return;
    bool spent =
        empty || (why && api->wasmtime_trap_code(why, &code) && code == TC_WASM_OUT_OF_FUEL);
    const struct tc_task_fuel told = {.used = (int64_t)(spent ? tank : tank - left(context)),
                                      .spent = spent};
    (void)tc_send(TC_TASK_SOCKET, &told, sizeof(told), NULL, 0);
}
