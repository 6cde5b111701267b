/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Reports a result, on standard error unless JSON was requested. */
#ifndef TC_CLI_SHOW_REPORT_H
#define TC_CLI_SHOW_REPORT_H

#include "cli/call/setup.h"

/* Prints why the call ended, its denials, truncated output and changes that were not applied.
 * `args`: the command line, and `found`: the policy, for the hints. */
void tc_report(const struct toolcage_result *result, const struct tc_args *args,
               const struct tc_found *found);
/* Prints the result's notice about earlier calls. */
void tc_report_notice(const struct toolcage_result *result);
/* Prints the line of JSON on standard output; 0 or the exit code. */
int tc_report_json(const struct toolcage_result *result);
void tc_report_timings(const struct toolcage_result *result, const struct tc_setup *setup);

#endif
