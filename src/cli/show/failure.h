/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A failure before there was a result: the library's error, or the command line's in the same
 * shape. It is reported once, as text or as the line of JSON for --json. */
#ifndef TC_CLI_SHOW_FAILURE_H
#define TC_CLI_SHOW_FAILURE_H

#include "cli/show/opts.h"

struct tc_failure {
    struct toolcage_error *error; /* the library's; NULL: the command line's */
    int code;                     /* the command line's: TOOLCAGE_E… */
    char *message, *hint, *subject;
};

static inline struct toolcage_error **tc_failure_error(struct tc_failure *failure)
{
    return &failure->error;
}

/* Fills it and returns -1. The hint is copied; NULL: none. */
int tc_failure_set(struct tc_failure *failure, int code, const char *hint, const char *fmt, ...)
    TC_PRINTF(4, 5);
/* Returns rc itself if it is no failure or the library reported an error; else sets the failure
 * from rc and errno and returns -1. */
int tc_failure_of_pipes(struct tc_failure *failure, int rc);
/* Sets the subject (copied). Returns -1. */
int tc_failure_about(struct tc_failure *failure, const char *subject);
void tc_failure_done(struct tc_failure *failure);

/* Reports the failure (with --json on standard output, as the result of a call that never ran) and
 * returns the exit code. */
int tc_failure_tell(const struct tc_failure *failure, const struct tc_args *args, const char *tool);

#define _autofailure_ __attribute__((cleanup(tc_failure_done)))

#endif
