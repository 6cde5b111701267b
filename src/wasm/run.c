/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Runs one call in Wasmtime: a store, an instance, its start. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "wasm/wasi/wasi.h"
#include "wasm/worker.h"

/* Used by the guest's system calls. */
static const struct tc_wasm *api;
static struct tc_wasi guest;

/* ---- system calls of the guest ---- */

static bool find_memory(struct wasmtime_caller *caller)
{
    struct wasmtime_extern memory;
    if (!api->wasmtime_caller_export_get(caller, "memory", strlen("memory"), &memory) ||
        memory.kind != TC_WASM_MEMORY)
        return false;
    struct wasmtime_context *context = api->wasmtime_caller_context(caller);
    guest.memory = api->wasmtime_memory_data(context, &memory.of);
    guest.size = api->wasmtime_memory_data_size(context, &memory.of);
    return true;
}

static struct wasm_trap *trap(const char *words)
{
    return api->wasmtime_trap_new(words, strlen(words));
}

static struct wasm_trap *serve_function(void *env, struct wasmtime_caller *caller,
                                        union wasmtime_raw *values, size_t count)
{
    const struct tc_wasi_call *call = env;
    const char *types = call->types + (call->types[0] == 'x');
    uint64_t arguments[TC_WASI_ARGUMENTS] = {0};
    if (!find_memory(caller))
        return trap("the module exports no memory");
    for (size_t i = 0; types[i] && i < count; i++)
        arguments[i] = types[i] == 'i' ? (uint32_t)values[i].i32 : (uint64_t)values[i].i64;
    struct wasmtime_context *context = api->wasmtime_caller_context(caller);
    tc_wasm_look_at_fuel(context, &guest);
    uint32_t answer = call->run(&guest, arguments);
    if (guest.exited)
        return trap("exit");
    if (!tc_wasm_pay(context, &guest))
        return trap("all fuel consumed by WebAssembly");
    values[0].i32 = (int32_t)answer;
    return NULL;
}

static struct wasm_types list_of(const char *types)
{
    struct wasm_valtype *items[TC_WASI_ARGUMENTS];
    struct wasm_types list;
    size_t n = 0;
    for (; types[n]; n++)
        items[n] = api->wasm_valtype_new(types[n] == 'i' ? TC_WASM_I32 : TC_WASM_I64);
    api->wasm_valtype_vec_new(&list, n, items);
    return list;
}

static void define(struct wasmtime_linker *linker, const struct tc_wasi_call *call)
{
    bool silent = call->types[0] == 'x';
    struct wasm_types arguments = list_of(call->types + silent),
                      answer = list_of(silent ? "" : "i");
    struct wasm_functype *type = api->wasm_functype_new(&arguments, &answer);
    struct wasmtime_error *error = api->wasmtime_linker_define_func_unchecked(
        linker, TC_WASI_MODULE, strlen(TC_WASI_MODULE), call->name, strlen(call->name), type,
        serve_function, (void *)(uintptr_t)call, NULL);
    if (error)
        tc_wasm_fail(call->name, "%s", tc_wasm_error_text(api, error, NULL));
    api->wasm_functype_delete(type);
}

/* ---- the call ---- */

static int ended_module(struct wasmtime_error *error, struct wasm_trap *trapped)
{
    if (guest.exited)
        return tc_wasm_exit_code(&guest);
    if (!error && !trapped)
        return 0;
    (void)fprintf(stderr, "toolcage-wasm: the module was stopped: %s\n",
                  tc_wasm_error_text(api, error, trapped));
    return TC_WASM_TRAPPED;
}

static int start_module(const struct wasmtime_instance_pre *linked,
                        struct wasmtime_context *context, const struct tc_wasm_order *order)
{
    const char *name = order->args.count ? order->args.items[0] : order->module;
    struct wasmtime_ref instance;
    struct wasm_trap *trapped = NULL;
    struct wasmtime_error *error =
        api->wasmtime_instance_pre_instantiate(linked, context, &instance, &trapped);
    if (error && !guest.exited && !trapped)
        tc_wasm_fail(name, "%s", tc_wasm_error_text(api, error, NULL));
    if (error || trapped) {
        tc_wasm_tell_fuel(context, trapped);
        return ended_module(error, trapped);
    }
    struct tc_wasm_entry entry = {
        .api = api, .context = context, .instance = &instance, .args = &order->args};
    if (!tc_wasm_enter(&entry))
        tc_wasm_fail(name, "it exports no _start: it is not a program");
    tc_wasm_tell_fuel(context, entry.trapped);
    return guest.exited || entry.error || entry.trapped ? ended_module(entry.error, entry.trapped)
                                                        : entry.code;
}

static struct wasmtime_instance_pre *
link_module(struct wasm_engine *engine, const struct wasmtime_module *module, const char *name)
{
    struct wasmtime_instance_pre *linked = NULL;
    struct wasmtime_linker *linker = api->wasmtime_linker_new(engine);
    for (size_t i = 0; i < tc_wasi_call_count; i++)
        define(linker, &tc_wasi_calls[i]);
    struct wasmtime_error *error = api->wasmtime_linker_instantiate_pre(linker, module, &linked);
    if (error)
        tc_wasm_fail(name, "%s", tc_wasm_error_text(api, error, NULL));
    api->wasmtime_linker_delete(linker);
    return linked;
}

/* Runs the call in a new store and instance. After a worker's only call they are not freed: the
 * kernel does that faster. */
static int run_call(struct wasm_engine *engine, const struct wasmtime_instance_pre *linked,
                    const struct tc_wasm_order *order)
{
    tc_wasm_prepare(order, &guest);
    struct wasmtime_store *store = api->wasmtime_store_new(engine, NULL, NULL);
    api->wasmtime_store_limiter(store, order->memory ? order->memory : -1, TC_WASM_TABLE_ELEMENTS,
                                TC_WASM_INSTANCES, TC_WASM_TABLES, TC_WASM_MEMORIES);
    tc_wasm_watch_time(api, engine, store, order->cpu_time);
    guest.fixed = order->fuel > 0;
    tc_wasm_fill_up(api, api->wasmtime_store_context(store), order->fuel);
    int code = start_module(linked, api->wasmtime_store_context(store), order);
    if (order->calls <= 1)
        return code;
    tc_wasm_rest();
    api->wasmtime_store_delete(store);
    tc_wasi_done(&guest);
    return code;
}

/* The steps that are the same for every call come first. */
int tc_wasm_run(struct tc_wasm_order *order)
{
    struct tc_wasm loaded;
    tc_wasm_expect(order);
    const char *lack = tc_wasm_load(order->engine, &loaded);
    if (lack)
        tc_wasm_fail(order->engine, "%s", lack);
    api = &loaded;
    if (tc_wasm_is_component(order->module))
        tc_wasm_run_component(api, order);
    struct wasm_engine *engine = tc_wasm_engine(api, order->calls > 1, order->fuel > 0);
    if (!engine)
        tc_wasm_fail(order->engine, "it does not start: out of memory");
    struct wasmtime_module *module = tc_wasm_module(api, engine, order);
    const struct wasmtime_instance_pre *linked =
        link_module(engine, module, order->args.count ? order->args.items[0] : order->module);
    tc_wasm_await(order);
    int code = run_call(engine, linked, order);
    while (tc_wasm_answer(order, code)) {
        tc_wasm_await(order);
        code = run_call(engine, linked, order);
    }
    (void)fflush(stderr);
    _exit(code);
}
