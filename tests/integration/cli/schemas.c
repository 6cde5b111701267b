/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What a policy says of the arguments of its tool "t", for many policies and arguments in one
 * process. On standard input one line a policy: {"policy": PATH, "given": [ARGUMENTS…]}. Each is
 * answered by one line: {"error": TEXT} when it does not load, else {"schema": what the list of
 * tools says, "verdicts": [null or the error, …]}. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <toolcage/toolcage.h>

static void need(int code, struct toolcage_error *err)
{
    if (code >= 0)
        return;
    (void)fprintf(stderr, "schemas: %s\n", toolcage_error_report(err));
    exit(1);
}

/* null: the arguments are the tool's; else why not. */
static json_t *judge(struct toolcage_engine *engine, struct toolcage_policy *policy,
                     const json_t *given)
{
    struct toolcage_error *err = NULL;
    struct toolcage_call *call;
    char *text = json_dumps(given, JSON_ENCODE_ANY), *told = NULL;
    need(toolcage_call_new(engine, policy, "t", &call, &err), err);
    int rc = toolcage_call_set_arguments_json(call, text, &err);
    if (rc >= 0)
        rc = toolcage_call_explain_json(call, NULL, &told, &err);
    json_t *verdict = rc < 0 ? json_loads(toolcage_error_json(err), 0, NULL) : json_null();
    toolcage_error_free(err);
    toolcage_free(told);
    free(text);
    (void)toolcage_call_unref(call);
    return verdict;
}

static json_t *schema_of(const struct toolcage_policy *policy)
{
    struct toolcage_error *err = NULL;
    char *text;
    need(toolcage_policy_tools_json(policy, "mcp", &text, &err), err);
    json_t *tools = json_loads(text, 0, NULL);
    json_t *schema = json_incref(json_object_get(json_array_get(tools, 0), "inputSchema"));
    json_decref(tools);
    toolcage_free(text);
    return schema;
}

static json_t *answer(struct toolcage_engine *engine, const json_t *asked)
{
    struct toolcage_error *err = NULL;
    struct toolcage_policy *policy;
    if (toolcage_policy_load_file(json_string_value(json_object_get(asked, "policy")), &policy,
                                  &err) < 0) {
        json_t *refused = json_pack("{s:s}", "error", toolcage_error_report(err));
        toolcage_error_free(err);
        return refused;
    }
    json_t *verdicts = json_array(), *given = json_object_get(asked, "given");
    for (size_t i = 0; i < json_array_size(given); i++)
        (void)json_array_append_new(verdicts, judge(engine, policy, json_array_get(given, i)));
    json_t *told = json_pack("{s:o,s:o}", "schema", schema_of(policy), "verdicts", verdicts);
    (void)toolcage_policy_unref(policy);
    return told;
}

int main(void)
{
    struct toolcage_error *err = NULL;
    struct toolcage_engine *engine;
    char *line = NULL;
    size_t room = 0;
    need(toolcage_engine_new(&engine, &err), err);
    while (getline(&line, &room, stdin) > 0) {
        json_t *asked = json_loads(line, 0, NULL), *told = answer(engine, asked);
        (void)json_dumpf(told, stdout, JSON_COMPACT);
        (void)putchar('\n');
        (void)fflush(stdout);
        json_decref(told);
        json_decref(asked);
    }
    free(line);
    (void)toolcage_engine_unref(engine);
    return 0;
}
