/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The listening sockets of published ports, on the host. */
#ifndef TC_PUBLISH_PUBLISH_H
#define TC_PUBLISH_PUBLISH_H

#include <stdbool.h>
#include <sys/types.h>

#include "policy/publish.h"

/* A listening socket, and where it is. */
struct tc_published {
    int fd;
    char *text; /* canonical, with the port that the kernel chose (policy/publish.h) */
    /* of a unix socket: its directory, the name in it, and the file that was made; -1: TCP */
    int directory;
    char *name;
    dev_t device;
    ino_t inode;
};

/* Listens at the address. A unix socket has mode 0600. Its directory must belong to this user, and
 * no other user may write to it; no part of its path may be a symbolic link. A socket file on which
 * no program listens is replaced, no other file is. False with *ret_why (static, the end of a
 * sentence about the address) and errno (0: none). */
bool tc_publish_listen(const struct tc_publish *publish, struct tc_published *ret,
                       const char **ret_why);
/* Closes the socket, and removes its file if it is still the one that was made. */
void tc_published_done(struct tc_published *published);

#endif
