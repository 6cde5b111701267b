/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * toolcage-agent: sends a task to a model server, runs the requested tools in their cages and sends
 * the results back, until the server answers or a limit is reached. The command line passes the
 * config as fd 3. The agent starts no program itself: tools run through the library. */
#include <curl/curl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent.h"
#include "mcp/handoff.h"

enum { CONFIG = 3, CONFIG_MAX = 4 << 20, LIMITED = 124, FAILURE = 125 };

/* ---- config ---- */

static bool take_config(struct tc_agent *agent, const json_t *config)
{
    struct tc_agent_config *c = &agent->config;
    const struct {
        const char *key;
        const char **value;
    } texts[] = {{"url", &c->url},       {"model", &c->model},
                 {"key", &c->key},       {"policy", &c->policy},
                 {"digest", &c->digest}, {"workspace", &c->workspace},
                 {"task", &c->task},     {"transcript", &c->transcript}};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        *texts[i].value = json_string_value(json_object_get(config, texts[i].key));
    c->max_turns = json_integer_value(json_object_get(config, "max_turns"));
    c->max_tokens = json_integer_value(json_object_get(config, "max_tokens"));
    c->max_ms = json_integer_value(json_object_get(config, "max_ms"));
    c->approve = json_is_true(json_object_get(config, "approve"));
    c->jsonl = json_is_true(json_object_get(config, "jsonl"));
    return c->url && c->policy && c->digest && c->max_turns > 0 && c->max_tokens > 0 &&
           c->max_ms > 0;
}

/* Takes ownership of `err`. */
static bool fail_load(struct tc_agent *agent, struct toolcage_error *err)
{
    (void)tc_agent_fail(agent, err ? TC_AGENT_ENGINE : TC_AGENT_MEMORY,
                        err ? toolcage_error_hint(err) : "free memory on this machine", "%s",
                        err ? toolcage_error_message(err) : "out of memory");
    toolcage_error_free(err);
    return false;
}

static bool load_agent(struct tc_agent *agent)
{
    struct toolcage_error *err = NULL;
    char *text = NULL;
    agent->messages = json_array();
    agent->asked = json_object();
    if (toolcage_policy_load_file(agent->config.policy, &agent->policy, &err) < 0)
        return fail_load(agent, err);
    if (strcmp(toolcage_policy_digest(agent->policy), agent->config.digest) != 0)
        return tc_agent_fail(agent, TC_AGENT_ENGINE, "start it again",
                             "the policy has changed while the agent started");
    if (toolcage_policy_tools_json(agent->policy, "openai", &text, &err) < 0)
        return fail_load(agent, err);
    agent->tools = json_loads(text, JSON_ALLOW_NUL, NULL);
    toolcage_free(text);
    return (agent->tools && agent->messages && agent->asked) || fail_load(agent, NULL);
}

/* ---- the loop ---- */

/* One request to the server. *ret_calls is borrowed; NULL: the server sent its final answer. */
static bool take_turn(struct tc_agent *agent, const json_t **ret_calls)
{
    char *text = NULL;
    size_t length = 0;
    json_t *message = NULL;
    if (agent->turns == agent->config.max_turns)
        return tc_agent_fail(agent, TC_AGENT_TURNS, "allow more with --max-turns",
                             "no answer after %lld turns", (long long)agent->turns);
    agent->turns++;
    if (!tc_agent_ask(agent, &text, &length))
        return false;
    bool good = tc_agent_judge(agent, text, length, &message);
    free(text);
    if (!good)
        return false;
    const char *content = json_string_value(json_object_get(message, "content"));
    *ret_calls = json_object_get(message, "tool_calls");
    if (content && (*content || !*ret_calls))
        tc_agent_say_text(agent, content, !*ret_calls);
    if (!tc_agent_transcript_add(agent, message))
        return false;
    if (*ret_calls && agent->tokens >= agent->config.max_tokens)
        return tc_agent_fail(agent, TC_AGENT_TOKENS, "allow more with --max-tokens",
                             "%lld tokens were used without an answer", (long long)agent->tokens);
    return true;
}

static bool run_task(struct tc_agent *agent, const char *task)
{
    const json_t *calls = NULL;
    if (task) {
        json_t *message = json_pack("{s:s, s:s}", "role", "user", "content", task);
        if (!message)
            return tc_agent_fail(agent, TC_AGENT_INPUT, "write it in UTF-8",
                                 "the task is not valid UTF-8");
        if (!tc_agent_transcript_add(agent, message))
            return false;
    }
    do {
        if (!take_turn(agent, &calls) || (calls && !tc_agent_run_calls(agent, calls)))
            return false;
    } while (calls);
    return true;
}

/* Runs {"type": "task", "text": "..."} lines until the input ends. */
static bool run_input(struct tc_agent *agent)
{
    char *line = NULL;
    while (tc_agent_say_read(agent, &line) && line) {
        json_t *said = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
        const char *type = json_string_value(json_object_get(said, "type"));
        const char *text = json_string_value(json_object_get(said, "text"));
        bool good = type && strcmp(type, "task") == 0 && text
                        ? run_task(agent, text)
                        : tc_agent_fail(agent, TC_AGENT_INPUT,
                                        "write {\"type\": \"task\", \"text\": \"...\"}",
                                        "a line of standard input is not a task");
        json_decref(said);
        free(line);
        line = NULL;
        if (!good)
            return false;
    }
    return agent->code == TC_AGENT_ANSWERED;
}

/* Does the conversation end with a user or tool message that has no response yet? */
static bool is_open(const struct tc_agent *agent)
{
    size_t count = json_array_size(agent->messages);
    const json_t *last = count ? json_array_get(agent->messages, count - 1) : NULL;
    const char *role = json_string_value(json_object_get(last, "role"));
    return role && strcmp(role, "assistant") != 0;
}

static void work(struct tc_agent *agent)
{
    if (!load_agent(agent) || !tc_agent_transcript_open(agent))
        return;
    tc_agent_say_event(agent,
                       json_pack("{s:s, s:s, s:i, s:i}", "type", "start", "policy",
                                 agent->config.digest, "tools", (int)json_array_size(agent->tools),
                                 "messages", (int)json_array_size(agent->messages)));
    if (agent->config.task)
        (void)run_task(agent, agent->config.task);
    else if (is_open(agent) && !run_task(agent, NULL))
        return;
    else if (agent->config.jsonl)
        (void)run_input(agent);
    else if (!agent->turns)
        (void)tc_agent_fail(agent, TC_AGENT_INPUT, "toolcage agent --upstream URL 'what to do'",
                            "no task was given, and no transcript has a pending one");
}

static void release_signals(void)
{
    sigset_t none;
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
}

int main(void)
{
    struct tc_agent agent = {.transcript = -1};
    json_t *config = tc_handoff_config(CONFIG, CONFIG_MAX);
    release_signals();
    if (!config || !take_config(&agent, config) || curl_global_init(CURL_GLOBAL_DEFAULT)) {
        (void)fprintf(stderr, "toolcage: toolcage-agent is started by toolcage agent\n");
        return FAILURE;
    }
    agent.deadline_ms = tc_agent_now_ms() + agent.config.max_ms;
    work(&agent);
    tc_agent_say_end(&agent);
    if (agent.transcript >= 0)
        (void)close(agent.transcript);
    json_decref(agent.tools);
    json_decref(agent.messages);
    json_decref(agent.asked);
    json_decref(agent.again);
    (void)toolcage_engine_unref(agent.engine);
    (void)toolcage_policy_unref(agent.policy);
    json_decref(config);
    curl_global_cleanup();
    return agent.code == TC_AGENT_ANSWERED ? 0 : agent.code <= TC_AGENT_CALLS ? LIMITED : FAILURE;
}
