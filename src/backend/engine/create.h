/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What an engine is asked for: a container with no right, no network and nothing of the host but
 * the directory of the report socket. Pure. */
#ifndef TC_BACKEND_ENGINE_CREATE_H
#define TC_BACKEND_ENGINE_CREATE_H

#include <stdint.h>
#include <sys/types.h>

#include "plan/plan.h"

struct tc_engine_container {
    const char *image;
    const char *call;    /* for its label */
    const char *talk;    /* the directory, on the host */
    const char *root;    /* of containerd's: a directory, in the place of an image */
    const char *program; /* and our program's file */
    uid_t uid;           /* of its first process, as the engine counts */
    gid_t gid;
    int64_t files, processes; /* limits that the runtime is to set, not to guess */
};

/* JSON, owned; NULL when out of memory. */
char *tc_engine_create(const struct tc_plan *plan, const struct tc_engine_container *c);

/* JSON, owned; NULL when out of memory. */
char *tc_engine_spec(const struct tc_engine_container *c);

#endif
