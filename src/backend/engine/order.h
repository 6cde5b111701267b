/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What toolcage-engine is told to have made, and what has to be there before: the same whatever the
 * container is for. Those that fail return -1 with the cage's failure written. */
#ifndef TC_BACKEND_ENGINE_ORDER_H
#define TC_BACKEND_ENGINE_ORDER_H

#include <limits.h>

#include "backend/engine/socket.h"
#include "cage/init_config.h"
#include "engine/engine.h"
#include "plan/backend.h"

/* Of containerd's containers, by paths, because that is what it takes: the root, which is a few
 * empty directories, and the file of our program. */
struct tc_engine_root {
    char directory[PATH_MAX], program[PATH_MAX];
};

/* How long an engine may take for one answer. */
enum { TC_ENGINE_PATIENCE_MS = 20000 };

struct tc_engine_order {
    const char *engine; /* who is asked */
    const struct tc_engine_socket *socket;
    const char *repository; /* of the image that holds `program` */
    int program;
    const char *name;    /* the container's own, to which a word of ours is added */
    const char *runtime; /* NULL: the engine's own */
    const char *fifos;   /* NULL: none */
};

int tc_engine_fail_start(struct tc_cage *cage, const char *what);
int tc_engine_enter(struct tc_cage *cage, const char *engine, struct tc_engine_socket *ret);
/* A program of ours, by its name. */
int tc_engine_find(struct tc_cage *cage, const char *name, int *ret);
/* containerd takes paths: the container's root, with a place for `program`, a link of /proc to it.
 * *ret is the caller's to free, and stays NULL where an engine takes images. */
int tc_engine_take_root(struct tc_cage *cage, const struct tc_engine_socket *socket,
                        const char *program, struct tc_engine_root **ret);
/* All but what the container is to be; its descriptors are borrowed. The image's name, owned; NULL
 * when out of memory. */
char *tc_engine_order(const struct tc_cage *cage, const struct tc_engine_order *order,
                      struct tc_engine_config *ret);
/* It waits in the socket until it is read. Frees what the config owns; `create` NULL: out of
 * memory. */
int tc_engine_send(struct tc_cage *cage, int control, struct tc_engine_config *config);

/* Of the process that becomes toolcage-engine; behind them those of the first program in the
 * container. The init config has the former's descriptor, an int, as its `own`. */
extern const struct tc_stages tc_engine_stages;

#endif
