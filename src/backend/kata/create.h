/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What an engine is asked for, in docker's words or those of the OCI runtime specification: a
 * container whose runtime has a kernel of its own. There, and only
 * there, it has the rights of whoever makes process cages. Pure. */
#ifndef TC_BACKEND_KATA_CREATE_H
#define TC_BACKEND_KATA_CREATE_H

#include <stdint.h>

#include "base/buf.h"
#include "base/strv.h"

/* Who is asked where the policy names no engine. */
#define TC_KATA_ENGINE "docker"

struct tc_kata_container {
    const char *image;             /* with our program in it; docker's */
    const char *runtime;           /* as the engine calls it */
    const char *call, *tool;       /* for its labels; tool may be NULL */
    const char *boot;              /* what the host's kernel calls this boot of itself */
    const char *root;              /* the tool's, a directory; NULL: `system` */
    const struct tc_strv *system;  /* directories of the host's, each shown by its own name */
    int64_t mib, cpus_milli, pids; /* 0: not bounded */
    const char *directory;         /* containerd's: the container's root, of mount points alone */
    const char *program;           /* and our program's file */
};

/* JSON, owned; NULL when out of memory. */
char *tc_kata_create(const struct tc_kata_container *c);
char *tc_kata_spec(const struct tc_kata_container *c);

/* What the engine of process cages does as the root of a machine, and no more of it: nothing that
 * reaches devices, modules, clocks or the network. By their names without CAP_, as a list of JSON
 * in which each begins with `prefix`. */
void tc_kata_rights(struct tc_buf *out, const char *prefix);

#endif
