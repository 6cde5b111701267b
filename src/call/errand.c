/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Calls that run no tool: work on a module, or a VM that only boots. Each runs in a cage like
 * any other call, and the helper ends it in time, whatever its processes are blocked on. */
#include <string.h>

#include "call/call.h"
#include "call/engine.h"
#include "call/host/facts.h"

static void collect(void *userdata, int stream, const void *bytes, size_t length)
{
    struct tc_errand_end *end = userdata;
    tc_buf_add(stream == 1 ? &end->out : &end->complaints, bytes, length);
}

static int run_errand(struct toolcage_call *call, const struct tc_errand *errand,
                      struct tc_errand_end *ret, struct toolcage_error **err)
{
    call->work = errand->work;
    call->module = errand->module;
    int r = errand->prints ? tc_call_set_output(call, collect, ret, err) : 0;
    if (r == 0)
        r = tc_call_start(call, err);
    if (r == 0 && call->state != TC_CALL_DONE)
        r = tc_call_wait(call, -1, err);
    if (r < 0)
        return r;
    const struct toolcage_error *why = call->result->error;
    ret->status = call->result->outcome.status;
    ret->exit_code = call->result->outcome.exit_code;
    ret->error = why ? strdup(tc_error_message(why)) : NULL;
    return why && !ret->error ? tc_fail_memory(err) : 0;
}

int tc_errand_run(struct toolcage_engine *engine, const struct tc_errand *errand,
                  struct tc_errand_end *ret, struct toolcage_error **err)
{
    struct toolcage_policy *policy = NULL;
    struct toolcage_engine *own = NULL;
    struct toolcage_call *call = NULL;
    int r =
        tc_policy_load_buffer(errand->policy, strlen(errand->policy), errand->tool, &policy, err);
    if (r == 0 && !engine)
        r = tc_engine_new(&own, err);
    if (r == 0)
        r = tc_call_new(engine ? engine : own, policy, errand->tool, &call, err);
    if (r == 0)
        r = run_errand(call, errand, ret, err);
    tc_call_unref(call);
    tc_engine_unref(own);
    tc_policy_unref(policy);
    return r;
}

struct tc_search tc_errand_search(struct toolcage_engine *engine)
{
    return (struct tc_search){
        .engine = engine, .known = tc_engine_modules(engine), .run = tc_errand_run};
}
