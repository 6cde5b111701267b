/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Makes a recorded call again. */
#include <string.h>

#include "cli/audit/past.h"

static int set_command(struct toolcage_call *call, struct tc_slice command,
                       struct toolcage_error **err)
{
    size_t count = 0, most = 0;
    struct tc_scan_each each = tc_scan_walk(command);
    while (tc_scan_next(&each))
        most++;
    char **words = calloc(most + 1, sizeof(*words));
    each = tc_scan_walk(command);
    while (words && tc_scan_next(&each))
        if ((words[count] = tc_json_text(each.value)))
            count++;
    int rc = words ? toolcage_call_set_command(call, count, (const char *const *)words, err)
                   : TOOLCAGE_EMEMORY;
    for (size_t i = 0; i < count; i++)
        free(words[i]);
    free(words);
    return rc;
}

/* An option "key=value". Variables have no value in the log: to run, the call gets the caller's; to
 * be checked, none, as they grant nothing. */
static int set_option(struct toolcage_call *call, struct tc_slice option, bool runs,
                      struct toolcage_error **err)
{
    _autofree_ char *text = tc_json_text(option);
    char *equals = text ? strchr(text, '=') : NULL;
    if (!equals)
        return text && !strncmp(text, "env", 3) ? 0 : TOOLCAGE_EUSAGE;
    *equals = '\0';
    bool sets = strcmp(text, "workspace") && (runs || strcmp(text, "env"));
    return sets ? toolcage_call_set(call, text, equals + 1, err) : 0;
}

static int set_options(struct toolcage_call *call, struct tc_slice decision, const char *elsewhere,
                       struct toolcage_error **err)
{
    struct tc_slice options = tc_json_get(decision, "options");
    _autofree_ char *workspace =
        elsewhere ? strdup(elsewhere) : tc_json_text(tc_json_get(decision, "workspace"));
    struct tc_scan_each each = tc_scan_walk(options);
    int rc = workspace ? toolcage_call_set(call, "workspace", workspace, err) : 0;
    while (!rc && tc_scan_is_array(options) && tc_scan_next(&each))
        rc = set_option(call, each.value, elsewhere != NULL, err);
    return rc;
}

static int set_up(struct toolcage_call *call, struct tc_slice decision, const char *elsewhere,
                  struct toolcage_error **err)
{
    struct tc_slice arguments = tc_json_get(decision, "arguments");
    _autofree_ char *json = arguments.at ? strndup(arguments.at, arguments.length) : NULL;
    int rc = set_options(call, decision, elsewhere, err);
    if (!rc && json)
        rc = toolcage_call_set_arguments_json(call, json, err);
    if (!rc && tc_json_true(tc_json_get(decision, "command_given")))
        rc = set_command(call, tc_json_get(decision, "command"), err);
    return rc;
}

int tc_past_again(struct toolcage_engine *engine, struct toolcage_policy *policy,
                  const struct tc_past_call *past, const char *workspace,
                  struct toolcage_call **ret, struct toolcage_error **err)
{
    _autofree_ char *tool = tc_json_text(tc_json_get(past->decision, "tool"));
    int rc = toolcage_call_new(engine, policy, tool, ret, err);
    return rc ? rc : set_up(*ret, past->decision, workspace, err);
}

static bool is_list_of_texts(struct tc_slice list)
{
    struct tc_scan_each each = tc_scan_walk(list);
    while (tc_scan_is_array(list) && tc_scan_next(&each))
        if (!tc_scan_is_string(each.value))
            return false;
    return tc_scan_is_array(list);
}

/* What is too long is recorded as {"bytes":…,"digest":"sha256:…"}. */
bool tc_past_known(const struct tc_past_call *past)
{
    struct tc_slice arguments = tc_json_get(past->decision, "arguments");
    _autofree_ char *said = tc_json_text(tc_json_get(arguments, "digest"));
    bool digest =
        said && !strncmp(said, "sha256:", strlen("sha256:")) && tc_json_get(arguments, "bytes").at;
    return is_list_of_texts(tc_json_get(past->decision, "command")) &&
           is_list_of_texts(tc_json_get(past->decision, "options")) && !digest;
}
