/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Published ports of live sessions as text: "3000:127.0.0.1:0", "3000:[::1]:8080",
 * "3000:unix:/run/user/1000/dev.sock". The first number is the port inside the cage, the rest is
 * where connections are accepted outside: a loopback address, with port 0 for any free port, or a
 * unix socket. */
#ifndef TC_POLICY_PUBLISH_H
#define TC_POLICY_PUBLISH_H

#include <netinet/in.h>
#include <stdbool.h>

#include "base/error.h"

enum { TC_PUBLISH_MAX = 16, TC_PUBLISH_PATH_MAX = 200 };

/* The address where none is given. */
#define TC_PUBLISH_ANYWHERE "127.0.0.1:0"
#define TC_PUBLISH_UNIX "unix:"

struct tc_publish {
    uint16_t port;    /* inside */
    const char *path; /* of the unix socket, borrowed from the text; NULL: `at` */
    union tc_publish_address {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } at;
};

/* Parses "PORT" or "PORT:ADDRESS". False after filling the complaint. A path may be relative. */
bool tc_publish_read(const char *text, struct tc_publish *ret, struct tc_complaint *c);
/* The canonical text, with this path instead of its own (NULL: its own); owned. NULL: out of
 * memory. */
char *tc_publish_write(const struct tc_publish *publish, const char *path);

#endif
