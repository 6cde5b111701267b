/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Of containerd's containers: the root, which is a few empty directories, and the file of our
 * program, both by paths, because that is what it takes. */
#ifndef TC_BACKEND_ENGINE_ROOT_H
#define TC_BACKEND_ENGINE_ROOT_H

#include <limits.h>

struct tc_engine_root {
    char directory[PATH_MAX], program[PATH_MAX];
};

/* `program`: a link of /proc to our file. 0, or -1 with errno; ESTALE: that file is no longer where
 * it was opened. */
int tc_engine_root_find(const char *program, struct tc_engine_root *ret);

#endif
