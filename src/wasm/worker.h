/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The parts of toolcage-wasm. */
#ifndef TC_WASM_WORKER_H
#define TC_WASM_WORKER_H

#include "wasm/engine.h"
#include "wasm/order.h"

/* Beside a module's own codes. */
enum { TC_WASM_REFUSED = 126, TC_WASM_TRAPPED = 134 };

/* Says what is wrong with the subject, and that is the program's end. */
_Noreturn void tc_wasm_fail(const char *subject, const char *fmt, ...) TC_PRINTF(2, 3);
/* ahead.c: what the worker is told. False: it makes no sense. */
bool tc_wasm_begin(struct tc_wasm_order *ret);
/* Waits for the call, if it comes later: its streams, its root, its part of the order, and a wall
 * around them. Everything before it was done without knowing of any. */
void tc_wasm_await(struct tc_wasm_order *order);
/* The call has ended, and nothing of it is left but its streams and its root: the code is told, if
 * somebody waits for it, and they go. False: there is no call after it. */
bool tc_wasm_answer(struct tc_wasm_order *order, int code);
/* The worker is ready for its call: what goes wrong until that comes is told to it. */
void tc_wasm_expect(struct tc_wasm_order *order);
/* Before a last word: to whom it may concern. */
void tc_wasm_face(void);
/* The module's bytes: those that the digest is of, if there is one. */
void tc_wasm_read(const char *path, const char *digest, char **ret, size_t *ret_size);
/* How the engine takes what it has compiled: from a file, or from bytes; *ret is what it makes. */
struct tc_wasm_loader {
    struct wasmtime_error *(*map)(struct wasm_engine *engine, const char *path, void *ret);
    struct wasmtime_error *(*read)(struct wasm_engine *engine, const uint8_t *bytes, size_t size,
                                   void *ret);
};
/* What the module was compiled to: trusted as our own code is, so it is what its digest says, which
 * comes from outside, or in the state in which that was read. */
void tc_wasm_load_code(const struct tc_wasm *api, struct wasm_engine *engine,
                       const struct tc_wasm_order *order, const struct tc_wasm_loader *loader,
                       void *ret);
/* By its first bytes; what is wrong with the file is said when it is read. */
bool tc_wasm_is_component(const char *path);
/* component.c: one call; compiling it, to the standard output; a line for each import, and whether
 * one is lacking. */
_Noreturn void tc_wasm_run_component(const struct tc_wasm *api, struct tc_wasm_order *order);
int tc_wasm_compile_component(const struct tc_wasm *api, const struct tc_wasm_order *order);
int tc_wasm_inspect_component(const struct tc_wasm *api, const struct tc_wasm_order *order);
/* compile.c: prints what was compiled. */
void tc_wasm_print_code(const struct tc_wasm *api, const char *module, struct wasmtime_error *error,
                        const struct wasm_bytes *code);
/* The module, compiled now or before. */
struct wasmtime_module *tc_wasm_module(const struct tc_wasm *api, struct wasm_engine *engine,
                                       const struct tc_wasm_order *order);
struct tc_wasi;
/* entry.c: its streams, the order's directories, words and environment. */
void tc_wasm_prepare(const struct tc_wasm_order *order, struct tc_wasi *guest);
/* A code that a process cannot have must not look like another one. */
int tc_wasm_exit_code(const struct tc_wasi *guest);
/* An instance, and how it went: what stopped it, or its exit code. */
struct tc_wasm_entry {
    const struct tc_wasm *api;
    struct wasmtime_context *context;
    const struct wasmtime_ref *instance;
    const struct tc_strv *args;
    struct wasmtime_error *error;
    struct wasm_trap *trapped;
    int code;
};
/* Runs it. False: it begins in no way that is known. */
bool tc_wasm_enter(struct tc_wasm_entry *entry);
/* run.c, edge.c: the module in Wasmtime or in WasmEdge; its exit code. */
int tc_wasm_run_edge(struct tc_wasm_order *order);
int tc_wasm_run(struct tc_wasm_order *order);
/* meter.c: ends the process when its processor time is spent, as the kernel would. */
void tc_wasm_watch_time(const struct tc_wasm *api, struct wasm_engine *engine,
                        struct wasmtime_store *store, int64_t cpu_time);
void tc_wasm_rest(void); /* until the next one */
/* What a deterministic guest may use up, and has; nothing of it where the call is none. */
void tc_wasm_fill_up(const struct tc_wasm *api, struct wasmtime_context *context, int64_t fuel);
/* Before a call of the guest's is served: its time is told by what was used. */
void tc_wasm_look_at_fuel(struct wasmtime_context *context, struct tc_wasi *guest);
/* And after it: what it cost. False: there is no more. */
bool tc_wasm_pay(struct wasmtime_context *context, struct tc_wasi *guest);
/* The call has ended, because of this: tells the helper. */
void tc_wasm_tell_fuel(struct wasmtime_context *context, const struct wasm_trap *why);
/* compile.c */
int tc_wasm_compile(struct tc_wasm_order *order);
int tc_wasm_inspect(struct tc_wasm_order *order);

#endif
