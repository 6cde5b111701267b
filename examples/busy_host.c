/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A host that does not look: it sleeps, or spins, long past the deadline of its call. The deadline
 * holds all the same, because the helper keeps it; only the delivery waits for the host.
 *
 *     busy_host sleep|spin SECONDS
 */
#include <string.h>
#include <unistd.h>

#include "common.h"

static void look_away(const char *how, int seconds)
{
    double until = now_ms() + seconds * 1e3;
    if (strcmp(how, "sleep") == 0)
        sleep((unsigned)seconds);
    while (now_ms() < until)
        ;
}

/* The time that the cage really ran, from the result's usage. */
static long wall_ms(const struct toolcage_result *result)
{
    const char *at = strstr(toolcage_result_json(result), "\"wall_ms\":");
    return at ? strtol(at + strlen("\"wall_ms\":"), NULL, 10) : -1;
}

int main(int argc, char **argv)
{
    if (argc != 3 || (strcmp(argv[1], "sleep") != 0 && strcmp(argv[1], "spin") != 0)) {
        fprintf(stderr, "usage: busy_host sleep|spin SECONDS\n");
        return 125;
    }
    struct toolcage_engine *engine = make_engine();
    struct toolcage_policy *policy = make_policy();
    struct toolcage_error *err = NULL;
    struct toolcage_call *call =
        make_call(engine, policy, "while :; do echo working; sleep 0.01; done", "1s");
    check(toolcage_call_start(call, &err), err);
    look_away(argv[1], (int)strtol(argv[2], NULL, 10));
    check(toolcage_call_wait(call, -1, &err), err);
    const struct toolcage_result *result = toolcage_call_result(call);
    expect(result, TOOLCAGE_STATUS_TIMEOUT);
    long ran = wall_ms(result);
    printf("the host looked away for %s s; the call ran for %ld ms\n", argv[2], ran);
    toolcage_call_unref(call);
    toolcage_policy_unref(policy);
    toolcage_engine_unref(engine);
    /* one second from the job's arrival, so less from the tool's start, by as much as a loaded
     * machine takes to build the cage; at most the grace of two more */
    return ran >= 300 && ran < 4000 ? 0 : 1;
}
