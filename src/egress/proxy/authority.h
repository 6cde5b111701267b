/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The CA of one cage: created when the proxy starts, valid for the names that the grant has
 * inspected, and gone when the proxy exits. Its key never leaves this process. */
#ifndef TC_EGRESS_PROXY_AUTHORITY_H
#define TC_EGRESS_PROXY_AUTHORITY_H

#include <openssl/ssl.h>

#include "base/buf.h"
#include "egress/egress.h"

struct tc_egress_authority {
    EVP_PKEY *key;  /* signs leaf certificates */
    EVP_PKEY *leaf; /* shared by all leaves; never leaves this process */
    X509 *certificate;
    SSL_CTX *client, *server; /* talks to clients; talks to servers */
    struct tc_buf bundle;     /* the host's CA bundle, not parsed yet */
};

/* Called before the proxy confines itself, because it reads the host's CA bundle. Writes the CA
 * certificate to the shared memory. False: failed. */
bool tc_egress_authority_open(struct tc_egress_authority *a, const struct tc_egress_config *config,
                              struct tc_egress_stats *stats);

/* The slow part, done after READY: parses the CA bundle. Called before the first connection. */
bool tc_egress_authority_trust(struct tc_egress_authority *a);

/* A certificate for this host, valid for an hour; NULL: out of memory. */
X509 *tc_egress_authority_leaf(const struct tc_egress_authority *a, const char *host);

#endif
