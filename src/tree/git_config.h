/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What a repository's configuration makes git obey beside the places that it knows itself: the
 * directory of its hooks (core.hooksPath), and other files of configuration (include.path). */
#ifndef TC_TREE_GIT_CONFIG_H
#define TC_TREE_GIT_CONFIG_H

#include <stddef.h>

#include "base/strv.h"

/* The values in the text of one file, as they stand there. False: out of memory. */
bool tc_git_config_read(const char *text, size_t length, struct tc_strv *hooks,
                        struct tc_strv *includes);

/* What the repository whose work tree is `top`, a path without links, obeys: clean absolute paths,
 * appended. Of files that cannot be read, nothing is known. False: out of memory. */
bool tc_git_obeys(const char *top, struct tc_strv *paths);

#endif
