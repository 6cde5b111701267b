/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The one way in which toolcage starts programs of others on the host, outside of any cage: an
 * absolute path, "/" as the working directory, an environment made here, no descriptor but the
 * standard streams. What a tool may have written is not run. */
#ifndef TC_SPAWN_SPAWN_H
#define TC_SPAWN_SPAWN_H

#include "base/strv.h"
#include "provenance/provenance.h"

/* The program of this name in the system's program directories, or an absolute path as it is, where
 * it is executable and no tool may have written it. Owned; NULL with errno: ENOENT, EPERM where a
 * tool may have written it, ENOMEM. */
char *tc_spawn_find(struct tc_provenance *writers, const char *name);

/* The variables that these programs get, as NAME=VALUE: a fixed PATH and locale, and of the
 * caller's what says where homes, daemons, logins and proxies are. Nothing that tells a loader or
 * an interpreter what to load. False: out of memory. */
bool tc_spawn_environment(struct tc_strv *ret);

struct tc_spawn {
    const char *path;
    char *const *argv, *const *env;
    int in, out; /* its streams; -1: /dev/null, or this process's standard error */
};

/* In a new child: becomes the program. Makes system calls and allocates nothing, so the child may
 * share its parent's memory. Returns errno when it fails. */
int tc_spawn_become(const struct tc_spawn *s);

/* exec keeps ignored signals ignored, and the host may ignore SIGCHLD or SIGPIPE. */
void tc_spawn_reset_signals(void);

#endif
