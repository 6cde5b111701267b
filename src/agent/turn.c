/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Validates the server's response. An invalid message ends the run; errors that a model makes (an
 * unknown tool, wrong arguments) are left to calls.c, which reports them to the model. */
#include <string.h>

#include "agent/agent.h"

enum { ID_MAX = 256, NAME_MAX_BYTES = 256 };

static bool malformed(struct tc_agent *agent, const char *what)
{
    return tc_agent_fail(agent, TC_AGENT_MALFORMED,
                         "use a server that speaks OpenAI's chat completions",
                         "%s returned an invalid chat completion: %s", agent->config.url, what);
}

static bool is_word(const json_t *value, size_t most)
{
    const char *text = json_string_value(value);
    size_t length = json_string_length(value);
    if (!text || !length || length > most || strlen(text) != length)
        return false;
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)text[i] < ' ' || text[i] == 127)
            return false;
    return true;
}

/* An id must be unique in a response: otherwise one call's result could be taken for another's. */
static bool is_used(const json_t *calls, size_t before, const json_t *id)
{
    for (size_t i = 0; i < before; i++)
        if (json_equal(json_object_get(json_array_get(calls, i), "id"), id))
            return true;
    return false;
}

static bool judge_call(struct tc_agent *agent, const json_t *calls, size_t at)
{
    const json_t *call = json_array_get(calls, at), *function = json_object_get(call, "function");
    const json_t *id = json_object_get(call, "id"),
                 *arguments = json_object_get(function, "arguments");
    const char *type = json_string_value(json_object_get(call, "type"));
    if (!is_word(id, ID_MAX))
        return malformed(agent, "a call without a proper id");
    if (is_used(calls, at, id))
        return malformed(agent, "two calls have the same id");
    if ((type && strcmp(type, "function") != 0) ||
        !is_word(json_object_get(function, "name"), NAME_MAX_BYTES) || !json_is_string(arguments))
        return malformed(agent, "a call is a function with name and arguments");
    if (json_string_length(arguments) > TC_AGENT_ARGUMENTS_MAX)
        return tc_agent_fail(agent, TC_AGENT_LARGE, "use another model",
                             "the arguments of a call are larger than 1 MiB");
    return true;
}

static bool judge_calls(struct tc_agent *agent, const json_t *calls)
{
    size_t count = json_array_size(calls);
    if (calls && !json_is_null(calls) && !json_is_array(calls))
        return malformed(agent, "tool_calls is not an array");
    if (count > TC_AGENT_CALLS_MAX)
        return tc_agent_fail(agent, TC_AGENT_CALLS, "use another model",
                             "%zu calls in one response; the maximum is %d", count,
                             TC_AGENT_CALLS_MAX);
    for (size_t i = 0; i < count; i++)
        if (!judge_call(agent, calls, i))
            return false;
    return true;
}

/* Adds the server's reported usage, with a minimum derived from the response size. */
static void count_tokens(struct tc_agent *agent, const json_t *answer, size_t length)
{
    const json_t *usage = json_object_get(answer, "usage");
    json_int_t said = json_integer_value(json_object_get(usage, "total_tokens"));
    int64_t least = (int64_t)(length / 16);
    int64_t used = said > least ? said : least;
    agent->tokens = used > INT64_MAX - agent->tokens ? INT64_MAX : agent->tokens + used;
}

/* Copies only the known members, so that only these reach the transcript and the next request. */
static json_t *pick(const json_t *message)
{
    const json_t *calls = json_object_get(message, "tool_calls");
    json_t *content = json_object_get(message, "content");
    json_t *kept = json_pack("{s:s, s:O}", "role", "assistant", "content",
                             json_is_string(content) ? content : json_null());
    json_t *list = json_array_size(calls) ? json_array() : NULL;
    for (size_t i = 0; list && i < json_array_size(calls); i++) {
        const json_t *call = json_array_get(calls, i);
        const json_t *function = json_object_get(call, "function");
        if (json_array_append_new(list, json_pack("{s:O, s:s, s:{s:O, s:O}}", "id",
                                                  json_object_get(call, "id"), "type", "function",
                                                  "function", "name",
                                                  json_object_get(function, "name"), "arguments",
                                                  json_object_get(function, "arguments"))) < 0) {
            json_decref(kept);
            json_decref(list);
            return NULL;
        }
    }
    if (list && json_object_set_new(kept, "tool_calls", list) < 0) {
        json_decref(kept);
        return NULL;
    }
    return kept;
}

bool tc_agent_judge(struct tc_agent *agent, const char *text, size_t length, json_t **ret)
{
    json_error_t error;
    json_t *answer = json_loadb(text, length, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
    const json_t *choice = json_array_get(json_object_get(answer, "choices"), 0);
    const json_t *message = json_object_get(choice, "message");
    const json_t *content = json_object_get(message, "content");
    bool good = answer ? true : malformed(agent, error.text);
    if (good && !json_is_object(message))
        good = malformed(agent, "no choices[0].message");
    if (good && content && !json_is_string(content) && !json_is_null(content))
        good = malformed(agent, "content is not a string");
    good = good && judge_calls(agent, json_object_get(message, "tool_calls"));
    if (good) {
        count_tokens(agent, answer, length);
        *ret = pick(message);
        if (!*ret)
            good = tc_agent_fail(agent, TC_AGENT_MEMORY, "free memory on this machine",
                                 "out of memory");
    }
    json_decref(answer);
    return good;
}
