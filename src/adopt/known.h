/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What well-known servers need. A row only adds to the strictest grant, and everything that it adds
 * is shown before it is written. */
#ifndef TC_ADOPT_KNOWN_H
#define TC_ADOPT_KNOWN_H

#include "base/strv.h"

struct tc_adopt_known {
    const char *package;  /* of npm or PyPI */
    const char *program;  /* the installed program; NULL: as the package */
    const char *option;   /* the argument after it is a path */
    bool paths;           /* arguments that are no options are paths */
    bool writable;        /* these paths may be written */
    const char *host;     /* it connects to this host */
    const char *variable; /* the variable with the token for the host; NULL: none */
    const char *header;
};

/* The row of the server that the arguments start; *ret_at is the index of the argument that names
 * it. NULL: unknown. */
const struct tc_adopt_known *tc_adopt_known(const struct tc_strv *argv, size_t *ret_at);
/* The length of a package's name without its version: "a@1", "@a/b@1". */
size_t tc_adopt_package(const char *text);

#endif
