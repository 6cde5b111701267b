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

/* The best of many: what else the machine does can only add. */
static double best_call_ms(struct toolcage_engine *engine, struct toolcage_policy *policy)
{
    double best = 1e9;
    for (int i = 0; i < ROUNDS; i++) {
        struct toolcage_error *err = NULL;
        double since = now_ms();
        struct toolcage_call *call = make_call(engine, policy, "exit 0", "30s");
        check(toolcage_call_run(call, &err), err);
        expect(toolcage_call_result(call), TOOLCAGE_STATUS_OK);
        toolcage_call_unref(call);
        double took = now_ms() - since;
        best = took < best ? took : best;
    }
    return best;
}

static double best_engine_ms(void)
{
    double best = 1e9;
    for (int i = 0; i < ROUNDS; i++) {
        double since = now_ms();
        struct toolcage_engine *engine = make_engine();
        double took = now_ms() - since;
        best = took < best ? took : best;
        toolcage_engine_unref(engine);
    }
    return best;
}

int main(int argc, char **argv)
{
    size_t bytes = (size_t)(argc > 1 ? strtoul(argv[1], NULL, 10) : 4) << 30;
    struct toolcage_engine *engine = make_engine();
    struct toolcage_policy *policy = make_policy();
    double small_engine = best_engine_ms(), small = best_call_ms(engine, policy);

    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        perror("mmap");
        return 77;
    }
    memset(memory, 1, bytes);
    double large_engine = best_engine_ms(), large = best_call_ms(engine, policy);
    printf("engine: %.2f ms small, %.2f ms with %zu GiB resident\n", small_engine, large_engine,
           bytes >> 30);
    printf("call:   %.2f ms small, %.2f ms with %zu GiB resident\n", small, large, bytes >> 30);
    toolcage_policy_unref(policy);
    toolcage_engine_unref(engine);
    /* A copied page table would show as tens of milliseconds; what is allowed is noise. */
    return large < small * 1.2 + 1 && large_engine < small_engine * 1.2 + 1 ? 0 : 1;
}
