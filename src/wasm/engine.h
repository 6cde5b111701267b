/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The parts of Wasmtime's C API that are used here, resolved at run time. The struct layouts are
 * those of one version; no other version is loaded. */
#ifndef TC_WASM_ENGINE_H
#define TC_WASM_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wasm/version.h"

struct wasm_config;
struct wasm_engine;
struct wasm_functype;
struct wasm_importtype;
struct wasm_trap;
struct wasm_valtype;
struct wasmtime_caller;
struct wasmtime_context;
struct wasmtime_error;
struct wasmtime_instance_pre;
struct wasmtime_linker;
struct wasmtime_module;
struct wasmtime_pool;
struct wasmtime_store;

struct wasm_bytes {
    size_t size;
    char *data;
};
struct wasm_types {
    size_t size;
    struct wasm_valtype **data;
};
struct wasm_imports {
    size_t size;
    struct wasm_importtype **data;
};

/* The store's handle of a function or an instance. */
struct wasmtime_ref {
    uint64_t store;
    uint64_t id;
};
/* A memory, a table or a global takes one word more than a function. */
struct wasmtime_extern {
    uint8_t kind;
    union {
        struct wasmtime_ref of;
        uint64_t words[3];
    };
};
union wasmtime_raw {
    int32_t i32;
    int64_t i64;
    uint8_t v128[16];
};
/* A value with its type. */
struct wasmtime_value {
    uint8_t kind;
    union {
        int32_t i32;
        uint64_t room[3];
    } of;
};

/* The engine writes whole structs, so the sizes must be those in that version's headers.
 */
#define TC_WASM_SHAPE(type, size) _Static_assert(sizeof(type) == (size), "as the engine has it")
TC_WASM_SHAPE(struct wasm_bytes, 16);
TC_WASM_SHAPE(struct wasm_types, 16);
TC_WASM_SHAPE(struct wasm_imports, 16);
TC_WASM_SHAPE(struct wasmtime_ref, 16);
TC_WASM_SHAPE(struct wasmtime_extern, 32);
TC_WASM_SHAPE(union wasmtime_raw, 16);
TC_WASM_SHAPE(struct wasmtime_value, 32);

enum { TC_WASM_I32 = 0, TC_WASM_I64 = 1 };
/* Limits of one call. */
enum {
    TC_WASM_TABLE_ELEMENTS = 1000000,
    TC_WASM_TABLES = 16,
    TC_WASM_INSTANCES = 1,
    TC_WASM_MEMORIES = 1
};
enum { TC_WASM_FUNC = 0, TC_WASM_MEMORY = 3 };
enum { TC_WASM_OUT_OF_FUEL = 11 }; /* trap code */

typedef struct wasm_trap *tc_wasm_callback(void *env, struct wasmtime_caller *caller,
                                           union wasmtime_raw *values, size_t count);
/* Called when the epoch passes its deadline: NULL continues until *ret_delta further ticks. */
typedef struct wasmtime_error *tc_wasm_epoch(struct wasmtime_context *context, void *data,
                                             uint64_t *ret_delta, uint8_t *ret_kind);

/* X(return type, name, arguments) */
#define TC_WASM_API(X)                                                                           \
    X(struct wasm_config *, wasm_config_new, (void))                                             \
    X(void, wasmtime_config_parallel_compilation_set, (struct wasm_config *, bool))              \
    X(void, wasmtime_config_wasm_threads_set, (struct wasm_config *, bool))                      \
    X(void, wasmtime_config_wasm_memory64_set, (struct wasm_config *, bool))                     \
    X(void, wasmtime_config_wasm_multi_memory_set, (struct wasm_config *, bool))                 \
    X(void, wasmtime_config_native_unwind_info_set, (struct wasm_config *, bool))                \
    X(void, wasmtime_config_epoch_interruption_set, (struct wasm_config *, bool))                \
    X(void, wasmtime_config_consume_fuel_set, (struct wasm_config *, bool))                      \
    X(void, wasmtime_config_wasm_relaxed_simd_set, (struct wasm_config *, bool))                 \
    X(void, wasmtime_config_cranelift_nan_canonicalization_set, (struct wasm_config *, bool))    \
    X(void, wasmtime_config_max_wasm_stack_set, (struct wasm_config *, size_t))                  \
    X(void, wasmtime_config_async_stack_size_set, (struct wasm_config *, uint64_t))              \
    X(struct wasmtime_pool *, wasmtime_pooling_allocation_config_new, (void))                    \
    X(void, wasmtime_pooling_allocation_config_delete, (struct wasmtime_pool *))                 \
    X(void, wasmtime_pooling_allocation_config_total_memories_set,                               \
      (struct wasmtime_pool *, uint32_t))                                                        \
    X(void, wasmtime_pooling_allocation_config_total_core_instances_set,                         \
      (struct wasmtime_pool *, uint32_t))                                                        \
    X(void, wasmtime_pooling_allocation_config_total_tables_set,                                 \
      (struct wasmtime_pool *, uint32_t))                                                        \
    X(void, wasmtime_pooling_allocation_config_max_tables_per_module_set,                        \
      (struct wasmtime_pool *, uint32_t))                                                        \
    X(void, wasmtime_pooling_allocation_config_table_elements_set,                               \
      (struct wasmtime_pool *, size_t))                                                          \
    X(void, wasmtime_pooling_allocation_config_total_gc_heaps_set,                               \
      (struct wasmtime_pool *, uint32_t))                                                        \
    X(void, wasmtime_pooling_allocation_config_total_stacks_set,                                 \
      (struct wasmtime_pool *, uint32_t))                                                        \
    X(void, wasmtime_pooling_allocation_config_linear_memory_keep_resident_set,                  \
      (struct wasmtime_pool *, size_t))                                                          \
    X(void, wasmtime_pooling_allocation_strategy_set,                                            \
      (struct wasm_config *, const struct wasmtime_pool *))                                      \
    X(void, wasmtime_engine_increment_epoch, (struct wasm_engine *))                             \
    X(struct wasm_engine *, wasm_engine_new_with_config, (struct wasm_config *))                 \
    X(void, wasm_engine_delete, (struct wasm_engine *))                                          \
    X(struct wasmtime_error *, wasmtime_module_new,                                              \
      (struct wasm_engine *, const uint8_t *, size_t, struct wasmtime_module **))                \
    X(struct wasmtime_error *, wasmtime_module_serialize,                                        \
      (const struct wasmtime_module *, struct wasm_bytes *))                                     \
    X(struct wasmtime_error *, wasmtime_module_deserialize,                                      \
      (struct wasm_engine *, const uint8_t *, size_t, void *))                                   \
    X(struct wasmtime_error *, wasmtime_module_deserialize_file,                                 \
      (struct wasm_engine *, const char *, void *))                                              \
    X(void, wasmtime_module_delete, (struct wasmtime_module *))                                  \
    X(void, wasmtime_module_imports, (const struct wasmtime_module *, struct wasm_imports *))    \
    X(const struct wasm_bytes *, wasm_importtype_module, (const struct wasm_importtype *))       \
    X(const struct wasm_bytes *, wasm_importtype_name, (const struct wasm_importtype *))         \
    X(void, wasm_importtype_vec_delete, (struct wasm_imports *))                                 \
    X(struct wasmtime_store *, wasmtime_store_new,                                               \
      (struct wasm_engine *, void *, void (*)(void *)))                                          \
    X(struct wasmtime_context *, wasmtime_store_context, (struct wasmtime_store *))              \
    X(void, wasmtime_store_limiter,                                                              \
      (struct wasmtime_store *, int64_t, int64_t, int64_t, int64_t, int64_t))                    \
    X(void, wasmtime_store_epoch_deadline_callback,                                              \
      (struct wasmtime_store *, tc_wasm_epoch *, void *, void (*)(void *)))                      \
    X(void, wasmtime_context_set_epoch_deadline, (struct wasmtime_context *, uint64_t))          \
    X(struct wasmtime_error *, wasmtime_context_set_fuel, (struct wasmtime_context *, uint64_t)) \
    X(struct wasmtime_error *, wasmtime_context_get_fuel,                                        \
      (const struct wasmtime_context *, uint64_t *))                                             \
    X(bool, wasmtime_trap_code, (const struct wasm_trap *, uint8_t *))                           \
    X(void, wasmtime_store_delete, (struct wasmtime_store *))                                    \
    X(struct wasmtime_linker *, wasmtime_linker_new, (struct wasm_engine *))                     \
    X(void, wasmtime_linker_delete, (struct wasmtime_linker *))                                  \
    X(struct wasmtime_error *, wasmtime_linker_define_func_unchecked,                            \
      (struct wasmtime_linker *, const char *, size_t, const char *, size_t,                     \
       const struct wasm_functype *, tc_wasm_callback *, void *, void (*)(void *)))              \
    X(struct wasmtime_error *, wasmtime_linker_instantiate_pre,                                  \
      (const struct wasmtime_linker *, const struct wasmtime_module *,                           \
       struct wasmtime_instance_pre **))                                                         \
    X(struct wasmtime_error *, wasmtime_instance_pre_instantiate,                                \
      (const struct wasmtime_instance_pre *, struct wasmtime_context *, struct wasmtime_ref *,   \
       struct wasm_trap **))                                                                     \
    X(bool, wasmtime_instance_export_get,                                                        \
      (struct wasmtime_context *, const struct wasmtime_ref *, const char *, size_t,             \
       struct wasmtime_extern *))                                                                \
    X(bool, wasmtime_caller_export_get,                                                          \
      (struct wasmtime_caller *, const char *, size_t, struct wasmtime_extern *))                \
    X(struct wasmtime_context *, wasmtime_caller_context, (struct wasmtime_caller *))            \
    X(uint8_t *, wasmtime_memory_data,                                                           \
      (const struct wasmtime_context *, const struct wasmtime_ref *))                            \
    X(size_t, wasmtime_memory_data_size,                                                         \
      (const struct wasmtime_context *, const struct wasmtime_ref *))                            \
    X(struct wasmtime_error *, wasmtime_func_call,                                               \
      (struct wasmtime_context *, const struct wasmtime_ref *, const struct wasmtime_value *,    \
       size_t, struct wasmtime_value *, size_t, struct wasm_trap **))                            \
    X(void, wasmtime_error_message, (const struct wasmtime_error *, struct wasm_bytes *))        \
    X(void, wasmtime_error_delete, (struct wasmtime_error *))                                    \
    X(struct wasm_trap *, wasmtime_trap_new, (const char *, size_t))                             \
    X(void, wasm_trap_message, (const struct wasm_trap *, struct wasm_bytes *))                  \
    X(void, wasm_trap_delete, (struct wasm_trap *))                                              \
    X(void, wasm_byte_vec_delete, (struct wasm_bytes *))                                         \
    X(struct wasm_valtype *, wasm_valtype_new, (uint8_t))                                        \
    X(void, wasm_valtype_vec_new, (struct wasm_types *, size_t, struct wasm_valtype *const *))   \
    X(struct wasm_functype *, wasm_functype_new, (struct wasm_types *, struct wasm_types *))     \
    X(void, wasm_functype_delete, (struct wasm_functype *))

struct tc_wasm {
#define TC_WASM_MEMBER_(type, name, arguments) type(*name) arguments;
    TC_WASM_API(TC_WASM_MEMBER_)
#undef TC_WASM_MEMBER_
};

/* Loads the library and fills the table; NULL, or the error (static, or owned by the loader). */
const char *tc_wasm_load(const char *path, struct tc_wasm *ret);
/* Creates an engine with the project's settings, which compiled modules depend on. `again`: reuses
 * the memory slots of a store for the next store. `fixed`: counts fuel, and is deterministic. NULL:
 * out of memory. */
struct wasm_engine *tc_wasm_engine(const struct tc_wasm *api, bool again, bool fixed);
/* The last cause of an error or trap, one line; frees the error or trap. Static storage. */
const char *tc_wasm_error_text(const struct tc_wasm *api, struct wasmtime_error *error,
                               struct wasm_trap *trap);

#endif
