/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Our own words. They go to standard error (or are what a verb was asked for), and whatever stands
 * in them that a tool, a model or a policy chose is made harmless for a terminal first. */
#ifndef TC_CLI_SAY_H
#define TC_CLI_SAY_H

#include <stdio.h>

#include "cli/cli.h"

/* "toolcage: …", and below it "hint: …". */
void tc_cli_say(const char *fmt, ...) TC_PRINTF(1, 2);
void tc_cli_hint(const char *fmt, ...) TC_PRINTF(1, 2);
/* Text of several lines, as it is, to standard error. */
void tc_cli_stderr(const char *text);
/* Says it and returns TC_EXIT_FAILURE. */
int tc_cli_no_memory(void);

/* An error of the library: a policy's whole report, else message and hint. */
void tc_cli_error(const struct toolcage_error *err);
/* The exit code that an error stands for when there is no result to ask. */
int tc_cli_error_exit(const struct toolcage_error *err);

/* Everything to standard output; 0, or the exit code after saying why not. */
int tc_cli_print(const char *text, size_t length);
/* The same for text with chosen parts: made harmless, then printed. */
int tc_cli_print_clean(const char *text);

/* A copy in which no control character but newline and tab, no bidirectional override and no byte
 * outside UTF-8 is left: they become \x1b or \u{202e}. NULL without memory. */
char *tc_cli_clean(const char *text);

/* "text" as JSON, for the few lines of it that are ours. */
void tc_cli_json_string(FILE *out, const char *text);

#endif
