/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "state/places.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/path.h"

/* A value that is not an absolute path counts as unset: a relative home would change with the
 * working directory. False must not look like an unset home, or its masks would be missing. */
bool tc_variable_path(const char *name, char **ret)
{
    const char *value = getenv(name);
    if (!value || value[0] != '/')
        return true;
    *ret = tc_path_absolute("/", value);
    return *ret != NULL;
}

/* The command line uses the same rule. */
bool tc_own_directory(const char *variable, const char *home, const char *below, char **ret)
{
    _autofree_ char *base = NULL;
    if (!tc_variable_path(variable, &base))
        return false;
    if (!base && !home)
        return true;
    *ret = base ? tc_path_join(base, "toolcage") : tc_path_join(home, below);
    return *ret != NULL;
}

bool tc_state_directory(char **ret)
{
    _autofree_ char *home = NULL;
    return tc_variable_path("HOME", &home) &&
           tc_own_directory("XDG_STATE_HOME", home, ".local/state/toolcage", ret);
}
