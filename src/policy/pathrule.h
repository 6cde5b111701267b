/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What may be granted as a path at all, in a policy or by a flag. Text only. */
#ifndef TC_POLICY_PATHRULE_H
#define TC_POLICY_PATHRULE_H

#include "policy/grant.h"
#include "policy/parse/values.h"

#define TC_WORKSPACE "/workspace"

/* Is the text usable as a path: not empty, no pattern, no control character? */
bool tc_path_text_fine(const char *text, struct tc_complaint *c);
/* Absolute and clean: "~/" from home (may be NULL), relative ones from dir. 0, TOOLCAGE_EPOLICY
 * after filling the complaint, or TOOLCAGE_EMEMORY. */
int tc_path_expand(const char *text, const char *dir, const char *home, char **ret,
                   struct tc_complaint *c);
/* May `path` (in the cage) be granted with this access from the host's `from` (NULL: /workspace of
 * the call)? Both clean and absolute. */
bool tc_path_grantable(const char *path, const char *from, enum tc_access access,
                       struct tc_complaint *c);

/* `path`, which lies in the directory `dir`, seen as in the directory `to`; owned. */
char *tc_path_move(const char *dir, const char *to, const char *path);

#endif
