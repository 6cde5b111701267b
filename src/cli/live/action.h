/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The arguments of a file action between the command line and the session's owner: ACTION PATH
 * MODE-OR-LIMIT FLAGS. */
#ifndef TC_CLI_LIVE_ACTION_H
#define TC_CLI_LIVE_ACTION_H

#include <stddef.h>

#include "cli/show/opts.h"

enum { TC_ACTION_WORDS = 4 };

/* The owner's side: makes the call this action. *ret_stream is unchanged if it has no stream. */
int tc_action_set(struct toolcage_call *call, char *const *words, size_t count, int *ret_stream,
                  struct toolcage_error **err);

#endif
