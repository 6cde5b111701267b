/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Runs the calls that the model requested. The server has the list of tools but may name others, so
 * names are looked up here; the library validates the arguments. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"

static bool no_memory(struct tc_agent *agent)
{
    return tc_agent_fail(agent, TC_AGENT_MEMORY, "free memory on this machine", "out of memory");
}

/* Takes ownership of `err`. */
static bool fail_engine(struct tc_agent *agent, struct toolcage_error *err)
{
    bool known = err != NULL;
    (void)tc_agent_fail(agent, known ? TC_AGENT_ENGINE : TC_AGENT_MEMORY,
                        known ? toolcage_error_hint(err) : "free memory on this machine", "%s",
                        known ? toolcage_error_message(err) : "out of memory");
    toolcage_error_free(err);
    return false;
}

static bool has_tool(const struct tc_agent *agent, const char *name)
{
    size_t i;
    const json_t *tool;
    json_array_foreach(agent->tools, i, tool)
    {
        const json_t *function = json_object_get(tool, "function");
        const char *known = json_string_value(json_object_get(function, "name"));
        if (known && strcmp(known, name) == 0)
            return true;
    }
    return false;
}

static bool is_object(const char *text)
{
    json_t *value = json_loads(text, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
    bool good = json_is_object(value);
    json_decref(value);
    return good;
}

/* Sends the model the result of a call. */
static bool tell_model(struct tc_agent *agent, const char *id, const char *tool, const char *status,
                       const char *text)
{
    json_t *message =
        json_pack("{s:s, s:s, s:s}", "role", "tool", "tool_call_id", id, "content", text);
    tc_agent_say_result(agent, id, tool, status, text);
    return message ? tc_agent_transcript_add(agent, message) : no_memory(agent);
}

static struct toolcage_call *make_call(struct tc_agent *agent, const char *name,
                                       const char *arguments, struct toolcage_error **err)
{
    const char *workspace = agent->config.workspace;
    struct toolcage_call *call = NULL;
    if (!agent->engine && toolcage_engine_new(&agent->engine, err) < 0)
        return NULL;
    if (toolcage_call_new(agent->engine, agent->policy, name, &call, err) < 0)
        return NULL;
    if ((workspace && toolcage_call_set(call, "workspace", workspace, err) < 0) ||
        toolcage_call_set_arguments_json(call, arguments, err) < 0)
        return toolcage_call_unref(call);
    return call;
}

/* Waits until the call ends. At the time limit the call is cancelled, and its end is still awaited.
 * */
static bool await(struct tc_agent *agent, struct toolcage_call *call)
{
    struct toolcage_error *err = NULL;
    bool late = false;
    int rc;
    while ((rc = toolcage_call_dispatch(call, &err)) == 0) {
        struct pollfd fd = {.fd = toolcage_call_fd(call), .events = POLLIN};
        int64_t left = tc_agent_left_ms(agent);
        if (left <= 0 && !late) {
            late = true;
            (void)toolcage_call_cancel(call);
        }
        if (poll(&fd, 1, late || left > 60000 ? 60000 : (int)left) < 0 && errno != EINTR)
            return tc_agent_fail(agent, TC_AGENT_ENGINE, "free memory on this machine",
                                 "cannot wait for a call: %s", strerror(errno));
    }
    if (rc < 0)
        return fail_engine(agent, err);
    return !late ||
           tc_agent_fail(agent, TC_AGENT_TIME, "allow more with --max-time",
                         "the time limit was reached while a tool ran; the tool was stopped");
}

static bool run_call(struct tc_agent *agent, const char *id, const char *name,
                     const char *arguments)
{
    struct toolcage_error *err = NULL;
    struct toolcage_call *call = make_call(agent, name, arguments, &err);
    if (!call || toolcage_call_start(call, &err) < 0) {
        (void)toolcage_call_unref(call);
        return fail_engine(agent, err);
    }
    bool good = await(agent, call);
    const struct toolcage_result *result = good ? toolcage_call_result(call) : NULL;
    agent->calls++;
    if (result) {
        good = tell_model(agent, id, name, toolcage_result_status_word(result),
                          toolcage_result_message(result));
        if (toolcage_error_code(toolcage_result_error(result)) == TOOLCAGE_EHELPER)
            agent->engine = toolcage_engine_unref(agent->engine);
    }
    (void)toolcage_call_unref(call);
    return good;
}

/* Checks a call against the policy, so that the operator is only asked about calls that the policy
 * allows. *ret false: the policy denied the call, and the model was informed. */
static bool check_call(struct tc_agent *agent, const char *id, const char *name,
                       const char *arguments, bool *ret)
{
    struct toolcage_error *err = NULL;
    struct toolcage_call *call = make_call(agent, name, arguments, &err);
    char *json = NULL, *text = NULL;
    *ret = call && toolcage_call_explain_json(call, NULL, &json, &err) == 0;
    toolcage_free(json);
    (void)toolcage_call_unref(call);
    if (*ret)
        return true;
    int code = toolcage_error_code(err);
    if (code == TOOLCAGE_EMEMORY || code == TOOLCAGE_EHELPER || code == TOOLCAGE_EUSAGE)
        return fail_engine(agent, err);
    const char *hint = toolcage_error_hint(err), *message = toolcage_error_message(err);
    const char *subject = code == TOOLCAGE_EARGUMENTS ? toolcage_error_subject(err) : "";
    if (strstr(message, subject))
        subject = "";
    if (asprintf(&text, "denied: %s%s%s%s%s\n", subject, *subject ? ": " : "", message,
                 *hint ? ". Hint: " : "", hint) < 0)
        text = NULL;
    bool good = text ? tell_model(agent, id, name, "denied", text) : no_memory(agent);
    free(text);
    toolcage_error_free(err);
    return good;
}

/* Names the tools: the model can repeat the call with one of them. */
static bool refuse_name(struct tc_agent *agent, const char *id, const char *name)
{
    char *text = NULL;
    size_t size = 0, i;
    const json_t *tool;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return no_memory(agent);
    (void)fputs("there is no tool of this name; the tools are", out);
    json_array_foreach(agent->tools, i, tool)
    {
        const char *known =
            json_string_value(json_object_get(json_object_get(tool, "function"), "name"));
        (void)fprintf(out, "%s %s", i ? "," : "", known ? known : "?");
    }
    bool good =
        fclose(out) == 0 && text ? tell_model(agent, id, name, "denied", text) : no_memory(agent);
    free(text);
    return good;
}

static bool run_one(struct tc_agent *agent, const json_t *call)
{
    const json_t *function = json_object_get(call, "function");
    const char *id = json_string_value(json_object_get(call, "id"));
    const char *name = json_string_value(json_object_get(function, "name"));
    const char *arguments = json_string_value(json_object_get(function, "arguments"));
    bool sound = true, approved = true;
    tc_agent_say_call(agent, id, name, arguments);
    if (tc_agent_left_ms(agent) <= 0)
        return tc_agent_fail(agent, TC_AGENT_TIME, "allow more with --max-time",
                             "the time limit was reached");
    if (!has_tool(agent, name))
        return refuse_name(agent, id, name);
    if (strlen(arguments) != json_string_length(json_object_get(function, "arguments")) ||
        !is_object(arguments))
        return tell_model(agent, id, name, "denied",
                          "the arguments are not a JSON object: repeat the call with one");
    if (agent->config.approve && !check_call(agent, id, name, arguments, &sound))
        return false;
    if (!sound)
        return true;
    if (agent->config.approve && !tc_agent_approved(agent, id, name, arguments, &approved))
        return false;
    if (!approved)
        return tell_model(agent, id, name, "denied", "the operator refused this call");
    return run_call(agent, id, name, arguments);
}

bool tc_agent_run_calls(struct tc_agent *agent, const json_t *calls)
{
    for (size_t i = 0; i < json_array_size(calls); i++)
        if (!run_one(agent, json_array_get(calls, i)))
            return false;
    return true;
}
