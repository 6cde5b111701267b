/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What an engine is asked for: a container whose runtime has a kernel of its own. There, and only
 * there, it has the rights of whoever makes process cages. Pure. */
#ifndef TC_BACKEND_KATA_CREATE_H
#define TC_BACKEND_KATA_CREATE_H

#include <stdint.h>

#include "base/strv.h"

struct tc_kata_container {
    const char *image;             /* with our program in it */
    const char *runtime;           /* as the engine calls it */
    const char *call, *tool;       /* for its labels; tool may be NULL */
    const char *boot;              /* what the host's kernel calls this boot of itself */
    const char *root;              /* the tool's, a directory; NULL: `system` */
    const struct tc_strv *system;  /* directories of the host's, each shown by its own name */
    int64_t mib, cpus_milli, pids; /* 0: not bounded */
};

/* Docker's JSON, owned; NULL when out of memory. */
char *tc_kata_create(const struct tc_kata_container *c);

#endif
