/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Our own words. They go to standard error (or are what a verb was asked for), and whatever stands
 * in them that a tool, a model or a policy chose is made harmless for a terminal first. */
#ifndef TC_CLI_SHOW_SAY_H
#define TC_CLI_SHOW_SAY_H

#include <stdio.h>

#include "cli/cli.h"
#include "cli/show/color.h"

/* "toolcage: …", and below it "hint: …". */
void tc_cli_say(const char *fmt, ...) TC_PRINTF(1, 2);
void tc_cli_hint(const char *fmt, ...) TC_PRINTF(1, 2);
/* The tool's output ended in the middle of a line of the terminal: our next line begins a new one.
 */
void tc_cli_unfinished(void);
/* A question, marked as our lines are, to a terminal that was opened for it. False: it is not
 * there.
 */
bool tc_cli_ask(int terminal, const char *question);
/* The same, and the first letter of the answer in lower case; 0: none. What was typed ahead may be
 * an answer to what a tool asked, and is none to us. */
char tc_cli_answer(int terminal, FILE *in, const char *question);
/* Text of several lines, to standard error. */
void tc_cli_stderr(const char *text);
void tc_cli_stderr_painted(enum tc_paint paint, const char *text);
/* Says it and returns TC_EXIT_FAILURE. */
int tc_cli_no_memory(void);
#define TC_CLI_FREE_MEMORY "free memory on this machine"
#define TC_CLI_OTHER_OUTPUT "make room where the output goes, or send it elsewhere"

/* An error of the library: a policy's whole report, else message and hint. */
void tc_cli_error(const struct toolcage_error *err);
/* The exit code that an error stands for when there is no result to ask. */
int tc_cli_error_exit(const struct toolcage_error *err);

/* Everything to standard output; 0, or the exit code after saying why not. */
int tc_cli_print(const char *text, size_t length);
/* The same for a text that lacks the end of its line. */
int tc_cli_print_line(const char *text);
/* The same for text with chosen parts: made harmless, then printed. */
int tc_cli_print_clean(const char *text);
int tc_cli_print_painted(enum tc_paint paint, const char *text);
/* The same for a stream of open_memstream(), which ends here; its text is freed. */
int tc_cli_print_text(enum tc_paint paint, FILE *out, char **text);

/* Words from the column `indent` on, broken before a line has more than `width`. */
void tc_cli_wrap(FILE *out, const char *words, int indent, int width);

/* "text" as JSON, for the few lines of it that are ours. */
void tc_cli_json_string(FILE *out, const char *text);

#endif
