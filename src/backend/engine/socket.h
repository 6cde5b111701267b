/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Where an engine listens, and who does. */
#ifndef TC_BACKEND_ENGINE_SOCKET_H
#define TC_BACKEND_ENGINE_SOCKET_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"
#include "policy/grant.h"

enum { TC_ENGINE_SOCKET_SIZE = 108 };

struct tc_engine_socket {
    char path[TC_ENGINE_SOCKET_SIZE]; /* as it was looked for */
    int fd;                           /* O_PATH; -1: none */
    const char *client;               /* what speaks to it, static; "": we do */
    bool rootless;                    /* it runs with the caller's own id, which is not root's */
};

/* What is wrong with it, for messages. */
struct tc_engine_lack {
    int errnum;
    const char *subject; /* static; NULL: its socket */
    char text[160], hint[320];
};

/* The path for this caller: the policy's word, or the engine's own custom. False: too long. */
bool tc_engine_socket_path(const char *engine, const struct tc_strv *settings, uid_t uid,
                           struct tc_engine_socket *ret);
/* Opens it, and looks whether somebody answers there who may be trusted with it: root, or the
 * caller. False with *ret_lack. */
bool tc_engine_socket_open(const char *engine, uid_t uid, struct tc_engine_socket *socket,
                           struct tc_engine_lack *ret_lack);
/* Would a call of this backend get in there, as its settings are? `engine`: where they name none.
 */
int tc_engine_socket_look(const struct tc_grant *grant, const char *backend, const char *engine,
                          struct toolcage_error **err);

#endif
