/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A command of a session's shell: `sh -c TEXT` with the state that the last such command left. The
 * script around TEXT reads the state from a descriptor before, and appends the new one to it at the
 * exit of the shell (inside/shell_state.h). The state is shell text: only shells of the same cage
 * evaluate it. */
#ifndef TC_LIVE_SHELL_H
#define TC_LIVE_SHELL_H

#include "base/arena.h"
#include "plan/plan.h"

/* The arguments that run plan's `sh -c TEXT` in that way; NULL: out of memory. */
const char *const *tc_live_shell_argv(const struct tc_plan *plan, struct tc_arena *arena);

#endif
