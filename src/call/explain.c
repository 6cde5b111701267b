/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What a call would be given, and by which backend, without a call. */
#include <unistd.h>

#include "call/call.h"
#include "call/host/programs.h"
#include "call/route.h"

/* What of the answer is known to the machine alone: which backend would be chosen; of an access
 * that the policy allows, whether a call here can hold it. */
static int explain_here(struct toolcage_call *call, struct tc_grant *grant, const char *access,
                        struct tc_buf *out, struct toolcage_error **err)
{
    _auto_(tc_verdict_done) struct tc_verdict v = {0};
    if (!access) {
        if (!grant->fallback.count)
            return 0;
        tc_buf_adds(out, "\"routes\":");
        return tc_choose_explain(call->engine, grant, out, err);
    }
    int r = tc_policy_verdict(call->policy, grant, access, &v, err);
    if (r < 0 || !v.allowed)
        return r;
    tc_buf_adds(out, "\"here\":");
    return tc_choose_held(call->engine, grant, v.clause, out, err);
}

int tc_call_explain(struct toolcage_call *call, const char *access, char **ret_json,
                    struct toolcage_error **err)
{
    int r = tc_engine_check(call->engine, err);
    if (r < 0)
        return r;
    struct tc_grant grant = {0};
    _autobuf_ struct tc_buf here = TC_BUF_INIT;
    r = tc_call_resolve(call, true, &grant, err);
    _autofd_ int image = -1;
    if (r == 0)
        r = explain_here(call, &grant, access, &here, err);
    if (r == 0) /* as at a call: what a backend takes where none is named keeps no other from it */
        r = tc_image_extend(call->policy, true, &grant, &image, err);
    if (r == 0)
        r = tc_grant_digest(&grant, err);
    if (r == 0)
        r = tc_policy_explain(call->policy, &grant, access, here.data, ret_json, err);
    tc_grant_done(&grant);
    return r;
}
