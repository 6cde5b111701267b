/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Runs one call of a component (WASI preview 2) in Wasmtime. A component uses Wasmtime's own
 * implementation of WASI, which opens paths itself. So the call's cage confines these paths, or in
 * a prestarted worker the root and the Landlock ruleset that come with the call. Within them, the
 * component gets only the granted directories. */
#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "wasm/worker.h"

struct component;
struct component_type;
struct component_linker;
struct component_export;
struct component_extern;
struct wasi_config;

struct component_instance {
    uint64_t store;
    uint32_t id;
};
struct component_func {
    struct component_instance of; /* with its padding */
    uint32_t id;
    void *more;
};
enum { COMPONENT_RESULT = 19 };
struct component_value {
    uint8_t kind;
    union {
        bool is_ok; /* for a result */
        uint64_t room[3];
    } of;
};
TC_WASM_SHAPE(struct component_instance, 16);
TC_WASM_SHAPE(struct component_func, 32);
TC_WASM_SHAPE(struct component_value, 32);
_Static_assert(offsetof(struct component_value, of) == 8, "as the engine has it");

/* Returns the bytes written, or a negative errno. */
typedef ptrdiff_t component_write(void *data, const unsigned char *bytes, size_t size);

/* X(return type, name, arguments) */
#define COMPONENT_API(X)                                                                           \
    X(struct wasmtime_error *, wasmtime_component_new,                                             \
      (const struct wasm_engine *, const uint8_t *, size_t, struct component **))                  \
    X(struct wasmtime_error *, wasmtime_component_serialize,                                       \
      (const struct component *, struct wasm_bytes *))                                             \
    X(struct wasmtime_error *, wasmtime_component_deserialize,                                     \
      (struct wasm_engine *, const uint8_t *, size_t, void *))                                     \
    X(struct wasmtime_error *, wasmtime_component_deserialize_file,                                \
      (struct wasm_engine *, const char *, void *))                                                \
    X(struct component_type *, wasmtime_component_type, (const struct component *))                \
    X(size_t, wasmtime_component_type_import_count,                                                \
      (const struct component_type *, const struct wasm_engine *))                                 \
    X(bool, wasmtime_component_type_import_nth,                                                    \
      (const struct component_type *, const struct wasm_engine *, size_t, const char **, size_t *, \
       struct component_extern **))                                                                \
    X(size_t, wasmtime_component_type_export_count,                                                \
      (const struct component_type *, const struct wasm_engine *))                                 \
    X(bool, wasmtime_component_type_export_nth,                                                    \
      (const struct component_type *, const struct wasm_engine *, size_t, const char **, size_t *, \
       struct component_extern **))                                                                \
    X(struct component_linker *, wasmtime_component_linker_new, (const struct wasm_engine *))      \
    X(struct wasmtime_error *, wasmtime_component_linker_add_wasip2, (struct component_linker *))  \
    X(struct wasmtime_error *, wasmtime_component_linker_instantiate,                              \
      (const struct component_linker *, struct wasmtime_context *, const struct component *,       \
       struct component_instance *))                                                               \
    X(struct component_export *, wasmtime_component_instance_get_export_index,                     \
      (const struct component_instance *, struct wasmtime_context *,                               \
       const struct component_export *, const char *, size_t))                                     \
    X(bool, wasmtime_component_instance_get_func,                                                  \
      (const struct component_instance *, struct wasmtime_context *,                               \
       const struct component_export *, struct component_func *))                                  \
    X(struct wasmtime_error *, wasmtime_component_func_call,                                       \
      (const struct component_func *, struct wasmtime_context *, const struct component_value *,   \
       size_t, struct component_value *, size_t))                                                  \
    X(bool, wasmtime_error_exit_status, (const struct wasmtime_error *, int *))                    \
    X(struct wasmtime_error *, wasmtime_context_set_wasi,                                          \
      (struct wasmtime_context *, struct wasi_config *))                                           \
    X(struct wasi_config *, wasi_config_new, (void))                                               \
    X(bool, wasi_config_set_argv, (struct wasi_config *, size_t, const char **))                   \
    X(bool, wasi_config_set_env, (struct wasi_config *, size_t, const char **, const char **))     \
    X(void, wasi_config_inherit_stdin, (struct wasi_config *))                                     \
    X(void, wasi_config_set_stdout_custom,                                                         \
      (struct wasi_config *, component_write *, void *, void (*)(void *)))                         \
    X(void, wasi_config_set_stderr_custom,                                                         \
      (struct wasi_config *, component_write *, void *, void (*)(void *)))                         \
    X(bool, wasi_config_preopen_dir, (struct wasi_config *, const char *, const char *, bool))

static struct {
#define MEMBER(type, name, arguments) type(*name) arguments;
    COMPONENT_API(MEMBER)
#undef MEMBER
} own;
static const struct tc_wasm *api;
static struct wasm_engine *engine;

/* Limits of one call; a component consists of several modules. */
enum { INSTANCES = 64, TABLES = 64, MEMORIES = 8 };

static void load_library(const struct tc_wasm *loaded, const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL); /* already loaded */
    api = loaded;
#define GET(type, name, arguments)                                  \
    *(void **)(&own.name) = library ? dlsym(library, #name) : NULL; \
    if (!own.name)                                                  \
        tc_wasm_fail(path, "it has no " #name ": not Wasmtime " TC_WASM_VERSION);
    COMPONENT_API(GET)
#undef GET
    engine = tc_wasm_engine(api, false, false);
    if (!engine)
        tc_wasm_fail(path, "it does not start: out of memory");
}

static struct component *compile_component(const struct tc_wasm_order *order)
{
    _autofree_ char *bytes = NULL;
    size_t size;
    struct component *component = NULL;
    tc_wasm_read(order->module, order->digest, &bytes, &size);
    struct wasmtime_error *error =
        own.wasmtime_component_new(engine, (const uint8_t *)bytes, size, &component);
    if (error)
        tc_wasm_fail(order->module, "not a component that can be run: %s",
                     tc_wasm_error_text(api, error, NULL));
    return component;
}

static struct component *load_compiled(const struct tc_wasm_order *order)
{
    struct component *component = NULL;
    const struct tc_wasm_loader loader = {own.wasmtime_component_deserialize_file,
                                          own.wasmtime_component_deserialize};
    tc_wasm_load_code(api, engine, order, &loader, &component);
    return component;
}

/* ---- imports ---- */

/* Does Wasmtime provide this interface? It provides sockets, too, but they connect to nothing. */
static bool provided(const char *name, size_t length)
{
    static const char *const rows[] = {"wasi:cli/", "wasi:clocks/", "wasi:filesystem/",
                                       "wasi:io/",  "wasi:random/", "wasi:sockets/"};
    static const char version[] = "@0.2.";
    for (size_t i = 0; i < TC_COUNT(rows); i++)
        if (length > strlen(rows[i]) && memcmp(name, rows[i], strlen(rows[i])) == 0)
            return memmem(name, length, version, strlen(version)) != NULL;
    return false;
}

typedef void import_visit(const char *name, size_t length, bool there);

static void visit_imports(const struct component *component, import_visit *visit)
{
    const struct component_type *type = own.wasmtime_component_type(component);
    size_t count = own.wasmtime_component_type_import_count(type, engine);
    for (size_t i = 0; i < count; i++) {
        const char *name;
        size_t length;
        struct component_extern *what;
        if (own.wasmtime_component_type_import_nth(type, engine, i, &name, &length, &what))
            visit(name, length, provided(name, length));
    }
}

static void refuse_lacking(const char *name, size_t length, bool there)
{
    if (!there)
        tc_wasm_fail("unknown import", "%.*s: toolcage wasm inspect lists the imports", (int)length,
                     name);
}

/* ---- directories and environment ---- */

static void check_error(struct wasmtime_error *error, const char *subject)
{
    if (error)
        tc_wasm_fail(subject, "%s", tc_wasm_error_text(api, error, NULL));
}

/* The path by which Wasmtime opens a directory in this process. A detached root is reached through
 * its fd. Owned. */
static char *place_of(int root, const char *path)
{
    return root < 0 ? strdup(path) : tc_format("/proc/self/fd/%d%s", root, path);
}

static void open_directory(struct wasi_config *config, int root, const char *path, const char *name,
                           bool writable)
{
    struct stat st = {0};
    _autofree_ char *place = place_of(root, path);
    if (!place || (stat(place, &st) < 0 && errno != ENOENT))
        tc_wasm_fail(path, "%s", strerror(errno));
    if (!st.st_mode)
        return;
    if (!S_ISDIR(st.st_mode))
        tc_wasm_fail(
            path,
            "a component can be given only directories, and this is a file: grant its directory");
    if (!own.wasi_config_preopen_dir(config, place, name, writable))
        tc_wasm_fail(path, "it cannot be opened");
}

static void open_directories(struct wasi_config *config, const struct tc_wasm_order *order)
{
    bool writable;
    _autofree_ char *here = tc_wasm_here(order, &writable);
    for (size_t i = 0; i < order->read.count; i++)
        open_directory(config, order->root, order->read.items[i], order->read.items[i], false);
    for (size_t i = 0; i < order->write.count; i++)
        open_directory(config, order->root, order->write.items[i], order->write.items[i], true);
    if (here)
        open_directory(config, order->root, here, ".", writable);
}

static void set_environment(struct wasi_config *config, const struct tc_strv *env)
{
    _autofree_ const char **names = calloc(env->count + 1, sizeof(char *));
    _autofree_ const char **values = calloc(env->count + 1, sizeof(char *));
    for (size_t i = 0; names && values && i < env->count; i++) {
        char *value = strchr(env->items[i], '=');
        names[i] = env->items[i];
        values[i] = value ? value + 1 : "";
        if (value)
            *value = '\0';
    }
    if (!names || !values || !own.wasi_config_set_env(config, env->count, names, values))
        tc_wasm_fail("environment", "it must be UTF-8 for a component");
}

static ptrdiff_t put_bytes(void *data, const unsigned char *bytes, size_t size)
{
    ssize_t n;
    do
        n = write(*(const int *)data, bytes, size);
    while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : n;
}

static struct wasi_config *configure(const struct tc_wasm_order *order)
{
    static int streams[] = {STDOUT_FILENO, STDERR_FILENO};
    struct wasi_config *config = own.wasi_config_new();
    if (!own.wasi_config_set_argv(config, order->args.count, (const char **)order->args.items))
        tc_wasm_fail("arguments", "they must be UTF-8 for a component");
    set_environment(config, &order->env);
    own.wasi_config_inherit_stdin(config);
    own.wasi_config_set_stdout_custom(config, put_bytes, &streams[0], NULL);
    own.wasi_config_set_stderr_custom(config, put_bytes, &streams[1], NULL);
    open_directories(config, order);
    return config;
}

/* ---- the call ---- */

/* The function "run" of the interface that a program exports, in any minor version; NULL: none. */
static struct component_export *find_run(const struct component *component,
                                         const struct component_instance *instance,
                                         struct wasmtime_context *context)
{
    static const char wanted[] = "wasi:cli/run@0.2.";
    const struct component_type *type = own.wasmtime_component_type(component);
    size_t count = own.wasmtime_component_type_export_count(type, engine);
    for (size_t i = 0; i < count; i++) {
        const char *name;
        size_t length;
        struct component_extern *what;
        if (own.wasmtime_component_type_export_nth(type, engine, i, &name, &length, &what) &&
            length >= strlen(wanted) && memcmp(name, wanted, strlen(wanted)) == 0) {
            const struct component_export *found = own.wasmtime_component_instance_get_export_index(
                instance, context, NULL, name, length);
            return found ? own.wasmtime_component_instance_get_export_index(
                               instance, context, found, "run", strlen("run"))
                         : NULL;
        }
    }
    return NULL;
}

static int ended_component(struct wasmtime_error *error, const struct component_value *answer)
{
    int status = 0;
    if (!error)
        return answer->kind != COMPONENT_RESULT || !answer->of.is_ok;
    if (own.wasmtime_error_exit_status(error, &status))
        return status < 0 || status > 255 ? 255 : status;
    (void)fprintf(stderr, "toolcage-wasm: the component was stopped: %s\n",
                  tc_wasm_error_text(api, error, NULL));
    return TC_WASM_TRAPPED;
}

static void refuse_what_it_cannot_have(const struct tc_wasm_order *order, const char *name)
{
    if (order->fuel)
        tc_wasm_fail(name, "it is a component, whose clock and random numbers are the engine's: "
                           "deterministic = true needs a module of preview 1");
    if (order->watched)
        tc_wasm_fail(name, "it is a component, and accesses refused by the engine cannot be "
                           "listed: use denials = \"calls\"");
}

static const char *name_of(const struct tc_wasm_order *order)
{
    return order->args.count ? order->args.items[0] : order->module;
}

static int run_call(const struct component_linker *linker, const struct component *component,
                    const struct tc_wasm_order *order)
{
    const char *name = name_of(order);
    struct component_instance instance;
    struct component_func function;
    struct component_value answer = {0};
    struct wasmtime_store *store = api->wasmtime_store_new(engine, NULL, NULL);
    struct wasmtime_context *context = api->wasmtime_store_context(store);
    api->wasmtime_store_limiter(store, order->memory ? order->memory : -1, TC_WASM_TABLE_ELEMENTS,
                                INSTANCES, TABLES, MEMORIES);
    check_error(own.wasmtime_context_set_wasi(context, configure(order)), name);
    tc_wasm_watch_time(api, engine, store, order->cpu_time);
    check_error(own.wasmtime_component_linker_instantiate(linker, context, component, &instance),
                name);
    const struct component_export *run = find_run(component, &instance, context);
    if (!run || !own.wasmtime_component_instance_get_func(&instance, context, run, &function))
        tc_wasm_fail(name, "it exports no wasi:cli/run: it is not a program");
    return ended_component(
        own.wasmtime_component_func_call(&function, context, NULL, 0, &answer, 1), &answer);
}

/* Steps that are the same for every call come first and must start no thread: the call's Landlock
 * ruleset applies to this thread and later ones. The engine reads ahead on the component's stdin
 * for the whole process, so another call might get some of this call's input: the worker serves one
 * call. */
void tc_wasm_run_component(const struct tc_wasm *loaded, struct tc_wasm_order *order)
{
    refuse_what_it_cannot_have(order, name_of(order));
    load_library(loaded, order->engine);
    const struct component *component =
        order->code ? load_compiled(order) : compile_component(order);
    visit_imports(component, refuse_lacking);
    struct component_linker *linker = own.wasmtime_component_linker_new(engine);
    check_error(own.wasmtime_component_linker_add_wasip2(linker), name_of(order));
    order->only = true;
    tc_wasm_await(order);
    int code = run_call(linker, component, order);
    (void)tc_wasm_answer(order, code);
    (void)fflush(stderr);
    _exit(code);
}

/* ---- compiling ---- */

int tc_wasm_compile_component(const struct tc_wasm *loaded, const struct tc_wasm_order *order)
{
    struct wasm_bytes code = {0};
    refuse_what_it_cannot_have(order, order->module);
    load_library(loaded, order->engine);
    struct wasmtime_error *error =
        own.wasmtime_component_serialize(compile_component(order), &code);
    tc_wasm_print_code(api, order->module, error, &code);
    return 0;
}

/* ---- inspecting ---- */

static int lacking;

static void list_import(const char *name, size_t length, bool there)
{
    lacking |= !there;
    (void)printf("%s %.*s\n", there ? "yes" : "no", (int)length, name);
}

int tc_wasm_inspect_component(const struct tc_wasm *loaded, const struct tc_wasm_order *order)
{
    load_library(loaded, order->engine);
    visit_imports(compile_component(order), list_import);
    return lacking;
}
