/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Reaches src/egress/read/socks.c and host.c. Input: what a client sends after its greeting, or as
 * one.
 */
#include "fuzz.h"

#include <string.h>

#include "egress/read/socks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tc_egress_host host = {0}, again = {0};
    enum tc_egress_socks_code code = TC_EGRESS_SOCKS_FINE;
    size_t used = 0;
    if (tc_egress_socks_greeting(data, size, &used) == TC_EGRESS_SOCKS_DONE)
        INVARIANT(used >= 3 && used <= size);
    (void)tc_egress_authority_read((const char *)data, size, &host);
    enum tc_egress_socks got = tc_egress_socks_request(data, size, &used, &host, &code);
    INVARIANT(got != TC_EGRESS_SOCKS_BAD || code != TC_EGRESS_SOCKS_FINE);
    if (got != TC_EGRESS_SOCKS_DONE)
        return 0;
    INVARIANT(used <= size && host.port && host.name[0]);
    INVARIANT(tc_egress_host_read(host.name, strlen(host.name), &again) &&
              strcmp(host.name, again.name) == 0);
    return 0;
}
