/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * WebAssembly on this host: the module of a call, the program that runs it, and its engine. */
#include "backend/wasm/modules.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/registry.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/process.h"
#include "image/index.h"
#include "policy/parse/catalog.h"
#include "policy/settings.h"
#include "spawn/own.h"
#include "state/places.h"
#include "wasm/version.h"

#define WORKER "toolcage-wasm"

static bool is_edge(const struct tc_locator *locator)
{
    return locator == &tc_wasmedge_locator;
}

/* ---- the engine ---- */

static int fail_engine(const char *path, const char *reason, struct toolcage_error **err)
{
    return tc_fail(
        err,
        TC_WHY(TOOLCAGE_EBACKEND, "engine", path, "toolcage wasm install fetches and checks it"),
        "the WebAssembly engine Wasmtime " TC_WASM_VERSION " %s", reason);
}

/* Is the engine at this path? If it is there but unsafe, fails: no other path is tried then. */
static int try_engine(char *path, bool *ret_there, struct toolcage_error **err)
{
    struct stat st;
    *ret_there = path && stat(path, &st) == 0;
    if (!path)
        return tc_fail_memory(err);
    const char *reason = *ret_there ? tc_program_unsafe(&st) : NULL;
    return reason ? fail_engine(path, reason, err) : 0;
}

/* Looks for the engine next to `worker`, the program that loads it (packages install it there),
 * then in the user's state directory. */
static int find_engine(const char *worker, char **ret, struct toolcage_error **err)
{
    _autofree_ char *state = NULL, *dir = tc_path_parent(worker);
    if (!dir || !tc_state_directory(&state))
        return tc_fail_memory(err);
    char *places[] = {tc_path_join(dir, TC_WASM_LIBRARY),
                      state ? tc_path_join(state, "wasm/" TC_WASM_LIBRARY) : NULL};
    int r = 0;
    for (size_t i = 0; i < TC_COUNT(places) && r == 0 && !*ret && (i == 0 || state); i++) {
        bool there;
        r = try_engine(places[i], &there, err);
        if (r == 0 && there)
            *ret = TAKE(places[i]);
    }
    for (size_t i = 0; i < TC_COUNT(places); i++)
        free(places[i]);
    return r < 0 || *ret ? r : fail_engine(TC_WASM_LIBRARY, "is not installed", err);
}

/* WasmEdge is taken from an image in the image store, not from the host: only newer Debian suites
 * have a package of it, and it needs a newer C library than most hosts have. The image contains
 * both. */
static int fail_edge(const char *subject, const char *reason, struct toolcage_error **err)
{
    return tc_fail(err, TC_WHY(TOOLCAGE_EBACKEND, "engine", subject, TC_WASM_EDGE_BUILD),
                   "the WebAssembly engine WasmEdge " TC_WASM_EDGE_VERSION " %s", reason);
}

/* The directory in the image that holds the library. toolcage-wasm checks the library's version
 * after loading it. */
static int find_library(const char *root, char **ret, struct toolcage_error **err)
{
    _autofree_ char *library = tc_format("%s/" TC_WASM_EDGE_PLACE "/" TC_WASM_EDGE_LIBRARY, root);
    if (!library)
        return tc_fail_memory(err);
    if (access(library, R_OK) < 0)
        return fail_edge(library, "is not in the image " TC_WASM_EDGE_IMAGE, err);
    *ret = tc_path_join(root, TC_WASM_EDGE_PLACE);
    return *ret ? 0 : tc_fail_memory(err);
}

/* Looks for WasmEdge in the image store. *ret_lock keeps the image from being removed; the caller
 * closes it, also on failure. */
static int find_edge(char **ret, int *ret_lock, struct toolcage_error **err)
{
    _autoerror_ struct toolcage_error *why = NULL;
    _autofree_ char *root = NULL;
    struct tc_image_ref ref;
    if (tc_image_ref_parse(TC_WASM_EDGE_IMAGE, &ref))
        return fail_edge(TC_WASM_EDGE_IMAGE, "has no image", err);
    int r = tc_image_use(&ref, &root, ret_lock, &why);
    if (r == TOOLCAGE_ENOT_FOUND)
        return fail_edge(TC_WASM_EDGE_LIBRARY, "is not installed", err);
    return r < 0 ? fail_edge(TC_WASM_EDGE_IMAGE, tc_error_message(why), err)
                 : find_library(root, ret, err);
}

/* The paths of toolcage-wasm and of the engine, both owned. *lock, if set, is closed by the caller,
 * also on failure. */
static int find_program(const struct tc_locator *locator, int *lock, char **ret_worker,
                        char **ret_engine, struct toolcage_error **err)
{
    int r = tc_spawn_own_program(WORKER, ret_worker, err);
    if (r < 0)
        return r;
    return is_edge(locator) ? find_edge(ret_engine, lock, err)
                            : find_engine(*ret_worker, ret_engine, err);
}

static int tell_runtime(const struct tc_locator *locator, struct tc_search *search, char **ret_how,
                        struct toolcage_error **err)
{
    _autofd_ int lock = -1;
    _autofree_ char *worker = NULL;
    (void)search;
    return find_program(locator, &lock, &worker, ret_how, err);
}

static int look_for_runtime(const struct tc_locator *locator, struct tc_search *search,
                            const struct tc_grant *grant, struct toolcage_error **err)
{
    _autofree_ char *how = NULL;
    (void)grant;
    return tell_runtime(locator, search, &how, err);
}

/* ---- the module ---- */

static int fail_catalog(const char *path, const char *reason, struct toolcage_error **err)
{
    return tc_fail(err,
                   TC_WHY(TOOLCAGE_EBACKEND, "module", path,
                          "build toolcage where clang, lld and wasi-libc are, or install it from a "
                          "package that has its catalog"),
                   "the catalog's module %s", reason);
}

/* The catalog's module, installed next to toolcage-wasm and checked like a program. */
static int find_built(const struct tc_profile *row, char **ret, struct toolcage_error **err)
{
    struct stat st;
    _autofree_ char *worker = NULL;
    int r = tc_spawn_own_program(WORKER, &worker, err);
    if (r < 0)
        return r;
    _autofree_ char *dir = tc_path_parent(worker);
    _autofree_ char *file = dir ? tc_format("%s/catalog/%s.wasm", dir, row->name) : NULL;
    if (!file)
        return tc_fail_memory(err);
    if (stat(file, &st) < 0)
        return fail_catalog(file, "is not here", err);
    const char *reason = tc_program_unsafe(&st);
    if (reason)
        return fail_catalog(file, reason, err);
    *ret = TAKE(file);
    return 0;
}

int tc_modules_catalog(char **path, struct toolcage_error **err)
{
    if (!tc_startswith(*path, TC_CATALOG))
        return 0;
    const struct tc_profile *row = tc_catalog_find(*path);
    if (!row)
        return fail_catalog(*path, "is not one of this version: toolcage wasm list", err);
    const struct tc_fetched *fetched = tc_fetched_find(*path);
    _autofree_ char *file = NULL;
    int r = fetched ? tc_fetched_use(fetched, &file, err) : find_built(row, &file, err);
    if (r < 0)
        return r;
    free(*path);
    *path = TAKE(file);
    return 0;
}

/* If the policy names no module, the command's first element is the module's path, relative to the
 * caller's working directory. */
static int name_module(struct tc_grant *grant, struct toolcage_error **err)
{
    if (grant->module)
        return 0;
    const char *name = grant->argv.count ? grant->argv.items[0] : "";
    if (!name[0])
        return tc_fail(err,
                       TC_WHY(TOOLCAGE_EUSAGE, "module", "module",
                              "module = \"./tool.wasm\" in the policy, or name the file as the "
                              "command's first element"),
                       "there is no module to run");
    grant->module = tc_path_absolute(grant->caller_cwd ? grant->caller_cwd : "/", name);
    return grant->module ? 0 : tc_fail_memory(err);
}

/* Adds the module's compiled code to the grant, if valid code is stored. Then the grant also gets
 * the module's digest, so that a file that changes afterwards is refused. */
static int find_code_of_file(struct tc_grant *grant, const char *dir, struct toolcage_error **err)
{
    char digest[TC_DIGEST_SIZE];
    if (tc_setting(&grant->located, "work") || !dir || !tc_module_digest(grant->module, digest) ||
        (grant->module_digest && strcmp(grant->module_digest, digest) != 0))
        return 0;
    int r = tc_code_find(dir, digest, grant->deterministic, &grant->located, err);
    if (r > 0 && !grant->module_digest && !(grant->module_digest = strdup(digest)))
        return tc_fail_memory(err);
    return r < 0 ? r : 0;
}

/* The same for a fetched module. Its digest is known, so the file is not read. */
static int find_code_of_fetched(struct tc_grant *grant, const char *dir,
                                const struct tc_fetched *fetched, struct toolcage_error **err)
{
    int r =
        dir ? tc_code_find(dir, fetched->digest, grant->deterministic, &grant->located, err) : 0;
    if (r == 0)
        return tc_fetched_uncompiled(fetched, grant->deterministic, err);
    return r < 0 ? r : 0;
}

static int find_code(struct tc_grant *grant, const struct tc_fetched *fetched, const char *state,
                     struct toolcage_error **err)
{
    _autofree_ char *dir = state ? tc_path_join(state, "wasm") : NULL;
    return fetched ? find_code_of_fetched(grant, dir, fetched, err)
                   : find_code_of_file(grant, dir, err);
}

static int settle_module(struct tc_grant *grant, const struct tc_fetched *fetched,
                         struct toolcage_error **err)
{
    int r = tc_modules_catalog(&grant->module, err);
    return r == 0 && fetched ? tc_fetched_pin(fetched, &grant->module_digest, err) : r;
}

static int find_files(const struct tc_locator *locator, struct tc_grant *grant, const char *state,
                      int *lock, struct toolcage_error **err)
{
    const struct tc_fetched *fetched = tc_fetched_find(grant->module);
    _autofree_ char *worker = NULL, *engine = NULL;
    int r = settle_module(grant, fetched, err);
    if (r == 0)
        r = find_program(locator, lock, &worker, &engine, err);
    if (r == 0 && (!tc_setting_add(&grant->located, "worker", worker) ||
                   !tc_setting_add(&grant->located, "engine", engine)))
        r = tc_fail_memory(err);
    return r < 0 || is_edge(locator) ? r : find_code(grant, fetched, state, err);
}

/* Uses what an earlier call of this engine found for the same module, else looks at the files. */
static int find_all(const struct tc_locator *locator, struct tc_search *search,
                    struct tc_grant *grant, struct toolcage_error **err)
{
    _autofree_ char *state = NULL, *module = NULL, *pin = NULL;
    bool memory = tc_state_directory(&state) && (module = strdup(grant->module)) &&
                  (!grant->module_digest || (pin = strdup(grant->module_digest)));
    if (!memory)
        return tc_fail_memory(err);
    const struct tc_module_question asked = {
        .module = module, .pin = pin, .state = state, .deterministic = grant->deterministic};
    bool kept = state && !search->work && !is_edge(locator);
    if (kept && tc_modules_recall(search->known, &asked, grant))
        return 0;
    int r = find_files(locator, grant, state, search->lock, err);
    if (r == 0 && kept && tc_setting(&grant->located, "code"))
        tc_modules_remember(search->known, &asked, grant);
    return r;
}

int tc_modules_name(struct tc_grant *grant, struct toolcage_error **err)
{
    int r = name_module(grant, err);
    return r < 0 ? r : settle_module(grant, tc_fetched_find(grant->module), err);
}

static int find_runtime(const struct tc_locator *locator, struct tc_search *search,
                        struct tc_grant *grant, struct toolcage_error **err)
{
    if (search->module) {
        free(grant->module);
        grant->module = tc_path_absolute(grant->caller_cwd, search->module);
    }
    if ((search->module && !grant->module) ||
        (search->work && !tc_setting_add(&grant->located, "work", search->work)))
        return tc_fail_memory(err);
    int r = name_module(grant, err);
    return r < 0 ? r : find_all(locator, search, grant, err);
}

const struct tc_locator tc_wasm_locator = {
    .name = "wasm", .find = find_runtime, .look = look_for_runtime, .tell = tell_runtime};
const struct tc_locator tc_wasmedge_locator = {
    .name = "wasmedge", .find = find_runtime, .look = look_for_runtime, .tell = tell_runtime};
