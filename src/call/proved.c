/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * `proved`: a call runs only if its isolation was tried on this host. */
#include "call/call.h"
#include "proof/proof.h"

int tc_call_check_proved(struct toolcage_call *call, struct toolcage_error **err)
{
    const char *backend = call->grant.backend;
    struct tc_proof proof = {0};
    char changed[128];
    if (!call->grant.proved)
        return 0;
    if (tc_proof_find(backend, &proof, changed, sizeof(changed)) == 0) {
        call->proved_at = proof.at;
        return 0;
    }
    _autofree_ char *hint = tc_format("toolcage doctor --prove --backend %s", backend);
    const struct tc_why why = {
        .code = TOOLCAGE_EUNENFORCEABLE, .stage = "proved", .subject = backend, .hint = hint};
    return changed[0]
               ? tc_fail(err, &why,
                         "%s has changed since the isolation of backend %s was tried on this host",
                         changed, backend)
               : tc_fail(err, &why,
                         "the isolation of backend %s was not tried on this host by this user",
                         backend);
}
