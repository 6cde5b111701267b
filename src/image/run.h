/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Programs of others as children: from the system's directories, with an environment that is made
 * here, and a time after which they are ended. */
#ifndef TC_IMAGE_RUN_H
#define TC_IMAGE_RUN_H

#include <sys/types.h>

#include "base/buf.h"
#include "base/error.h"

struct tc_run {
    const char *const *argv; /* the name first; it is looked for */
    /* Of those that argv[0] starts, a shell, the one that it is about first; looked for as well,
     * and each in a variable: APT_GET for apt-get. NULL: argv[0] starts what it likes. */
    const char *const *programs;
    const char *const *env; /* NAME=VALUE beside what is always there; NULL: none */
    int seconds;
    const char *hint;      /* where it is not installed */
    const char *failed;    /* where it ended with an error; NULL: that what it said is above */
    struct tc_buf *output; /* gets standard output; NULL: that goes where errors go */
    bool mounts;           /* it mounts: seen by nobody else, and gone when it is */
    /* What it makes below a directory, by name; NULL: anything. It ends when that takes more. */
    int place;
    const char *made;
    int64_t room;      /* bytes */
    const char *large; /* the hint then */
};

/* 0 when it ended with 0. What it says on standard error is shown. */
int tc_run(const struct tc_run *run, struct toolcage_error **err);

/* A process of its own around a program of others: it outlives who started it for as long as it
 * takes to end that program, with all that the program started. */

/* In a new process, the child of `parent`: starts the program by become(), which does not return,
 * and ends as the program does. SIGTERM, SIGINT and SIGHUP, and the end of `parent`, end the
 * program: by SIGTERM, so that it can clean up; 10 s later all that is left, by SIGKILL. */
_Noreturn void tc_subreaper_run(pid_t parent, void (*become)(const void *ud), const void *ud);

#endif
