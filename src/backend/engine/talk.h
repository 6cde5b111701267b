/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The connection of PID 1 in an engine's container to the helper. */
#ifndef TC_BACKEND_ENGINE_TALK_H
#define TC_BACKEND_ENGINE_TALK_H

#include <sys/types.h>

#include "base/clock.h"

enum { TC_ENGINE_PLACE_SIZE = 4096 };

/* A host directory, mounted into the container, with a listening socket for one connection. It is
 * removed as soon as PID 1 has connected. */
struct tc_engine_talk {
    char directory[TC_ENGINE_PLACE_SIZE];
    char name[TC_ULID_SIZE];
    int parent, listener; /* -1: none */
};
#define TC_ENGINE_NO_TALK ((struct tc_engine_talk){.parent = -1, .listener = -1})

/* The socket belongs to this id ((uid_t)-1: the helper's id). 0, or -1 with errno. */
int tc_engine_talk_open(struct tc_engine_talk *talk, uid_t id);
/* Accepts the connection of a process with this id. *ret_pidfd and *ret_pid identify the process,
 * in the helper's PID namespace. -1: no connection yet, or one from another id. */
int tc_engine_talk_accept(struct tc_engine_talk *talk, uid_t id, int *ret_pidfd, pid_t *ret_pid);
void tc_engine_talk_close(struct tc_engine_talk *talk);

/* ---- the container's end ---- */

/* PID 1 in an engine's container: the helper's executable under another name. Never returns. */
_Noreturn void tc_engine_guest_main(void);

#endif
