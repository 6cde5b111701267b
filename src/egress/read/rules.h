/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Checks an endpoint, a request or a resolved address against the grant. Pure. */
#ifndef TC_EGRESS_READ_RULES_H
#define TC_EGRESS_READ_RULES_H

#include <sys/socket.h>

#include "egress/egress.h"
#include "egress/read/http.h"

/* May uninspected bytes be sent there? Not if all its entries have methods or paths, which need
 * inspection to be enforced, or if a secret is injected. */
bool tc_egress_may_stream(const struct tc_egress_config *config, const char *host, uint32_t port);
/* May this request be sent there? 0, or the reason (enum tc_egress_reason) with an explanation or
 * NULL. Any entry of the host may allow it: by its method, and by a path equal to or below the
 * entry's. */
int tc_egress_judge_request(const struct tc_egress_config *config, const char *host, uint32_t port,
                            const struct tc_egress_http_head *head, const char **ret_why);
/* Does any entry cover the endpoint, at least for some requests? */
bool tc_egress_may_some(const struct tc_egress_config *config, const char *host, uint32_t port);

bool tc_egress_is_public(const struct sockaddr *address);
/* May a connection to this name use this address? The address must be public or have its own entry,
 * or be a loopback address where the grant names localhost. */
bool tc_egress_may_reach(const struct tc_egress_config *config, const char *host, uint32_t port,
                         const struct sockaddr *address);

#endif
