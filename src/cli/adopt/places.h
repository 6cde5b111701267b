/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Where agents keep the settings that name their MCP servers. */
#ifndef TC_CLI_ADOPT_PLACES_H
#define TC_CLI_ADOPT_PLACES_H

#include "cli/cli.h"

struct tc_adopt_place {
    const char *agent;
    const char *path;     /* below `base` */
    const char *variable; /* names the directory that `base` is otherwise; NULL: none */
    enum { TC_BASE_HOME, TC_BASE_CONFIG, TC_BASE_PROJECT, TC_BASE_VARIABLE } base;
    const char *below; /* the directory in the base without `variable` */
};

/* NULL after the last. */
const struct tc_adopt_place *tc_adopt_place_at(size_t index);
/* The path of the file, for a project at `project`; owned. NULL: no such directory is known, or out
 * of memory. */
char *tc_adopt_place_path(const struct tc_adopt_place *place, const char *project);
/* Is it the path of a user's settings in the home directory, whatever the variables are? */
bool tc_adopt_place_is_own(const char *home, const char *path);
/* The project whose settings are at this path: their directory, or the one above .cursor and the
 * like; owned. */
char *tc_adopt_place_project(const char *path);

#endif
