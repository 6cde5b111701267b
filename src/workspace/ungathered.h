/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What is said when the changes of a call were not gathered whole. Each records the failure, unless
 * there is one already, and returns -1. */
#ifndef TC_WORKSPACE_UNGATHERED_H
#define TC_WORKSPACE_UNGATHERED_H

#include <stddef.h>

struct tc_outcome;
struct tc_workspace;

/* errno says why, where no place is known that was left out. */
int tc_not_gathered(const struct tc_workspace *w, struct tc_outcome *found);
/* `place` is the first of so many, or NULL. */
int tc_not_brought_back(struct tc_outcome *found, const char *place, int errnum, size_t count);
int tc_not_kept(struct tc_outcome *found);

#endif
