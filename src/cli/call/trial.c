/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cli/call/trial.h"

#include <stdio.h>
#include <string.h>

#include "cli/call/run.h"
#include "cli/show/json.h"

enum { TOLD = 10 };

void tc_trial_done(struct tc_trial_told *trial)
{
    free(trial->lines);
    trial->lines = NULL;
}

/* The one tool that the policy has, and whether it has a command. */
static char *tool_of(const struct toolcage_policy *policy, bool *ret_command,
                     struct tc_failure *failure)
{
    char *json = NULL;
    if (toolcage_policy_tools_json(policy, "toolcage", &json, tc_failure_error(failure)))
        return NULL;
    struct tc_scan_each each = tc_scan_walk(tc_json_of(json));
    char *name = NULL;
    if (tc_scan_next(&each)) {
        struct tc_slice command = tc_json_get(each.value, "command");
        struct tc_scan_each word = tc_scan_walk(command);
        *ret_command = command.at && tc_scan_next(&word);
        name = tc_json_text(tc_json_get(each.value, "name"));
    }
    toolcage_free(json);
    if (!name)
        (void)tc_failure_set(failure, TOOLCAGE_EMEMORY, NULL, "out of memory");
    return name;
}

static int begin(struct toolcage_engine *engine, const struct toolcage_policy *policy,
                 char *const words[], size_t word_count, struct toolcage_call **ret,
                 struct tc_failure *failure)
{
    bool command = false;
    struct toolcage_error **err = tc_failure_error(failure);
    _autofree_ char *tool = tool_of(policy, &command, failure);
    if (!tool || toolcage_call_new(engine, (struct toolcage_policy *)policy, tool, ret, err) ||
        (!command && toolcage_call_set_command(*ret, word_count, (const char *const *)words, err)))
        return -1;
    return toolcage_call_set(*ret, "denials", "paths", err) ||
                   toolcage_call_set(*ret, "commit", "never", err)
               ? -1
               : 0;
}

/* "refused: read /x", one a line. */
static size_t put_denials(FILE *out, struct tc_slice json)
{
    struct tc_scan_each each = tc_scan_walk(tc_json_get(json, "denials"));
    size_t count = 0;
    while (tc_scan_next(&each)) {
        _autofree_ char *operation = tc_json_line(tc_json_get(each.value, "operation"));
        _autofree_ char *target = tc_json_line(tc_json_get(each.value, "target"));
        if (tc_json_true(tc_json_get(each.value, "probe")) || count++ >= TOLD)
            continue;
        (void)fprintf(out, "refused: %s %s\n", operation ? operation : "?", target ? target : "?");
    }
    if (count > TOLD)
        (void)fprintf(out, "refused: %zu more\n", count - TOLD);
    return count;
}

static void judge(const struct toolcage_result *result, int wanted, struct tc_trial_told *ret,
                  FILE *out)
{
    const struct toolcage_error *why = toolcage_result_error(result);
    int32_t status = toolcage_result_status(result);
    int code = toolcage_result_shell_code(result);
    struct tc_slice json = tc_json_of(toolcage_result_json(result));
    bool began = status != TOOLCAGE_STATUS_DENIED && status != TOOLCAGE_STATUS_ERROR;
    ret->fits = began && code == wanted;
    if (ret->fits)
        return;
    if (!began) {
        _autofree_ char *message = tc_json_line(tc_json_get(tc_json_get(json, "error"), "message"));
        (void)fprintf(out, "run once more under it, it did not start: %s\n",
                      message ? message : toolcage_error_word(toolcage_error_code(why)));
    } else {
        (void)fprintf(out, "run once more under it, it ended with exit code %d, not %d\n", code,
                      wanted);
    }
    ret->lacks = put_denials(out, json) || !began;
    if (!ret->lacks)
        (void)fputs("nothing was refused: it may be a command that cannot be run twice\n", out);
}

static int tell(const struct toolcage_result *result, int wanted, struct tc_trial_told *ret,
                struct tc_failure *failure)
{
    size_t length = 0;
    FILE *out = open_memstream(&ret->lines, &length);
    if (out)
        judge(result, wanted, ret, out);
    if (!out || fclose(out) || !ret->lines)
        return tc_failure_set(failure, TOOLCAGE_EMEMORY, NULL, "out of memory");
    return 0;
}

int tc_trial_run(struct toolcage_engine *engine, const char *policy, char *const words[],
                 size_t word_count, int code, struct tc_trial_told *ret, struct tc_failure *failure)
{
    struct toolcage_policy *compiled = NULL;
    struct toolcage_call *call = NULL;
    *ret = (struct tc_trial_told){0};
    int rc = toolcage_policy_load_buffer(policy, strlen(policy), "/learned.toml", &compiled,
                                         tc_failure_error(failure)) ||
                     begin(engine, compiled, words, word_count, &call, failure) ||
                     tc_run_silent(call, failure)
                 ? -1
                 : tell(toolcage_call_result(call), code, ret, failure);
    (void)toolcage_call_unref(call);
    (void)toolcage_policy_unref(compiled);
    return rc;
}
