/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "loop.h"

#include <string.h>

#include "wasm/engine.h"

static struct tc_wasm api;
static struct wasm_engine *engine;
static struct wasmtime_instance_pre *linked;
static double compiled_us, loaded_us;

static void fine(struct wasmtime_error *error, struct wasm_trap *trap)
{
    if (error || trap)
        die("the bare engine: %s", tc_wasm_error_text(&api, error, trap));
}

void loop_open(const char *library, const void *bytes, size_t size)
{
    struct wasm_bytes code = {0};
    struct wasmtime_module *module = NULL, *loaded = NULL;
    const char *lack = tc_wasm_load(library, &api);
    if (lack)
        die("%s", lack);
    engine = tc_wasm_engine(&api, true, false);
    double start = clock_us();
    fine(api.wasmtime_module_new(engine, bytes, size, &module), NULL);
    compiled_us = clock_us() - start;
    fine(api.wasmtime_module_serialize(module, &code), NULL);
    start = clock_us();
    fine(api.wasmtime_module_deserialize(engine, (const uint8_t *)code.data, code.size, &loaded),
         NULL);
    loaded_us = clock_us() - start;
    struct wasmtime_linker *linker = api.wasmtime_linker_new(engine);
    fine(api.wasmtime_linker_instantiate_pre(linker, loaded, &linked), NULL);
}

double loop_compiled_us(void)
{
    return compiled_us;
}

double loop_loaded_us(void)
{
    return loaded_us;
}

double loop_once(struct turn *turn)
{
    struct wasmtime_ref instance;
    struct wasmtime_extern entry;
    struct wasm_trap *trap = NULL;
    double start = clock_us();
    struct wasmtime_store *store = api.wasmtime_store_new(engine, NULL, NULL);
    struct wasmtime_context *context = api.wasmtime_store_context(store);
    api.wasmtime_context_set_epoch_deadline(context, UINT64_MAX / 2);
    fine(api.wasmtime_instance_pre_instantiate(linked, context, &instance, &trap), trap);
    if (!api.wasmtime_instance_export_get(context, &instance, "_start", strlen("_start"), &entry))
        die("the module has no _start");
    fine(api.wasmtime_func_call(context, &entry.of, NULL, 0, NULL, 0, &trap), trap);
    api.wasmtime_store_delete(store);
    return clock_us() - start;
}
