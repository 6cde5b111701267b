/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Runs external programs: found in the system's directories, with a clean environment and a
 * timeout. */
#ifndef TC_IMAGE_RUN_H
#define TC_IMAGE_RUN_H

#include <sys/types.h>

#include "base/buf.h"
#include "base/error.h"

struct tc_run {
    const char *const *argv; /* the name first, without a path */
    /* If argv[0] is a shell: the programs that its script runs, the main one first, which error
     * messages name. The path of each is in an environment variable (APT_GET for apt-get). NULL:
     * argv[0] is not a shell. */
    const char *const *programs;
    const char *const *env; /* NAME=VALUE, added to the default ones; NULL: none */
    int seconds;
    const char *hint;      /* if the program is not installed */
    const char *failed;    /* if it exited with an error; NULL: "its messages are above" */
    struct tc_buf *output; /* gets stdout; NULL: stdout goes to stderr */
    bool silent;           /* the program reports no progress, so tc_run() does */
    bool mounts;           /* the program mounts file systems: gets a private mount namespace */
    /* A limit on the size of the program's output: entry `made` of the directory `place`; NULL: no
     * limit. The program is stopped when the entry has more than `room` bytes. */
    int place;
    const char *made;
    int64_t room;
    const char *large; /* the hint when the program was stopped for its size */
};

/* Runs the program to its end. 0, or an error, also if it exited with another code than 0. Its
 * stderr is shown. */
int tc_run(const struct tc_run *run, struct toolcage_error **err);

/* A subreaper process for one program: when its starter exits, it stays until the program and
 * all descendants are killed. */

/* Called in a new child process of `parent`: starts the program by become(), which does not return,
 * and exits with the program's status. SIGTERM, SIGINT, SIGHUP and the end of `parent` end the
 * program: SIGTERM first, so that it can clean up; SIGKILL to everything left 10 s later. */
_Noreturn void tc_subreaper_run(pid_t parent, void (*become)(const void *ud), const void *ud);

#endif
