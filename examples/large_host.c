/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A host with gigabytes resident: starting an engine and making a call cost what they cost a small
 * one, since nothing of the host is copied.
 *
 *     large_host [GIBIBYTES]
 */
#include <string.h>
#include <sys/mman.h>

#include "common.h"

enum { ROUNDS = 30 };

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_call_ms(struct toolcage_engine *engine, struct toolcage_policy *policy)
{
    double times[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        struct toolcage_error *err = NULL;
        double since = now_ms();
        struct toolcage_call *call = make_call(engine, policy, "exit 0", "30s");
        check(toolcage_call_run(call, &err), err);
        expect(toolcage_call_result(call), TOOLCAGE_STATUS_OK);
        toolcage_call_unref(call);
        times[i] = now_ms() - since;
    }
    qsort(times, ROUNDS, sizeof(times[0]), by_size);
    return times[ROUNDS / 2];
}

static double median_engine_ms(void)
{
    double times[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        double since = now_ms();
        struct toolcage_engine *engine = make_engine();
        times[i] = now_ms() - since;
        toolcage_engine_unref(engine);
    }
    qsort(times, ROUNDS, sizeof(times[0]), by_size);
    return times[ROUNDS / 2];
}

int main(int argc, char **argv)
{
    size_t bytes = (size_t)(argc > 1 ? atoi(argv[1]) : 4) << 30;
    struct toolcage_engine *engine = make_engine();
    struct toolcage_policy *policy = make_policy();
    double small_engine = median_engine_ms(), small = median_call_ms(engine, policy);

    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        perror("mmap");
        return 77;
    }
    memset(memory, 1, bytes);
    double large_engine = median_engine_ms(), large = median_call_ms(engine, policy);
    printf("engine: %.2f ms small, %.2f ms with %zu GiB resident\n", small_engine, large_engine,
           bytes >> 30);
    printf("call:   %.2f ms small, %.2f ms with %zu GiB resident\n", small, large, bytes >> 30);
    toolcage_policy_unref(policy);
    toolcage_engine_unref(engine);
    /* A copied page table would show as tens of milliseconds; what is allowed is noise. */
    return large < small * 1.2 + 1 && large_engine < small_engine * 1.2 + 1 ? 0 : 1;
}
