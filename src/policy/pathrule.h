/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The rules for paths that a policy or a flag may grant. Works on text only. */
#ifndef TC_POLICY_PATHRULE_H
#define TC_POLICY_PATHRULE_H

#include "policy/grant.h"
#include "policy/parse/values.h"

#define TC_WORKSPACE "/workspace"

/* Is the text valid as a path: not empty, no pattern, no control character? */
bool tc_path_text_fine(const char *text, struct tc_complaint *c);
/* Makes it absolute and clean: "~/" from home (may be NULL), relative paths from dir. 0,
 * TOOLCAGE_EPOLICY after filling the complaint, or TOOLCAGE_EMEMORY. */
int tc_path_expand(const char *text, const char *dir, const char *home, char **ret,
                   struct tc_complaint *c);
/* May `path` (in the cage) be granted with this access from `from` (on the host; NULL: below the
 * call's /workspace)? Both clean and absolute. */
bool tc_path_grantable(const char *path, const char *from, enum tc_access access,
                       struct tc_complaint *c);

/* `path`, which is in the directory `dir`, moved to the directory `to`; owned. */
char *tc_path_move(const char *dir, const char *to, const char *path);

#endif
