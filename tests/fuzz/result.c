/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Reaches src/call/result/result.c, resultjson.c and message.c. Input: an outcome as the helper
 * sends it. Whatever it says, the result is one line of JSON with every member, and an outcome that
 * makes no sense is an error, never a success. */
#include "result.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct toolcage_policy *policy;
    struct tc_outcome outcome = {0};
    struct tc_grant grant = {.limits = {.timeout_ms = 1500, .memory = 1 << 20, .pids = 3}};
    struct tc_wire get = TC_WIRE_GET_INIT((const char *)data, size);
    if (!policy)
        INVARIANT(tc_policy_new_default(&policy, NULL) == 0);
    tc_outcome_visit(&get, &outcome);
    if (get.failed) {
        tc_outcome_done(&outcome);
        return 0;
    }
    const struct tc_result_frame frame = {
        .call = "01JD0000000000000000000000", .tool = "t", .policy = policy, .grant = &grant};
    struct toolcage_result *result = NULL;
    INVARIANT(tc_result_make(&frame, &outcome, NULL, &result, NULL) == 0);
    json_decref(check_result(result));
    tc_result_free(result);
    return 0;
}
