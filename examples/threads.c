/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * One engine and one policy, shared by 64 threads with calls of their own. */
#include <pthread.h>
#include <string.h>

#include "common.h"

enum { THREADS = 64 };

static struct toolcage_engine *engine;
static struct toolcage_policy *policy;

static void *work(void *arg)
{
    struct toolcage_error *err = NULL;
    char line[32], wanted[32];
    size_t length;
    snprintf(line, sizeof(line), "echo thread %d", *(int *)arg);
    snprintf(wanted, sizeof(wanted), "thread %d\n", *(int *)arg);
    struct toolcage_call *call = make_call(engine, policy, line, "60s");
    check(toolcage_call_run(call, &err), err);
    expect(toolcage_call_result(call), TOOLCAGE_STATUS_OK);
    const char *said = toolcage_result_output(toolcage_call_result(call), 1, &length);
    int right = length == strlen(wanted) && memcmp(said, wanted, length) == 0;
    toolcage_call_unref(call);
    return right ? arg : NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    int numbers[THREADS], right = 0;
    double since = now_ms();
    engine = make_engine();
    policy = make_policy();
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        if (pthread_create(&threads[i], NULL, work, &numbers[i]))
            return 125;
    }
    for (int i = 0; i < THREADS; i++) {
        void *answer = NULL;
        pthread_join(threads[i], &answer);
        right += answer != NULL;
    }
    printf("%d of %d calls were right, in %.0f ms\n", right, THREADS, now_ms() - since);
    toolcage_policy_unref(policy);
    toolcage_engine_unref(engine);
    return right == THREADS ? 0 : 1;
}
