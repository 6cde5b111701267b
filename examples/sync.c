/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The shortest whole use: run one command in a cage, wait, print its result as JSON.
 *
 *     sync [COMMAND ARGUMENT...]
 */
#include <stdio.h>
#include <toolcage/toolcage.h>

static int fail(struct toolcage_error *err)
{
    fprintf(stderr, "%s", toolcage_error_report(err));
    toolcage_error_free(err);
    return 125;
}

int main(int argc, char **argv)
{
    static const char *const hello[] = {"echo", "hello from the cage"};
    const char *const *command = argc > 1 ? (const char *const *)(argv + 1) : hello;
    size_t words = argc > 1 ? (size_t)argc - 1 : 2;
    struct toolcage_error *err = NULL;
    struct toolcage_engine *engine = NULL;
    struct toolcage_policy *policy = NULL;
    struct toolcage_call *call = NULL;
    int code = 125;

    if (toolcage_engine_new(&engine, &err) < 0 || toolcage_policy_new_default(&policy, &err) < 0 ||
        toolcage_call_new(engine, policy, NULL, &call, &err) < 0 ||
        toolcage_call_set_command(call, words, command, &err) < 0 ||
        toolcage_call_set(call, "timeout", "10s", &err) < 0 || toolcage_call_run(call, &err) < 0) {
        code = fail(err);
    } else {
        const struct toolcage_result *result = toolcage_call_result(call);
        printf("%s\n", toolcage_result_json(result));
        code = toolcage_result_shell_code(result);
    }
    toolcage_call_unref(call);
    toolcage_policy_unref(policy);
    toolcage_engine_unref(engine);
    return code;
}
