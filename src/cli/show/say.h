/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Messages of toolcage. They go to standard error (or are the requested output of a verb). Parts
 * that a tool, a model or a policy chose are escaped for the terminal first. */
#ifndef TC_CLI_SHOW_SAY_H
#define TC_CLI_SHOW_SAY_H

#include <stdio.h>

#include "cli/cli.h"
#include "cli/show/color.h"

/* Print a line that starts with "toolcage: " or "hint: ". */
void tc_cli_say(const char *fmt, ...) TC_PRINTF(1, 2);
/* Can a line be written to standard error without blocking? A client may not read it. */
bool tc_cli_is_heard(void);
void tc_cli_hint(const char *fmt, ...) TC_PRINTF(1, 2);
/* Called when the tool's output ended within a line: the next message then starts a new line. */
void tc_cli_unfinished(void);
/* Prints a question to an open terminal, in the form of other messages. False: the terminal cannot
 * be written. */
bool tc_cli_ask(int terminal, const char *question);
/* Prints the question and returns the first letter of the answer in lower case; 0: no answer. Input
 * from before the question is discarded: it may have been typed for the tool. */
char tc_cli_answer(int terminal, FILE *in, const char *question);
/* Prints text of several lines to standard error. */
void tc_cli_stderr(const char *text);
void tc_cli_stderr_painted(enum tc_paint paint, const char *text);
/* Prints that memory is exhausted, and returns TC_EXIT_FAILURE. */
int tc_cli_no_memory(void);
#define TC_CLI_FREE_MEMORY "free memory on this machine"
#define TC_CLI_OTHER_OUTPUT "make room where the output goes, or send it elsewhere: > FILE"
/* Why standard output cannot be written. */
const char *tc_cli_unwritable(int errnum);

/* Prints a library error: for a policy the whole report, else message and hint. */
void tc_cli_error(const struct toolcage_error *err);
/* The exit code of a verb that failed with this error before it had a result. */
int tc_cli_error_exit(const struct toolcage_error *err);

/* Writes to standard output; 0, or the exit code after printing the reason. */
int tc_cli_print(const char *text, size_t length);
/* The same, followed by a newline. */
int tc_cli_print_line(const char *text);
/* The same for text with untrusted parts, which is escaped first. */
int tc_cli_print_clean(const char *text);
int tc_cli_print_painted(enum tc_paint paint, const char *text);
/* Prints JSON and a newline: the same bytes, except for a terminal, where JSON's escapes are used.
 */
int tc_cli_print_json(const char *json);
/* The same as tc_cli_print_painted() for a stream of open_memstream(), which is closed and freed.
 */
int tc_cli_print_text(enum tc_paint paint, FILE *out, char **text);

/* Writes the words of a text, wrapped to lines of at most `width` and indented by `indent`. The
 * first line starts at the current column, which must be `indent`. */
void tc_cli_wrap(FILE *out, const char *words, int indent, int width);

/* Writes a time (seconds of real time) as local time: 2026-01-31 12:00, or 12:00:00 with `seconds`;
 * "" if the C library cannot. */
enum { TC_CLI_TIME_SIZE = 32 };
void tc_cli_time(char to[TC_CLI_TIME_SIZE], int64_t at, bool seconds);

/* Writes `text` as a JSON string. */
void tc_cli_json_string(FILE *out, const char *text);

#endif
