/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Tools over HTTP: checks the options and starts the server program. */
#ifndef TC_CLI_CALL_HTTPD_H
#define TC_CLI_CALL_HTTPD_H

#include "cli/call/lookup.h"

/* clang-format off */
#define TC_OPTIONS_HTTPD                                                                            \
    {"token-file", 0, "FILE", NULL, "the token that clients must send (default: a new one, printed once)"}, \
    {"token-env", 0, "NAME", NULL, "the token, in an environment variable"},                                     \
    {"no-token", 0, NULL, NULL, "require no token (loopback only)"},           \
    {"remote", 0, NULL, NULL, "let other hosts connect: allow addresses other than loopback"},      \
    {"host", 0, "NAME", NULL, "another host name that clients use"},                   \
    {"tls-cert", 0, "FILE", NULL, "speak TLS with this certificate (PEM)"},                         \
    {"tls-key", 0, "FILE", NULL, "the certificate's key, in a file that only you can read"},                     \
    {"idle", 0, "TIME", NULL, "end sessions that are idle for this time (default: 30m)"}
/* clang-format on */

struct tc_httpd_way {
    bool api;           /* serve the HTTP API, too */
    const char *socket; /* listen on this unix socket, not on --listen; NULL: do not */
    int passed;         /* that socket, open already; -1: it is not */
};

/* Finds the policy whose tools are served. 0, or -1 with the failure. */
int tc_httpd_policy(const struct tc_args *args, struct tc_found *ret, struct tc_failure *failure);
/* Refuses options that exclude each other. 0, or -1 with the failure. */
int tc_httpd_check(const struct tc_args *args, struct tc_failure *failure);
/* Replaces this process by the server; returns only on failure, -1 with the failure. */
int tc_httpd_become(const struct tc_args *args, const struct tc_found *found,
                    const struct tc_httpd_way *way, struct tc_failure *failure);

#endif
