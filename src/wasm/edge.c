/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Runs one call in WasmEdge. The functions of its C API are looked up at run time. The structs
 * below have the layout of one version, and a library of another version is refused. WasmEdge
 * interprets the module; its compiler is not used. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "wasm/version.h"
#include "wasm/wasi/wasi.h"
#include "wasm/worker.h"

enum { PAGE = 65536, PAGES_MOST = 65536 };

struct edge_string {
    uint32_t length;
    const char *text;
};
struct edge_type {
    uint8_t data[8];
};
struct edge_value {
    unsigned __int128 value; /* a shorter type uses the low bytes */
    struct edge_type type;
};
struct edge_result {
    uint32_t code; /* 0: success, 1: the module ended itself; else an error's category and code */
};
enum { EDGE_FINE = 0, EDGE_ENDED = 1, EDGE_FAILED = 2 };

struct edge_config;
struct edge_loader;
struct edge_validator;
struct edge_executor;
struct edge_store;
struct edge_ast;
struct edge_import;
struct edge_module;
struct edge_function;
struct edge_function_type;
struct edge_frame;
struct edge_memory;

typedef struct edge_result edge_callback(void *data, const struct edge_frame *frame,
                                         const struct edge_value *arguments,
                                         struct edge_value *answers);

/* X(return type, name after "WasmEdge_", arguments) */
#define EDGE_API(X)                                                                               \
    X(const char *, VersionGet, (void))                                                           \
    X(void, LogOff, (void))                                                                       \
    X(struct edge_type, ValTypeGenI32, (void))                                                    \
    X(struct edge_type, ValTypeGenI64, (void))                                                    \
    X(const char *, ResultGetMessage, (struct edge_result))                                       \
    X(struct edge_config *, ConfigureCreate, (void))                                              \
    X(void, ConfigureSetMaxMemoryPage, (struct edge_config *, uint32_t))                          \
    X(void, ConfigureSetForceInterpreter, (struct edge_config *, bool))                           \
    X(struct edge_loader *, LoaderCreate, (const struct edge_config *))                           \
    X(struct edge_result, LoaderParseFromBuffer,                                                  \
      (struct edge_loader *, struct edge_ast **, const uint8_t *, uint32_t))                      \
    X(struct edge_validator *, ValidatorCreate, (const struct edge_config *))                     \
    X(struct edge_result, ValidatorValidate, (struct edge_validator *, const struct edge_ast *))  \
    X(uint32_t, ASTModuleListImportsLength, (const struct edge_ast *))                            \
    X(uint32_t, ASTModuleListImports,                                                             \
      (const struct edge_ast *, const struct edge_import **, uint32_t))                           \
    X(struct edge_string, ImportTypeGetModuleName, (const struct edge_import *))                  \
    X(struct edge_string, ImportTypeGetExternalName, (const struct edge_import *))                \
    X(struct edge_store *, StoreCreate, (void))                                                   \
    X(struct edge_executor *, ExecutorCreate, (const struct edge_config *, void *))               \
    X(struct edge_result, ExecutorRegisterImport,                                                 \
      (struct edge_executor *, struct edge_store *, const struct edge_module *))                  \
    X(struct edge_result, ExecutorInstantiate,                                                    \
      (struct edge_executor *, struct edge_module **, struct edge_store *,                        \
       const struct edge_ast *))                                                                  \
    X(struct edge_result, ExecutorInvoke,                                                         \
      (struct edge_executor *, const struct edge_function *, const struct edge_value *, uint32_t, \
       struct edge_value *, uint32_t))                                                            \
    X(struct edge_module *, ModuleInstanceCreate, (struct edge_string))                           \
    X(void, ModuleInstanceAddFunction,                                                            \
      (struct edge_module *, struct edge_string, struct edge_function *))                         \
    X(struct edge_function *, ModuleInstanceFindFunction,                                         \
      (const struct edge_module *, struct edge_string))                                           \
    X(struct edge_function_type *, FunctionTypeCreate,                                            \
      (const struct edge_type *, uint32_t, const struct edge_type *, uint32_t))                   \
    X(void, FunctionTypeDelete, (struct edge_function_type *))                                    \
    X(struct edge_function *, FunctionInstanceCreate,                                             \
      (const struct edge_function_type *, edge_callback *, void *, uint64_t))                     \
    X(struct edge_memory *, CallingFrameGetMemoryInstance, (const struct edge_frame *, uint32_t)) \
    X(uint8_t *, MemoryInstanceGetPointer, (struct edge_memory *, uint32_t, uint32_t))            \
    X(uint32_t, MemoryInstanceGetPageSize, (const struct edge_memory *))

static struct {
#define MEMBER(type, name, arguments) type(*name) arguments;
    EDGE_API(MEMBER)
#undef MEMBER
} api;

static struct tc_wasi guest;

static void load_library(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        tc_wasm_fail(path, "%s", dlerror());
#define GET(type, name, arguments)                             \
    *(void **)(&api.name) = dlsym(library, "WasmEdge_" #name); \
    if (!api.name)                                             \
        tc_wasm_fail(path, "it has no WasmEdge_" #name ": not WasmEdge " TC_WASM_EDGE_VERSION);
    EDGE_API(GET)
#undef GET
    const char *version = api.VersionGet();
    if (strcmp(version, TC_WASM_EDGE_VERSION) != 0)
        tc_wasm_fail(path, "it is WasmEdge %s, not " TC_WASM_EDGE_VERSION, version);
    api.LogOff();
}

static struct edge_string text_of(const char *text)
{
    return (struct edge_string){.length = (uint32_t)strlen(text), .text = text};
}

/* ---- system calls of the guest ---- */

/* Finds the module's memory, which moves when it grows. False: the module has none. */
static bool find_memory(const struct edge_frame *frame)
{
    struct edge_memory *memory = api.CallingFrameGetMemoryInstance(frame, 0);
    if (!memory)
        return false;
    guest.size = (size_t)api.MemoryInstanceGetPageSize(memory) * PAGE;
    guest.memory = guest.size ? api.MemoryInstanceGetPointer(memory, 0, 1) : NULL;
    return !guest.size || guest.memory;
}

/* WasmEdge calls this function when the module calls a WASI function. call->types has a letter for
 * each argument; a leading 'x' means that the function returns nothing. */
static struct edge_result serve_function(void *data, const struct edge_frame *frame,
                                         const struct edge_value *values,
                                         struct edge_value *answers)
{
    const struct tc_wasi_call *call = data;
    const char *types = call->types + (call->types[0] == 'x');
    uint64_t arguments[TC_WASI_ARGUMENTS] = {0};
    if (!find_memory(frame))
        return (struct edge_result){EDGE_FAILED};
    for (size_t i = 0; types[i]; i++)
        arguments[i] = types[i] == 'i' ? (uint32_t)values[i].value : (uint64_t)values[i].value;
    uint32_t answer = call->run(&guest, arguments);
    if (guest.exited)
        return (struct edge_result){EDGE_ENDED};
    if (types == call->types)
        answers[0] = (struct edge_value){.value = answer, .type = api.ValTypeGenI32()};
    return (struct edge_result){EDGE_FINE};
}

/* Adds a WASI function to the module that the tool's module imports. */
static void define(struct edge_module *module, const struct tc_wasi_call *call)
{
    bool silent = call->types[0] == 'x';
    const char *types = call->types + silent;
    struct edge_type arguments[TC_WASI_ARGUMENTS], answer = api.ValTypeGenI32();
    uint32_t count = (uint32_t)strlen(types);
    for (uint32_t i = 0; i < count; i++)
        arguments[i] = types[i] == 'i' ? api.ValTypeGenI32() : api.ValTypeGenI64();
    struct edge_function_type *type =
        api.FunctionTypeCreate(arguments, count, &answer, silent ? 0 : 1);
    struct edge_function *function =
        api.FunctionInstanceCreate(type, serve_function, (void *)(uintptr_t)call, 0);
    if (!function)
        tc_wasm_fail(call->name, "out of memory");
    api.ModuleInstanceAddFunction(module, text_of(call->name), function);
    api.FunctionTypeDelete(type);
}

/* ---- the call ---- */

/* Forces the interpreter: a module file may have a section with machine code, which the interpreter
 * ignores. */
static struct edge_config *configure(const struct tc_wasm_order *order)
{
    struct edge_config *config = api.ConfigureCreate();
    int64_t pages = order->memory / PAGE;
    if (!config)
        tc_wasm_fail(order->engine, "it does not start: out of memory");
    api.ConfigureSetForceInterpreter(config, true);
    if (order->memory && pages < PAGES_MOST)
        api.ConfigureSetMaxMemoryPage(config, (uint32_t)pages);
    return config;
}

static const char *said(struct edge_result result)
{
    return api.ResultGetMessage(result);
}

/* Reads, parses and validates the module. */
static struct edge_ast *read_module(const struct edge_config *config,
                                    const struct tc_wasm_order *order)
{
    _autofree_ char *bytes = NULL;
    size_t size;
    struct edge_ast *module = NULL;
    if (tc_wasm_is_component(order->module))
        tc_wasm_fail(order->module, "it is a component (WASI preview 2), which only backend = "
                                    "\"wasm\" runs: build it for the target "
                                    "wasm32-wasip1");
    tc_wasm_read(order->module, order->digest, &bytes, &size);
    struct edge_result r = api.LoaderParseFromBuffer(api.LoaderCreate(config), &module,
                                                     (const uint8_t *)bytes, (uint32_t)size);
    if (r.code == EDGE_FINE)
        r = api.ValidatorValidate(api.ValidatorCreate(config), module);
    if (r.code != EDGE_FINE)
        tc_wasm_fail(order->module, "not a module that can be run: %s", said(r));
    return module;
}

/* Fails with the name of an import that does not exist: WasmEdge would not name it. */
static void check_imports(const struct edge_ast *module, const char *name)
{
    uint32_t count = api.ASTModuleListImportsLength(module);
    const struct edge_import **imports = calloc((size_t)count + 1, sizeof(struct edge_import *));
    if (!imports)
        tc_wasm_fail(name, "out of memory");
    (void)api.ASTModuleListImports(module, imports, count);
    for (uint32_t i = 0; i < count; i++) {
        struct edge_string from = api.ImportTypeGetModuleName(imports[i]);
        struct edge_string what = api.ImportTypeGetExternalName(imports[i]);
        _autofree_ char *function = strndup(what.text, what.length);
        if (!function)
            tc_wasm_fail(name, "out of memory");
        if (from.length != strlen(TC_WASI_MODULE) ||
            memcmp(from.text, TC_WASI_MODULE, from.length) != 0 || !tc_wasi_find(function))
            tc_wasm_fail(name, "unknown import: `%.*s::%s` has not been defined", (int)from.length,
                         from.text, function);
    }
    free(imports);
}

/* The exit code of a module that has ended. */
static int ended_edge(struct edge_result result)
{
    if (guest.exited)
        return tc_wasm_exit_code(&guest);
    if (result.code == EDGE_FINE)
        return 0;
    (void)fprintf(stderr, "toolcage-wasm: the module was stopped: %s\n", said(result));
    return TC_WASM_TRAPPED;
}

static int start_edge(const struct edge_config *config, const struct edge_ast *ast,
                      const char *name)
{
    struct edge_executor *executor = api.ExecutorCreate(config, NULL);
    struct edge_store *store = api.StoreCreate();
    struct edge_module *system = api.ModuleInstanceCreate(text_of(TC_WASI_MODULE)), *module = NULL;
    if (!executor || !store || !system)
        tc_wasm_fail(name, "out of memory");
    check_imports(ast, name);
    for (size_t i = 0; i < tc_wasi_call_count; i++)
        define(system, &tc_wasi_calls[i]);
    struct edge_result r = api.ExecutorRegisterImport(executor, store, system);
    if (r.code == EDGE_FINE)
        r = api.ExecutorInstantiate(executor, &module, store, ast);
    if (r.code != EDGE_FINE && !guest.exited)
        tc_wasm_fail(name, "%s", said(r));
    if (guest.exited)
        return ended_edge(r);
    struct edge_function *entry = api.ModuleInstanceFindFunction(module, text_of("_start"));
    if (!entry)
        tc_wasm_fail(name, "it exports no _start: it is not a program");
    return ended_edge(api.ExecutorInvoke(executor, entry, NULL, 0, NULL, 0));
}

int tc_wasm_run_edge(struct tc_wasm_order *order)
{
    load_library(order->engine);
    tc_wasm_prepare(order, &guest);
    const struct edge_config *config = configure(order);
    const struct edge_ast *module = read_module(config, order);
    int code = start_edge(config, module, order->args.count ? order->args.items[0] : order->module);
    /* exits without freeing: the kernel does that faster */
    (void)fflush(stderr);
    _exit(code);
}
