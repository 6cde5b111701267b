/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The PATH of a cage. A cage shows every directory of the caller's PATH that lies in a system
 * directory, but its fixed PATH lacks those such as /usr/local/go/bin and /usr/games. */
#ifndef TC_CALL_HOST_SEARCH_PATH_H
#define TC_CALL_HOST_SEARCH_PATH_H

#include "policy/grant.h"
#include "provenance/provenance.h"

/* Is it in a directory that every cage shows? */
bool tc_program_is_shown(const char *path);

/* Puts these directories first in the grant's PATH. False: out of memory. */
bool tc_search_path_begin(struct tc_grant *grant, const struct tc_strv *directories);

/* Adds those directories of the caller's PATH that every cage shows, unless a tool may have
 * written them. Their order relative to the fixed directories is the caller's. A PATH that the
 * policy or the call sets stays as it is. False: out of memory. */
bool tc_search_path_follow(struct tc_grant *grant, const char *callers,
                           struct tc_provenance *writers);

#endif
