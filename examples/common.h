/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What the longer examples share: an engine and the default policy, and ending with a report. */
#ifndef EXAMPLES_COMMON_H
#define EXAMPLES_COMMON_H

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <toolcage/toolcage.h>

static inline void check(int code, struct toolcage_error *err)
{
    if (code >= 0)
        return;
    fprintf(stderr, "%s", toolcage_error_report(err));
    exit(125);
}

/* Ends the program when the result is not the expected one, with the message that says why. */
static inline void expect(const struct toolcage_result *result, int32_t status)
{
    if (toolcage_result_status(result) == status)
        return;
    fprintf(stderr, "%s%s\n", toolcage_result_message(result), toolcage_result_json(result));
    exit(toolcage_result_shell_code(result) ? toolcage_result_shell_code(result) : 1);
}

static inline struct toolcage_engine *make_engine(void)
{
    struct toolcage_error *err = NULL;
    struct toolcage_engine *engine = NULL;
    check(toolcage_engine_new(&engine, &err), err);
    return engine;
}

static inline struct toolcage_policy *make_policy(void)
{
    struct toolcage_error *err = NULL;
    struct toolcage_policy *policy = NULL;
    check(toolcage_policy_new_default(&policy, &err), err);
    return policy;
}

/* A call of a shell line that ends after `timeout` at the latest. */
static inline struct toolcage_call *make_call(struct toolcage_engine *engine,
                                              struct toolcage_policy *policy, const char *line,
                                              const char *timeout)
{
    const char *const command[] = {"sh", "-c", line};
    struct toolcage_error *err = NULL;
    struct toolcage_call *call = NULL;
    check(toolcage_call_new(engine, policy, NULL, &call, &err), err);
    check(toolcage_call_set_command(call, 3, command, &err), err);
    check(toolcage_call_set(call, "timeout", timeout, &err), err);
    return call;
}

static inline double now_ms(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

#endif
