/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Compiles a module in advance, and lists its imports. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "wasm/wasi/wasi.h"
#include "wasm/worker.h"

static struct tc_wasm api;

static void load_module(const struct tc_wasm_order *order)
{
    const char *lack = tc_wasm_load(order->engine, &api);
    if (lack)
        tc_wasm_fail(order->engine, "%s", lack);
}

static struct wasmtime_module *compile_module(const struct tc_wasm_order *order)
{
    struct wasm_engine *engine = tc_wasm_engine(&api, false, order->fuel > 0);
    if (!engine)
        tc_wasm_fail(order->engine, "it does not start: out of memory");
    return tc_wasm_module(&api, engine, order);
}

void tc_wasm_print_code(const struct tc_wasm *of, const char *module, struct wasmtime_error *error,
                        const struct wasm_bytes *code)
{
    if (error)
        tc_wasm_fail(module, "%s", tc_wasm_error_text(of, error, NULL));
    if (tc_write_all(STDOUT_FILENO, code->data, code->size) < 0)
        tc_wasm_fail(module, "%s", strerror(errno));
}

int tc_wasm_compile(struct tc_wasm_order *order)
{
    struct wasm_bytes code = {0};
    load_module(order);
    if (tc_wasm_is_component(order->module))
        return tc_wasm_compile_component(&api, order);
    struct wasmtime_error *error = api.wasmtime_module_serialize(compile_module(order), &code);
    tc_wasm_print_code(&api, order->module, error, &code);
    return 0;
}

static bool provided(const struct wasm_bytes *module, const struct wasm_bytes *name)
{
    _autofree_ char *word = strndup(name->data, name->size);
    return word && module->size == strlen(TC_WASI_MODULE) &&
           memcmp(module->data, TC_WASI_MODULE, module->size) == 0 && tc_wasi_find(word);
}

/* Prints a line per import: yes or no, module, name. */
int tc_wasm_inspect(struct tc_wasm_order *order)
{
    struct wasm_imports imports = {0};
    load_module(order);
    if (tc_wasm_is_component(order->module))
        return tc_wasm_inspect_component(&api, order);
    struct wasmtime_module *module = compile_module(order);
    int lacking = 0;
    api.wasmtime_module_imports(module, &imports);
    for (size_t i = 0; i < imports.size; i++) {
        const struct wasm_bytes *from = api.wasm_importtype_module(imports.data[i]);
        const struct wasm_bytes *name = api.wasm_importtype_name(imports.data[i]);
        bool there = provided(from, name);
        lacking |= !there;
        (void)printf("%s %.*s %.*s\n", there ? "yes" : "no", (int)from->size, from->data,
                     (int)name->size, name->data);
    }
    api.wasm_importtype_vec_delete(&imports);
    return lacking;
}
