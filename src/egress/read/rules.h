/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What the grant says of an endpoint, a request, a resolved address. Pure. */
#ifndef TC_EGRESS_READ_RULES_H
#define TC_EGRESS_READ_RULES_H

#include <sys/socket.h>

#include "egress/egress.h"
#include "egress/read/http.h"

/* May bytes that nobody reads go there? Not where the grant names methods or paths, which only a
 * request that was read can be held to, or where a secret goes in. */
bool tc_egress_may_stream(const struct tc_egress_config *config, const char *host, uint32_t port);
/* May this request go there? 0, or the reason why not (enum tc_egress_reason) and words for it, or
 * NULL. Any entry of the host may allow it: by its method, and by a path that is the entry's or
 * below it. */
int tc_egress_judge_request(const struct tc_egress_config *config, const char *host, uint32_t port,
                            const struct tc_egress_http_head *head, const char **ret_why);
/* Does any entry cover it, if only for some requests? */
bool tc_egress_may_some(const struct tc_egress_config *config, const char *host, uint32_t port);

bool tc_egress_is_public(const struct sockaddr *address);
/* May a connection to this name go to this address? It must be public, or have an entry of its own,
 * or be this machine's own where the grant names localhost. */
bool tc_egress_may_reach(const struct tc_egress_config *config, const char *host, uint32_t port,
                         const struct sockaddr *address);

#endif
