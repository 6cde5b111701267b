/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The listening address of a verb. */
#ifndef TC_CLI_CALL_LISTEN_H
#define TC_CLI_CALL_LISTEN_H

#include <netinet/in.h>

#include "cli/show/failure.h"

union tc_address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

enum { TC_ADDRESS_MAX = INET6_ADDRSTRLEN + sizeof("[]:65535") };

/* Opens "127.0.0.1:3128" or "[::1]:3128": the fd, or -1 with the failure, whose hint contains
 * `example`. *at is the bound address. */
int tc_listen_open(const char *given, const char *example, union tc_address *at,
                   struct tc_failure *failure);
bool tc_listen_read(const char *given, union tc_address *ret);
bool tc_listen_is_loopback(const union tc_address *at);
bool tc_listen_is_any(const union tc_address *at);
unsigned tc_listen_port(const union tc_address *at);
/* "127.0.0.1" or "[::1]"; the second function appends the port. */
void tc_listen_write_host(const union tc_address *at, char out[TC_ADDRESS_MAX]);
void tc_listen_write(const union tc_address *at, char out[TC_ADDRESS_MAX]);

#endif
