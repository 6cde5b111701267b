/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The engine's socket, and the user who listens on it. */
#ifndef TC_BACKEND_ENGINE_SOCKET_H
#define TC_BACKEND_ENGINE_SOCKET_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"
#include "policy/grant.h"

enum { TC_ENGINE_SOCKET_SIZE = 108 };

struct tc_engine_socket {
    char path[TC_ENGINE_SOCKET_SIZE]; /* the path that was tried */
    int fd;                           /* O_PATH; -1: none */
    const char *client; /* path of the client program, static; "": no client is needed */
    bool rootless;      /* the engine runs with the caller's id, which is not root */
};

/* Why the socket cannot be used, for messages. */
struct tc_engine_lack {
    int errnum;
    const char *subject; /* static; NULL: the socket */
    char text[160], hint[320];
};

/* The socket's path for this caller: the policy's value, or the engine's default. False: too long.
 */
bool tc_engine_socket_path(const char *engine, const struct tc_strv *settings, uid_t uid,
                           struct tc_engine_socket *ret);
/* Opens the socket and checks that a trusted user listens on it: root, or the caller. False with
 * *ret_lack. */
bool tc_engine_socket_open(const char *engine, uid_t uid, struct tc_engine_socket *socket,
                           struct tc_engine_lack *ret_lack);
/* Could a call of this backend use the engine that the grant's settings name (`engine` if they name
 * none)? 0, or an error. */
int tc_engine_socket_look(const struct tc_grant *grant, const char *backend, const char *engine,
                          struct toolcage_error **err);

#endif
