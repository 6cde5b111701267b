/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * How a module starts: its streams, directories and arguments, and its entry point: _start for a
 * program, or QuickJS's reactor, a library that runs one script and takes its arguments as main()
 * does. The guest's return values are treated as hostile. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/path.h"
#include "wasm/wasi/wasi.h"
#include "wasm/worker.h"

/* ---- streams, directories, arguments, for both engines ---- */

static void add_roots(struct tc_wasi *guest, const struct tc_strv *paths, bool writable)
{
    for (size_t i = 0; i < paths->count; i++)
        if (!tc_wasi_add_root(guest, paths->items[i], NULL, writable) && errno != ENOENT)
            tc_wasm_fail(paths->items[i], "%s", strerror(errno));
}

/* The deepest path that contains `path`. */
static const char *holder(const struct tc_strv *paths, const char *path, const char *best)
{
    for (size_t i = 0; i < paths->count; i++)
        if (tc_path_within(paths->items[i], path) &&
            (!best || strlen(paths->items[i]) > strlen(best)))
            best = paths->items[i];
    return best;
}

char *tc_wasm_here(const struct tc_wasm_order *order, bool *ret_writable)
{
    _autofree_ char *here = order->here ? strdup(order->here) : getcwd(NULL, 0);
    const char *read = here ? holder(&order->read, here, NULL) : NULL;
    const char *best = here ? holder(&order->write, here, read) : NULL;
    *ret_writable = best && best != read;
    return best ? TAKE(here) : NULL;
}

/* Relative paths start at the tool's working directory, if the tool may see it. */
static void add_here(struct tc_wasi *guest, const struct tc_wasm_order *order)
{
    bool writable;
    _autofree_ char *here = tc_wasm_here(order, &writable);
    if (here && !tc_wasi_add_root(guest, here, ".", writable))
        tc_wasm_fail(here, "%s", strerror(errno));
    if (!here && !tc_wasi_add_outside(guest))
        tc_wasm_fail("/", "%s", strerror(errno));
}

void tc_wasm_prepare(const struct tc_wasm_order *order, struct tc_wasi *guest)
{
    tc_wasi_init(guest, order->root);
    add_roots(guest, &order->read, false);
    add_roots(guest, &order->write, true);
    add_here(guest, order);
    if (!tc_strv_copy(&guest->args, &order->args) || !tc_strv_copy(&guest->env, &order->env))
        tc_wasm_fail("arguments", "out of memory");
}

int tc_wasm_exit_code(const struct tc_wasi *guest)
{
    return guest->code > 255 ? 255 : (int)guest->code;
}

/* ---- entry points, in Wasmtime ---- */

enum { WORD = 4 }; /* size of a guest's pointer */

static bool find_export(const struct tc_wasm_entry *e, const char *name, uint8_t kind,
                        struct wasmtime_extern *ret)
{
    return e->api->wasmtime_instance_export_get(e->context, e->instance, name, strlen(name), ret) &&
           ret->kind == kind;
}

/* Takes 32-bit arguments; with `ret` returns one 32-bit value. The engine rejects a function of
 * another type. */
static bool call(struct tc_wasm_entry *e, const struct wasmtime_extern *function,
                 const struct wasmtime_value *arguments, size_t count, int32_t *ret)
{
    struct wasmtime_value answer = {0};
    e->error = e->api->wasmtime_func_call(e->context, &function->of, arguments, count, &answer,
                                          ret != NULL, &e->trapped);
    if (e->error || e->trapped)
        return false;
    if (ret && answer.kind != TC_WASM_I32)
        tc_wasm_fail(e->args->items[0], "its function returned an unexpected type");
    if (ret)
        *ret = answer.of.i32;
    return true;
}

static struct wasmtime_value number_value(int32_t value)
{
    return (struct wasmtime_value){.kind = TC_WASM_I32, .of.i32 = value};
}

struct library {
    struct wasmtime_extern initialize, malloc, init, memory;
};

static bool find_library(const struct tc_wasm_entry *e, struct library *ret)
{
    return find_export(e, "_initialize", TC_WASM_FUNC, &ret->initialize) &&
           find_export(e, "malloc", TC_WASM_FUNC, &ret->malloc) &&
           find_export(e, "qjs_init_argv", TC_WASM_FUNC, &ret->init) &&
           find_export(e, "memory", TC_WASM_MEMORY, &ret->memory);
}

/* Copies the bytes into memory that the guest's malloc returns; its address is checked. */
static bool put_in_guest(struct tc_wasm_entry *e, const struct library *library, const void *bytes,
                         size_t size, int32_t *ret_at)
{
    const struct wasmtime_value length = number_value((int32_t)size);
    if (!call(e, &library->malloc, &length, 1, ret_at))
        return false;
    size_t at = (uint32_t)*ret_at,
           end = e->api->wasmtime_memory_data_size(e->context, &library->memory.of);
    if (!at || at > end || size > end - at)
        tc_wasm_fail(e->args->items[0], "it has no memory for its arguments");
    memcpy(e->api->wasmtime_memory_data(e->context, &library->memory.of) + at, bytes, size);
    return true;
}

/* An argv as C's main() gets it, in the guest's byte order. */
static bool put_arguments(struct tc_wasm_entry *e, const struct library *library, int32_t *ret_at)
{
    size_t size = (e->args->count + 1) * WORD;
    _autofree_ uint8_t *table = calloc(1, size);
    if (!table)
        tc_wasm_fail("arguments", "out of memory");
    for (size_t i = 0; i < e->args->count; i++) {
        int32_t at;
        if (!put_in_guest(e, library, e->args->items[i], strlen(e->args->items[i]) + 1, &at))
            return false;
        for (size_t byte = 0; byte < WORD; byte++)
            table[i * WORD + byte] = (uint8_t)((uint32_t)at >> (8 * byte));
    }
    return put_in_guest(e, library, table, size, ret_at);
}

static void run_library(struct tc_wasm_entry *e, const struct library *library)
{
    int32_t at, failed;
    if (!call(e, &library->initialize, NULL, 0, NULL) || !put_arguments(e, library, &at))
        return;
    const struct wasmtime_value words[] = {number_value((int32_t)e->args->count), number_value(at)};
    if (call(e, &library->init, words, TC_COUNT(words), &failed))
        e->code = failed != 0;
}

bool tc_wasm_enter(struct tc_wasm_entry *e)
{
    struct wasmtime_extern program;
    struct library library;
    if (find_export(e, "_start", TC_WASM_FUNC, &program))
        (void)call(e, &program, NULL, 0, NULL);
    else if (e->args->count && find_library(e, &library))
        run_library(e, &library);
    else
        return false;
    return true;
}
