/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Cancelling from another thread: the one function of a call that any thread may use. */
#include <pthread.h>
#include <unistd.h>

#include "common.h"

static void *cancel_soon(void *call)
{
    usleep(300 * 1000);
    toolcage_call_cancel(call);
    return NULL;
}

int main(void)
{
    struct toolcage_engine *engine = make_engine();
    struct toolcage_policy *policy = make_policy();
    struct toolcage_error *err = NULL;
    struct toolcage_call *call = make_call(engine, policy, "sleep 600", "15m");
    pthread_t thread;
    double since = now_ms();

    check(toolcage_call_start(call, &err), err);
    if (pthread_create(&thread, NULL, cancel_soon, call))
        return 125;
    check(toolcage_call_wait(call, -1, &err), err);
    pthread_join(thread, NULL);
    expect(toolcage_call_result(call), TOOLCAGE_STATUS_CANCELLED);
    printf("cancelled after %.0f ms\n", now_ms() - since);
    int late = now_ms() - since > 5000;
    toolcage_call_unref(call);
    toolcage_policy_unref(policy);
    toolcage_engine_unref(engine);
    return late;
}
