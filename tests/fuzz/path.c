/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Reaches src/base/path.c. Input: a base and a path, a NUL between them. The base is made clean
 * first; then whatever the path says, the result must be clean, absolute and stable. */
#include "fuzz.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/strv.h"

static void must_be_clean(const char *path)
{
    INVARIANT(path[0] == '/');
    INVARIANT(!strstr(path, "//") && !strstr(path, "/./") && !strstr(path, "/../"));
    INVARIANT(path[1] == '\0' || !tc_endswith(path, "/"));
    INVARIANT(!tc_endswith(path, "/.") && !tc_endswith(path, "/.."));
}

static void check_parts(const char *path)
{
    _autofree_ char *parent = tc_path_parent(path);
    INVARIANT(parent);
    must_be_clean(parent);
    INVARIANT(tc_path_within(parent, path));
    if (tc_streq(path, "/")) {
        INVARIANT(tc_path_depth(path) == 0);
        return;
    }
    _autofree_ char *again = tc_path_join(parent, tc_path_base(path));
    INVARIANT(tc_streq(again, path));
    INVARIANT(tc_path_depth(parent) + 1 == tc_path_depth(path));
    INVARIANT(!tc_path_within(path, parent));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _autofree_ char *text = strndup((const char *)data, size);
    size_t used = strlen(text) + 1;
    _autofree_ char *rest =
        used < size ? strndup((const char *)data + used, size - used) : strdup("");
    _autofree_ char *base = tc_path_absolute("/", text);
    INVARIANT(base);
    must_be_clean(base);
    _autofree_ char *path = tc_path_absolute(base, rest);
    INVARIANT(path);
    must_be_clean(path);
    _autofree_ char *same = tc_path_absolute("/elsewhere", path);
    INVARIANT(tc_streq(same, path));
    INVARIANT(tc_path_within(path, path) && tc_path_within("/", path));
    check_parts(path);
    return 0;
}
