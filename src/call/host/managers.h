/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Managers of toolchains (rustup, uv, conda, SDKMAN!, ...): a program that they installed reads a
 * further directory of the home, which a variable names, and writes to caches in the home. A cage
 * shows the directory read-only, and gets caches of its own below its private /tmp. */
#ifndef TC_CALL_HOST_MANAGERS_H
#define TC_CALL_HOST_MANAGERS_H

#include "policy/policy.h"

struct tc_manager {
    /* Which programs it manages: the program is this file of its directory, it has this name, or
     * it is below the manager's directory. One of the three. */
    const char *same_as, *named;
    bool below;
    const char *variable, *place; /* its directory: the caller's variable, else below the home */
    const char *part;             /* the part of the directory that the programs read; NULL: all */
    const char *inner, *inside;   /* a variable for a path within that part; NULL: none */
    const char *cache;            /* NAME=DIRECTORY; NULL: none */
};

/* The manager of a program; NULL: none. Static. */
const struct tc_manager *tc_manager_of(const struct tc_facts *facts, const char *file);
/* The manager's directory, and the part that its programs read. Owned; NULL: there is none, or out
 * of memory. */
char *tc_manager_directory(const struct tc_facts *facts, const struct tc_manager *m);
char *tc_manager_part(const struct tc_facts *facts, const struct tc_manager *m);

/* The program of the asdf shim `shims`/`name`. Owned; NULL: it is none, or out of memory. */
char *tc_manager_shim(const char *shims, const char *name);

#endif
