/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What a guest's first root has beside its first program: a container runtime, crun as this machine
 * has it installed, and what runs WebAssembly modules, toolcage-wasm and its engine. */
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "base/self.h"
#include "guest/guest.h"
#include "image/guest.h"
#include "state/places.h"
#include "wasm/version.h"

int tc_guest_runtime(struct tc_guest_parts *parts, struct toolcage_error **err)
{
    parts->what = "container runtime";
    parts->hint = "apt-get install --reinstall crun";
    if (access(TC_GUEST_RUNTIME, X_OK) < 0)
        return 0;
    int r = tc_guest_linked(parts, TC_GUEST_RUNTIME, TC_GUEST_RUNTIME, err);
    return r < 0 ? r : parts->archive->failed ? tc_fail_memory(err) : 1;
}

/* Where calls look for it, too: beside the program that loads it, or in the user's state. NULL in
 * *ret: it is in neither place. */
static bool find_engine(char **ret)
{
    _autofree_ char *own = tc_self_beside(TC_WASM_LIBRARY), *state = NULL;
    if (!own || !tc_state_directory(&state))
        return false;
    if (access(own, R_OK) == 0) {
        *ret = TAKE(own);
        return true;
    }
    _autofree_ char *kept = state ? tc_path_join(state, "wasm/" TC_WASM_LIBRARY) : NULL;
    if (state && !kept)
        return false;
    if (kept && access(kept, R_OK) == 0)
        *ret = TAKE(kept);
    return true;
}

int tc_guest_engine(struct tc_guest_parts *parts, struct toolcage_error **err)
{
    _autofree_ char *engine = NULL, *worker = tc_self_beside("toolcage-wasm");
    if (!worker || !find_engine(&engine))
        return tc_fail_memory(err);
    if (!engine || access(worker, X_OK) < 0)
        return 0;
    parts->what = "WebAssembly engine";
    parts->hint = "toolcage wasm install fetches and checks it";
    int r = tc_guest_linked(parts, engine, TC_GUEST_ENGINE, err);
    parts->hint = "install toolcage whole";
    if (r == 0)
        r = tc_guest_linked(parts, worker, TC_GUEST_WORKER, err);
    return r < 0 ? r : parts->archive->failed ? tc_fail_memory(err) : 1;
}
