/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The parts of toolcage-wasm. */
#ifndef TC_WASM_WORKER_H
#define TC_WASM_WORKER_H

#include "wasm/engine.h"
#include "wasm/order.h"

/* Exit codes in addition to the module's. */
enum { TC_WASM_REFUSED = 126, TC_WASM_TRAPPED = 134 };

/* Prints the error with its subject, and exits. */
_Noreturn void tc_wasm_fail(const char *subject, const char *fmt, ...) TC_PRINTF(2, 3);
/* ahead.c: receives the task. False: invalid. */
bool tc_wasm_begin(struct tc_wasm_order *ret);
/* Waits for a call that arrives later: its streams, its root, its fields of the task, and its
 * Landlock ruleset. Everything before it must not depend on the call. */
void tc_wasm_await(struct tc_wasm_order *order);
/* The call has ended, and only its streams and root are still open: reports the exit code to the
 * helper, if it waits for one, and closes them. False: no further call follows. */
bool tc_wasm_answer(struct tc_wasm_order *order, int code);
/* The worker is waiting for its call: tc_wasm_face() sends errors until then to that call. */
void tc_wasm_expect(struct tc_wasm_order *order);
/* Before an error is printed: waits for the call, so that its stderr gets the error. */
void tc_wasm_face(void);
/* Reads the module, and checks its digest, if not NULL. */
void tc_wasm_read(const char *path, const char *digest, char **ret, size_t *ret_size);
/* The engine's functions that load compiled code from a file or from bytes into *ret. */
struct tc_wasm_loader {
    struct wasmtime_error *(*map)(struct wasm_engine *engine, const char *path, void *ret);
    struct wasmtime_error *(*read)(struct wasm_engine *engine, const uint8_t *bytes, size_t size,
                                   void *ret);
};
/* Loads the compiled code of the module. The code is trusted like the program's own, so it must
 * have its digest, or be in the state in which the digest was checked. */
void tc_wasm_load_code(const struct tc_wasm *api, struct wasm_engine *engine,
                       const struct tc_wasm_order *order, const struct tc_wasm_loader *loader,
                       void *ret);
/* Looks only at the first bytes; errors of the file are reported when it is read. */
bool tc_wasm_is_component(const char *path);
/* component.c: run one call; compile to stdout; print a line per import, and return whether one is
 * missing. */
_Noreturn void tc_wasm_run_component(const struct tc_wasm *api, struct tc_wasm_order *order);
int tc_wasm_compile_component(const struct tc_wasm *api, const struct tc_wasm_order *order);
int tc_wasm_inspect_component(const struct tc_wasm *api, const struct tc_wasm_order *order);
/* compile.c: writes compiled code to stdout. */
void tc_wasm_print_code(const struct tc_wasm *api, const char *module, struct wasmtime_error *error,
                        const struct wasm_bytes *code);
/* The module, compiled now or loaded from compiled code. */
struct wasmtime_module *tc_wasm_module(const struct tc_wasm *api, struct wasm_engine *engine,
                                       const struct tc_wasm_order *order);
struct tc_wasi;
/* entry.c: the working directory, owned, if a granted path contains it: the deepest one says
 * whether it is writable. NULL: the tool may not see it. */
char *tc_wasm_here(const struct tc_wasm_order *order, bool *ret_writable);
/* Gives the guest its streams, directories, arguments and environment. */
void tc_wasm_prepare(const struct tc_wasm_order *order, struct tc_wasi *guest);
/* Maps codes over 255, which a process cannot have, to 255. */
int tc_wasm_exit_code(const struct tc_wasi *guest);
/* An instance and its result: the error or trap that stopped it, or its exit code. */
struct tc_wasm_entry {
    const struct tc_wasm *api;
    struct wasmtime_context *context;
    const struct wasmtime_ref *instance;
    const struct tc_strv *args;
    struct wasmtime_error *error;
    struct wasm_trap *trapped;
    int code;
};
/* Runs the instance. False: it has no known entry point. */
bool tc_wasm_enter(struct tc_wasm_entry *entry);
/* run.c, edge.c: run the module in Wasmtime or WasmEdge; the exit code. */
int tc_wasm_run_edge(struct tc_wasm_order *order);
int tc_wasm_run(struct tc_wasm_order *order);
/* meter.c: ends the process by SIGXCPU at its CPU time limit, as the kernel would. */
void tc_wasm_watch_time(const struct tc_wasm *api, struct wasm_engine *engine,
                        struct wasmtime_store *store, int64_t cpu_time);
void tc_wasm_rest(void); /* stops the clock until the next call */
/* The fuel of a deterministic guest: sets the amount of a call. These functions do nothing without
 * fuel. */
void tc_wasm_fill_up(const struct tc_wasm *api, struct wasmtime_context *context, int64_t fuel);
/* Before a guest's system call: updates the fuel used, which drives the guest's clock. */
void tc_wasm_look_at_fuel(struct wasmtime_context *context, struct tc_wasi *guest);
/* After a guest's system call: charges its cost. False: the fuel is used up. */
bool tc_wasm_pay(struct wasmtime_context *context, struct tc_wasi *guest);
/* After the call: reports the fuel used to the helper; `why`: the trap that ended it. */
void tc_wasm_tell_fuel(struct wasmtime_context *context, const struct wasm_trap *why);
/* compile.c */
int tc_wasm_compile(struct tc_wasm_order *order);
int tc_wasm_inspect(struct tc_wasm_order *order);

#endif
