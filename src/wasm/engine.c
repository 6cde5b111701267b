/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Loads Wasmtime at run time, and configures it. */
#include "wasm/engine.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "base/cleanup.h"

enum { STACK = 4 << 20, STACK_LEAST = 64 << 10, KEPT = 256 << 10 };
/* Limits of a worker that serves many calls. The memory for them is reserved when the worker
 * starts. */
enum { POOLED_TABLES = 4, POOLED_ELEMENTS = 250000 };

const char *tc_wasm_load(const char *path, struct tc_wasm *ret)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return dlerror();
#define GET(type, name, arguments)                  \
    *(void **)(&ret->name) = dlsym(library, #name); \
    if (!ret->name)                                 \
        return "it has no " #name ": not Wasmtime " TC_WASM_VERSION;
    TC_WASM_API(GET)
#undef GET
    return NULL;
}

/* How much of the process's stack a module may use. Wasmtime stops a module that recurses deeper,
 * but does not know the real size of the stack: a value too large would let the process crash. A
 * value above Wasmtime's own stack allocation makes Wasmtime abort. */
static size_t stack_size(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_STACK, &limit) < 0 || limit.rlim_cur / 2 >= STACK)
        return STACK;
    return limit.rlim_cur / 2 > STACK_LEAST ? limit.rlim_cur / 2 : STACK_LEAST;
}

/* For a worker that serves many calls: reuses the slots for instances, memories and tables, because
 * creating them would take most of a call's time. Between calls the first KEPT bytes of a memory
 * are zeroed, and the rest is returned to the kernel. */
static void keep_slots(const struct tc_wasm *api, struct wasm_config *config)
{
    struct wasmtime_pool *pool = api->wasmtime_pooling_allocation_config_new();
    api->wasmtime_pooling_allocation_config_total_core_instances_set(pool, TC_WASM_INSTANCES);
    api->wasmtime_pooling_allocation_config_total_memories_set(pool, TC_WASM_MEMORIES);
    api->wasmtime_pooling_allocation_config_total_tables_set(pool, POOLED_TABLES);
    api->wasmtime_pooling_allocation_config_max_tables_per_module_set(pool, POOLED_TABLES);
    api->wasmtime_pooling_allocation_config_table_elements_set(pool, POOLED_ELEMENTS);
    api->wasmtime_pooling_allocation_config_total_gc_heaps_set(pool, 1);
    api->wasmtime_pooling_allocation_config_total_stacks_set(pool, 1);
    api->wasmtime_pooling_allocation_config_linear_memory_keep_resident_set(pool, KEPT);
    api->wasmtime_pooling_allocation_strategy_set(config, pool);
    api->wasmtime_pooling_allocation_config_delete(pool);
}

/* The code in wasi/ expects one thread, and one memory with 32-bit addresses. */
struct wasm_engine *tc_wasm_engine(const struct tc_wasm *api, bool again, bool fixed)
{
    struct wasm_config *config = api->wasm_config_new();
    if (!config)
        return NULL;
    api->wasmtime_config_parallel_compilation_set(config, false);
    api->wasmtime_config_wasm_threads_set(config, false);
    api->wasmtime_config_wasm_memory64_set(config, false);
    api->wasmtime_config_wasm_multi_memory_set(config, false);
    api->wasmtime_config_native_unwind_info_set(config, false);
    /* A running guest checks the clock at epoch ticks: see meter.c. A deterministic one counts fuel
     * instead, which is the same on every host; its results must not depend on the CPU. */
    api->wasmtime_config_epoch_interruption_set(config, !fixed);
    api->wasmtime_config_consume_fuel_set(config, fixed);
    api->wasmtime_config_wasm_relaxed_simd_set(config, !fixed);
    api->wasmtime_config_cranelift_nan_canonicalization_set(config, fixed);
    size_t stack = stack_size();
    api->wasmtime_config_async_stack_size_set(config, stack);
    api->wasmtime_config_max_wasm_stack_set(config, stack);
    if (again)
        keep_slots(api, config);
    return api->wasm_engine_new_with_config(config);
}

/* The part of an error message that says what happened. A message has the failure, a backtrace of
 * the module, and then, below "Caused by", the causes; the last one is returned. */
static const char *cause_in(const char *text)
{
    const char *cause = strstr(text, "Caused by:");
    const char *last = cause ? cause + strlen("Caused by:") : text;
    for (const char *at = last; cause && (at = strchr(at, '\n')); at++)
        if (at[1 + strspn(at + 1, " ")])
            last = at + 1;
    last += strspn(last, " \n");
    size_t number = strspn(last, "0123456789");
    return number && strncmp(last + number, ": ", 2) == 0 ? last + number + 2 : last;
}

const char *tc_wasm_error_text(const struct tc_wasm *api, struct wasmtime_error *error,
                               struct wasm_trap *trap)
{
    static char text[4096];
    struct wasm_bytes said = {0};
    if (error)
        api->wasmtime_error_message(error, &said);
    else
        api->wasm_trap_message(trap, &said);
    (void)snprintf(text, sizeof(text), "%.*s", (int)said.size, said.data ? said.data : "");
    api->wasm_byte_vec_delete(&said);
    if (error)
        api->wasmtime_error_delete(error);
    else
        api->wasm_trap_delete(trap);
    char *line = (char *)(uintptr_t)cause_in(text);
    line[strcspn(line, "\n")] = '\0';
    return line;
}
