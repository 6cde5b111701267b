/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The request for a container with a separate kernel, for Docker's API or as an OCI configuration.
 * In that kernel, and only there, the container has the capabilities needed to create process
 * cages. Pure. */
#ifndef TC_BACKEND_KATA_CREATE_H
#define TC_BACKEND_KATA_CREATE_H

#include <stdint.h>

#include "base/buf.h"
#include "base/strv.h"

/* The engine, if the policy names none. */
#define TC_KATA_ENGINE "docker"

struct tc_kata_container {
    const char *image;             /* Docker: contains the guest program */
    const char *runtime;           /* the engine's name for it */
    const char *call, *tool;       /* for the labels; tool may be NULL */
    const char *boot;              /* the boot id of the host's kernel */
    const char *root;              /* directory of the tool's root; NULL: `system` */
    const struct tc_strv *system;  /* host directories, each shown at the same path */
    int64_t mib, cpus_milli, pids; /* 0: no limit */
    const char *directory;         /* containerd: the container's root, with mount points only */
    const char *program;           /* containerd: the file of the guest program */
};

/* JSON, owned; NULL when out of memory. */
char *tc_kata_create(const struct tc_kata_container *c);
char *tc_kata_spec(const struct tc_kata_container *c);

/* The capabilities that the guest's engine needs as the VM's root to create process cages; none for
 * devices, modules, clocks or the network. A JSON list of names without CAP_, each with `prefix`.
 */
void tc_kata_rights(struct tc_buf *out, const char *prefix);

#endif
