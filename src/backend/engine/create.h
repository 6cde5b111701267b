/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The request to an engine for a container without capabilities or network. The only host path in
 * the container is the directory of the report socket. Makes no system call. */
#ifndef TC_BACKEND_ENGINE_CREATE_H
#define TC_BACKEND_ENGINE_CREATE_H

#include <stdint.h>
#include <sys/types.h>

#include "plan/plan.h"

struct tc_engine_container {
    const char *image;
    const char *call;    /* for the label */
    const char *talk;    /* the socket's directory, on the host */
    const char *root;    /* containerd: the root directory, used instead of an image */
    const char *program; /* containerd: the path of PID 1's program */
    uid_t uid;           /* of PID 1, inside the engine's user namespace */
    gid_t gid;
    int64_t files, processes; /* explicit limits, so that the runtime does not choose them */
};

/* JSON, owned; NULL when out of memory. */
char *tc_engine_create(const struct tc_plan *plan, const struct tc_engine_container *c);

/* JSON, owned; NULL when out of memory. */
char *tc_engine_spec(const struct tc_engine_container *c);

#endif
