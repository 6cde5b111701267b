/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Which call a person viewed last. A command that acts on the last call must not act on one that
 * ended after the view. The id is enough: staged changes and denials of a call do not grow after
 * its end. */
#ifndef TC_CLI_CALL_VIEWED_H
#define TC_CLI_CALL_VIEWED_H

#include "cli/show/failure.h"

/* `what`: "changes" or "denials". Where the id cannot be stored, nothing counts as viewed. */
void tc_viewed_keep(const char *what, const char *call);
/* 0 if those of this call were viewed last; else -1 with the failure, which names both calls and
 * how to view them. */
int tc_viewed_check(const char *what, const char *call, struct tc_failure *failure);

#endif
