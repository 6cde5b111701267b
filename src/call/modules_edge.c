/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * WasmEdge comes as Debian's newer suites have it, with a C library that is newer than most
 * machines': an image of the store holds both, and the module's cage gets their directory. */
#include <string.h>
#include <unistd.h>

#include "base/path.h"
#include "call/modules.h"
#include "image/index.h"
#include "wasm/version.h"

static int fail(const char *subject, const char *reason, struct toolcage_error **err)
{
    return tc_fail(err, TC_WHY(TOOLCAGE_EBACKEND, "engine", subject, TC_WASM_EDGE_BUILD),
                   "the WebAssembly engine WasmEdge " TC_WASM_EDGE_VERSION " %s", reason);
}

/* The worker checks the version, once it has loaded it. */
static int look(const char *root, char **ret, struct toolcage_error **err)
{
    _autofree_ char *library = tc_format("%s/" TC_WASM_EDGE_PLACE "/" TC_WASM_EDGE_LIBRARY, root);
    if (!library)
        return tc_fail_memory(err);
    if (access(library, R_OK) < 0)
        return fail(library, "is not in the image " TC_WASM_EDGE_IMAGE, err);
    *ret = tc_path_join(root, TC_WASM_EDGE_PLACE);
    return *ret ? 0 : tc_fail_memory(err);
}

int tc_modules_edge(char **ret, int *ret_lock, struct toolcage_error **err)
{
    _autoerror_ struct toolcage_error *why = NULL;
    _autofree_ char *root = NULL;
    struct tc_image_ref ref;
    if (tc_image_ref_parse(TC_WASM_EDGE_IMAGE, &ref))
        return fail(TC_WASM_EDGE_IMAGE, "has no image", err);
    int r = tc_image_use(&ref, &root, ret_lock, &why);
    if (r == TOOLCAGE_ENOT_FOUND)
        return fail(TC_WASM_EDGE_LIBRARY, "is not installed", err);
    return r < 0 ? fail(TC_WASM_EDGE_IMAGE, tc_error_message(why), err) : look(root, ret, err);
}
