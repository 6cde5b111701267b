/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Where our first program in a container of an engine's reaches the helper. */
#ifndef TC_BACKEND_ENGINE_TALK_H
#define TC_BACKEND_ENGINE_TALK_H

#include <sys/types.h>

#include "base/clock.h"

enum { TC_ENGINE_PLACE_SIZE = 4096 };

/* A directory of the host that is mounted into the container, with a socket to be listened on for
 * one connection. It goes as soon as that has come. */
struct tc_engine_talk {
    char directory[TC_ENGINE_PLACE_SIZE];
    char name[TC_ULID_SIZE];
    int parent, listener; /* -1: none */
};
#define TC_ENGINE_NO_TALK ((struct tc_engine_talk){.parent = -1, .listener = -1})

/* For this id ((uid_t)-1: our own). 0, or -1 with errno. */
int tc_engine_talk_open(struct tc_engine_talk *talk, uid_t id);
/* The connection of a process of that id, and that process (*ret_pidfd, *ret_pid: as we see it);
 * -1: there is none yet, or not such a one. */
int tc_engine_talk_accept(struct tc_engine_talk *talk, uid_t id, int *ret_pidfd, pid_t *ret_pid);
void tc_engine_talk_close(struct tc_engine_talk *talk);

/* ---- the container's end ---- */

/* The first program in a container of an engine's: the helper's file under another name. Never
 * returns. */
_Noreturn void tc_engine_guest_main(void);

#endif
