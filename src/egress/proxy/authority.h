/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The certificate authority of one cage: made when the proxy starts, good for the names that the
 * grant has it look into, and gone with the proxy. Its key never leaves this process. */
#ifndef TC_EGRESS_PROXY_AUTHORITY_H
#define TC_EGRESS_PROXY_AUTHORITY_H

#include <openssl/ssl.h>

#include "base/buf.h"
#include "egress/egress.h"

struct tc_egress_authority {
    EVP_PKEY *key;  /* signs leaves */
    EVP_PKEY *leaf; /* of all leaves: nobody but this process ever holds it */
    X509 *certificate;
    SSL_CTX *client, *server; /* towards the cage's clients; towards the servers outside */
    struct tc_buf bundle;     /* what the system trusts, not looked at yet */
};

/* Before the walls, because it reads what the system trusts. Writes its certificate down where the
 * supervisor reads it. False: it cannot be. */
bool tc_egress_authority_open(struct tc_egress_authority *a, const struct tc_egress_config *config,
                              struct tc_egress_stats *stats);

/* The slow part, for which nobody waits: takes in what was read. Before the first connection. */
bool tc_egress_authority_trust(struct tc_egress_authority *a);

/* A certificate for this host, good for an hour; NULL: out of memory. */
X509 *tc_egress_authority_leaf(const struct tc_egress_authority *a, const char *host);

#endif
