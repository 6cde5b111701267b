/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Where an engine listens, and where our first program in a container of its reaches the helper. */
#ifndef TC_BACKEND_ENGINE_PLACE_H
#define TC_BACKEND_ENGINE_PLACE_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/clock.h"
#include "policy/grant.h"

enum { TC_ENGINE_SOCKET_SIZE = 108, TC_ENGINE_PLACE_SIZE = 4096 };

struct tc_engine_door {
    char path[TC_ENGINE_SOCKET_SIZE]; /* as it was looked for */
    int fd;                           /* O_PATH; -1: none */
    bool rootless;                    /* it runs with the caller's own id, which is not root's */
};

/* What is wrong with it, for messages. */
struct tc_engine_lack {
    int errnum;
    char text[160], hint[320];
};

/* The path for this caller: the policy's word, or the engine's own custom. False: too long. */
bool tc_engine_door_path(const char *engine, const struct tc_strv *settings, uid_t uid,
                         struct tc_engine_door *ret);
/* Opens it, and looks whether somebody answers there who may be trusted with it: root, or the
 * caller. False with *ret_lack. */
bool tc_engine_door_open(const char *engine, uid_t uid, struct tc_engine_door *door,
                         struct tc_engine_lack *ret_lack);

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

#endif
