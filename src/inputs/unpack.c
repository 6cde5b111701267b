/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Private directories in which stored ones are restored, until their user is done with them. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "inputs/reader.h"
#include "inputs/store.h"
#include "state/places.h"
#include "state/store.h"

/* In the cache: unlike the state directory, a cage may show it. */
static int open_place(char **ret_path)
{
    _autofree_ char *home = NULL, *cache = NULL;
    errno = ENOMEM;
    if (!tc_variable_path("HOME", &home) ||
        !tc_own_directory("XDG_CACHE_HOME", home, ".cache/toolcage", &cache))
        return -1;
    errno = ENOENT;
    *ret_path = cache ? tc_path_join(cache, "replays") : NULL;
    return *ret_path && tc_make_directories(*ret_path) == 0 ? tc_store_enter(AT_FDCWD, *ret_path)
                                                            : -1;
}

int tc_stored_unpack(int store, const char *digest, struct tc_unpacked *ret)
{
    _autofree_ char *place = NULL;
    *ret = (struct tc_unpacked){.parent = -1, .own = -1};
    ret->parent = open_place(&place);
    if (ret->parent < 0) {
        errno = ENOTDIR;
        return -1;
    }
    (void)tc_store_sweep(ret->parent, tc_store_is_begun);
    ret->own = tc_store_begin(ret->parent, &ret->name);
    _autofree_ char *own = ret->own < 0 ? NULL : tc_path_join(place, ret->name);
    ret->path = own ? tc_path_join(own, TC_INPUTS_ROOT) : NULL;
    if (!ret->path || (digest && tc_inputs_restore(store, digest, ret->own) < 0))
        return -1;
    return mkdirat(ret->own, TC_INPUTS_ROOT, 0755) == 0 || errno == EEXIST ? 0 : -1;
}

void tc_unpacked_done(struct tc_unpacked *u)
{
    if (u->own >= 0) {
        (void)tc_remove_tree(u->parent, u->name);
        (void)close(u->own);
    }
    if (u->parent >= 0)
        (void)close(u->parent);
    free(u->name);
    free(u->path);
    *u = (struct tc_unpacked){.parent = -1, .own = -1};
}
