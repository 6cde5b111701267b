/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The only way in which toolcage starts third-party programs on the host, outside of any cage: an
 * absolute path, "/" as the working directory, a new environment, and no fds but the standard
 * streams. A program that a tool may have written is not run. */
#ifndef TC_SPAWN_SPAWN_H
#define TC_SPAWN_SPAWN_H

#include "base/strv.h"
#include "provenance/provenance.h"

/* Finds a program of this name in the system's directories, or accepts an absolute path. It must be
 * executable, and no tool may have written it. Owned; NULL with errno: ENOENT, EPERM if a tool may
 * have written it, ENOMEM. */
char *tc_spawn_find(struct tc_provenance *writers, const char *name);

/* Appends the variables for these programs, as NAME=VALUE: a fixed PATH and locale, and the
 * caller's for homes, daemons, logins and proxies. None that makes a loader or an interpreter load
 * code. False: out of memory. */
bool tc_spawn_environment(struct tc_strv *ret);

struct tc_spawn {
    const char *path;
    char *const *argv, *const *env;
    int in, out; /* standard input and output; -1: /dev/null, or this process's standard error */
};

/* In a new child: executes the program. Makes only system calls and allocates nothing, so the child
 * may share its parent's memory. Returns errno on failure. */
int tc_spawn_become(const struct tc_spawn *s);

/* Resets all signals: exec keeps ignored signals ignored, and the host may ignore SIGCHLD or
 * SIGPIPE. */
void tc_spawn_reset_signals(void);

#endif
