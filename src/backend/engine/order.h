/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The task of toolcage-engine, and what it needs on the host; the same for all backends that use an
 * engine. Functions that fail return -1 and write the cage's failure. */
#ifndef TC_BACKEND_ENGINE_ORDER_H
#define TC_BACKEND_ENGINE_ORDER_H

#include <limits.h>

#include "backend/engine/socket.h"
#include "cage/init_config.h"
#include "engine/engine.h"
#include "plan/backend.h"

/* containerd takes paths: a root with a few empty directories, and the program of PID 1. */
struct tc_engine_root {
    char directory[PATH_MAX], program[PATH_MAX];
};

/* Time limit for one response of an engine. */
enum { TC_ENGINE_PATIENCE_MS = 20000 };

struct tc_engine_order {
    const char *engine; /* the engine's name */
    const struct tc_engine_socket *socket;
    const char *repository; /* of the image that contains `program` */
    int program;
    const char *name;    /* unique part of the container's name */
    const char *runtime; /* NULL: the engine's default */
    const char *fifos;   /* NULL: none */
};

int tc_engine_fail_start(struct tc_cage *cage, const char *what);
int tc_engine_enter(struct tc_cage *cage, const char *engine, struct tc_engine_socket *ret);
/* Opens one of toolcage's programs by name. */
int tc_engine_find(struct tc_cage *cage, const char *name, int *ret);
/* For containerd: prepares the container's root, with a mount point for `program`, a link in /proc
 * to that file. The caller frees *ret, which stays NULL if the engine takes images. */
int tc_engine_take_root(struct tc_cage *cage, const struct tc_engine_socket *socket,
                        const char *program, struct tc_engine_root **ret);
/* Fills everything except the container's description; its fds are borrowed. Returns the image's
 * name, owned; NULL when out of memory. */
char *tc_engine_order(const struct tc_cage *cage, const struct tc_engine_order *order,
                      struct tc_engine_config *ret);
/* Sends the config to toolcage-engine, and frees what the config owns. The message stays in the
 * socket until it is read. 0, or -1 with the failure recorded; config->create NULL: out of memory.
 */
int tc_engine_send(struct tc_cage *cage, int control, struct tc_engine_config *config);

/* The stages of the process that becomes toolcage-engine; their inner stages are those of PID 1 in
 * the container. The init config has a pointer to that process's program fd (int) as `own`. */
extern const struct tc_stages tc_engine_stages;

#endif
