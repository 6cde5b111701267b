/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What is said of a result, on standard error unless JSON was asked for. */
#ifndef TC_CLI_SHOW_REPORT_H
#define TC_CLI_SHOW_REPORT_H

#include "cli/call/setup.h"

/* Why it ended, what was refused, what was cut, what was changed and did not come here. `args`: as
 * it was called, for the hint to a command that does not exist. */
void tc_report(const struct toolcage_result *result, const struct tc_args *args);
/* What is to be said of earlier calls. */
void tc_report_notice(const struct toolcage_result *result);
/* The line of JSON on standard output; 0 or the exit code. */
int tc_report_json(const struct toolcage_result *result);
void tc_report_timings(const struct toolcage_result *result, const struct tc_setup *setup);

#endif
