/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Tools over HTTP: what the options mean, and the program that does it. */
#ifndef TC_CLI_CALL_HTTPD_H
#define TC_CLI_CALL_HTTPD_H

#include "cli/call/lookup.h"

/* clang-format off */
#define TC_OPTIONS_HTTPD                                                                            \
    {"listen", 0, "ADDRESS:PORT", NULL, "serve over HTTP there, and not on standard input; port 0: any"}, \
    {"token-file", 0, "FILE", NULL, "the token that clients have to send (default: a new one, shown once)"}, \
    {"token-env", 0, "NAME", NULL, "the same from a variable"},                                     \
    {"no-token", 0, NULL, NULL, "whoever reaches a loopback address may call the tools"},           \
    {"remote", 0, NULL, NULL, "other machines may connect: the address need not be loopback"},      \
    {"host", 0, "NAME", NULL, "one more name that clients have for this server"},                   \
    {"tls-cert", 0, "FILE", NULL, "speak TLS with this certificate (PEM)"},                         \
    {"tls-key", 0, "FILE", NULL, "and its key, a file that only you can read"},                     \
    {"idle", 0, "TIME", NULL, "end a session that is silent for so long (default: 30m)"}
/* clang-format on */

/* Refuses what cannot go together. 0, or -1 with the failure. */
int tc_httpd_check(const struct tc_args *args, struct tc_failure *failure);
/* Becomes the server; returns -1 with the failure. */
int tc_httpd_become(const struct tc_args *args, const struct tc_found *found,
                    struct tc_failure *failure);

#endif
