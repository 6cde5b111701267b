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
    /* If argv[0] runs other programs: a shell with the main one first. Each is searched for, and
     * passed in a variable: APT_GET for apt-get. NULL: unrestricted. */
    const char *const *programs;
    const char *const *env; /* NAME=VALUE, added to the default ones; NULL: none */
    int seconds;
    const char *hint;      /* if the program is not installed */
    const char *failed;    /* if it exited with an error; NULL: "its messages are above" */
    struct tc_buf *output; /* gets stdout; NULL: stdout goes to stderr */
    bool mounts;           /* it mounts: run in a private mount namespace */
    /* Limits the size of what it creates: entry `made` of a directory; NULL: no limit. The program
     * is stopped above `room`. */
    int place;
    const char *made;
    int64_t room;      /* bytes */
    const char *large; /* the hint in that case */
};

/* 0 when it exited with 0. Its stderr is shown. */
int tc_run(const struct tc_run *run, struct toolcage_error **err);

/* A subreaper process for one program: when its starter exits, it stays until the program and
 * all descendants are killed. */

/* Called in a new child process of `parent`: starts the program by become(), which does not return,
 * and exits with the program's status. SIGTERM, SIGINT, SIGHUP and the end of `parent` end the
 * program: SIGTERM first, so that it can clean up; SIGKILL to everything left 10 s later. */
_Noreturn void tc_subreaper_run(pid_t parent, void (*become)(const void *ud), const void *ud);

#endif
