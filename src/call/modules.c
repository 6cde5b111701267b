/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "call/modules.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "base/root.h"
#include "call/host/facts.h"
#include "policy/backends.h"
#include "policy/parse/catalog.h"
#include "spawn/own.h"
#include "state/places.h"
#include "wasm/version.h"

#define WORKER "toolcage-wasm"

bool tc_modules_run(const char *backend)
{
    const struct tc_backend *row = tc_backend_find(backend);
    return row && row->kind == TC_BACKEND_MODULE;
}

static bool is_edge(const char *backend)
{
    return tc_streq(backend, "wasmedge");
}

static int fail_engine(const char *path, const char *reason, struct toolcage_error **err)
{
    return tc_fail(
        err,
        TC_WHY(TOOLCAGE_EBACKEND, "engine", path, "toolcage wasm install fetches and checks it"),
        "the WebAssembly engine Wasmtime " TC_WASM_VERSION " %s", reason);
}

/* One file that is there is the one: what is wrong with it is said, and no other is taken. */
static int try_engine(char *path, bool *ret_there, struct toolcage_error **err)
{
    struct stat st;
    *ret_there = path && stat(path, &st) == 0;
    if (!path)
        return tc_fail_memory(err);
    const char *reason = *ret_there ? tc_program_unsafe(&st) : NULL;
    return reason ? fail_engine(path, reason, err) : 0;
}

/* Beside the program that loads it, as a package brings it, or in the user's own state. */
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

int tc_modules_engine(const char *backend, char **ret, struct toolcage_error **err)
{
    _autofree_ char *worker = NULL;
    _autofd_ int lock = -1;
    int r = tc_own_program(WORKER, &worker, err);
    if (r < 0)
        return r;
    return is_edge(backend) ? tc_modules_edge(ret, &lock, err) : find_engine(worker, ret, err);
}

static int fail_catalog(const char *path, const char *reason, struct toolcage_error **err)
{
    return tc_fail(err,
                   TC_WHY(TOOLCAGE_EBACKEND, "module", path,
                          "build toolcage where clang, lld and wasi-libc are, or install it from a "
                          "package that has its catalog"),
                   "the catalog's module %s", reason);
}

/* Beside the program that runs it, and trusted as that is. */
static int find_built(const struct tc_profile *row, char **ret, struct toolcage_error **err)
{
    struct stat st;
    _autofree_ char *worker = NULL;
    int r = tc_own_program(WORKER, &worker, err);
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

/* Where the policy names none, the command's first word does, as a shell would take it. */
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

/* Takes what was found over into the grant. */
static bool use_code(struct tc_grant *grant, const char *dir, const char *module)
{
    struct tc_code code = {0};
    if (!tc_code_find(dir, module, grant->deterministic, &code))
        return false;
    grant->module_code = code.path;
    grant->module_code_digest = code.digest;
    grant->module_code_mark = code.mark;
    return true;
}

/* What it was compiled to before, if that can be relied on; then it is that module or none, also
 * where the file changes meanwhile. */
static int find_code_of_file(struct tc_grant *grant, const char *dir, struct toolcage_error **err)
{
    char digest[TC_DIGEST_SIZE];
    if (grant->module_work || !dir || !tc_module_digest(grant->module, digest) ||
        (grant->module_digest && strcmp(grant->module_digest, digest) != 0) ||
        !use_code(grant, dir, digest))
        return 0;
    if (!grant->module_digest)
        grant->module_digest = strdup(digest);
    return grant->module_digest ? 0 : tc_fail_memory(err);
}

/* The digest is known, so nobody reads the module. */
static int find_code_of_fetched(struct tc_grant *grant, const char *dir,
                                const struct tc_fetched *fetched, struct toolcage_error **err)
{
    return dir && use_code(grant, dir, fetched->digest)
               ? 0
               : tc_fetched_uncompiled(fetched, grant->deterministic, err);
}

static int find_code(struct tc_grant *grant, const struct tc_fetched *fetched, const char *state,
                     struct toolcage_error **err)
{
    _autofree_ char *dir = state ? tc_path_join(state, "wasm") : NULL;
    return fetched ? find_code_of_fetched(grant, dir, fetched, err)
                   : find_code_of_file(grant, dir, err);
}

static int settle(struct tc_grant *grant, const struct tc_fetched *fetched,
                  struct toolcage_error **err)
{
    int r = tc_modules_catalog(&grant->module, err);
    return r == 0 && fetched ? tc_fetched_pin(fetched, &grant->module_digest, err) : r;
}

int tc_modules_name(struct tc_grant *grant, struct toolcage_error **err)
{
    int r = name_module(grant, err);
    return r < 0 ? r : settle(grant, tc_fetched_find(grant->module), err);
}

/* By looking at the files themselves. */
static int look(struct tc_grant *grant, const char *backend, const char *state, int *ret_lock,
                struct toolcage_error **err)
{
    const struct tc_fetched *fetched = tc_fetched_find(grant->module);
    int r = settle(grant, fetched, err);
    if (r == 0)
        r = tc_own_program(WORKER, &grant->module_worker, err);
    if (r < 0)
        return r;
    if (is_edge(backend))
        return tc_modules_edge(&grant->module_engine, ret_lock, err);
    r = find_engine(grant->module_worker, &grant->module_engine, err);
    return r < 0 ? r : find_code(grant, fetched, state, err);
}

int tc_modules_find(struct tc_modules_known *known, struct tc_grant *grant, const char *backend,
                    int *ret_lock, struct toolcage_error **err)
{
    _autofree_ char *state = NULL, *module = NULL, *pin = NULL;
    int r = name_module(grant, err);
    if (r < 0)
        return r;
    bool memory = tc_state_directory(&state) && (module = strdup(grant->module)) &&
                  (!grant->module_digest || (pin = strdup(grant->module_digest)));
    if (!memory)
        return tc_fail_memory(err);
    const struct tc_module_question asked = {
        .module = module, .pin = pin, .state = state, .deterministic = grant->deterministic};
    bool kept = state && !grant->module_work && !is_edge(backend);
    if (kept && tc_modules_recall(known, &asked, grant))
        return 0;
    r = look(grant, backend, state, ret_lock, err);
    if (r == 0 && kept && grant->module_code)
        tc_modules_remember(known, &asked, grant);
    return r;
}
