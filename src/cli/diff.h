/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#ifndef TC_CLI_DIFF_H
#define TC_CLI_DIFF_H

#include <stdio.h>

#include "cli/json.h"

/* Writes what held changes would do to the files of this machine, as a unified diff: `answer` is
 * that of toolcage_engine_changes_json(). Each file is compared by diff(1) in a cage that shows it
 * that file alone. */
void tc_diff_put(FILE *out, struct toolcage_engine *engine, struct tc_slice answer);

#endif
