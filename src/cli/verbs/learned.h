/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#ifndef TC_CLI_VERBS_LEARNED_H
#define TC_CLI_VERBS_LEARNED_H

#include "cli/show/opts.h"

/* Prints the minimal policy for what recorded calls used. Returns the exit code. */
int tc_learn_from_audit(const struct tc_args *args);

#endif
