/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What went wrong before there was a result: the library's error, or one of ours of the same shape.
 * It is told once, as text or as the line of JSON that --json promises. */
#ifndef TC_CLI_SHOW_FAILURE_H
#define TC_CLI_SHOW_FAILURE_H

#include "cli/show/opts.h"

struct tc_failure {
    struct toolcage_error *error; /* the library's; NULL: ours */
    int code;                     /* ours: TOOLCAGE_E… */
    char *message, *hint, *subject;
};

static inline struct toolcage_error **tc_failure_error(struct tc_failure *failure)
{
    return &failure->error;
}

/* Fills it and returns -1. The hint is copied; NULL: none. */
int tc_failure_set(struct tc_failure *failure, int code, const char *hint, const char *fmt, ...)
    TC_PRINTF(4, 5);
/* What a server between two pipes answered: rc itself when it says why, or was no failure; else
 * fills it from rc and errno and returns -1. */
int tc_failure_of_pipes(struct tc_failure *failure, int rc);
/* Names what it is about (copied). Returns -1. */
int tc_failure_about(struct tc_failure *failure, const char *subject);
void tc_failure_done(struct tc_failure *failure);

/* Tells it (with --json among the options on standard output, as a result that never ran) and
 * returns the exit code. */
int tc_failure_tell(const struct tc_failure *failure, const struct tc_args *args, const char *tool);

#define _autofailure_ __attribute__((cleanup(tc_failure_done)))

#endif
