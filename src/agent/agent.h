/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The loop between a model server and the policy's tools. The server is untrusted: it may request
 * tool calls endlessly, name tools that do not exist, or send invalid messages. It can only start
 * tools that the policy has, each in its cage, and every failure has a code. */
#ifndef TC_AGENT_AGENT_H
#define TC_AGENT_AGENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <toolcage/toolcage.h>
#include <toolcage/tools.h>

enum {
    TC_AGENT_BODY_MAX = 8 << 20,      /* bytes of one response */
    TC_AGENT_ARGUMENTS_MAX = 1 << 20, /* bytes of one call's arguments */
    TC_AGENT_CALLS_MAX = 16,          /* calls in one response */
    TC_AGENT_LINE_MAX = 1 << 20,      /* bytes of one line of operator input */
};

/* Why a run ended. Scripts read the strings that tc_agent_code_name() returns. */
enum tc_agent_code {
    TC_AGENT_ANSWERED,
    TC_AGENT_TURNS,
    TC_AGENT_TOKENS,
    TC_AGENT_TIME,
    TC_AGENT_CALLS,
    TC_AGENT_CONNECT,
    TC_AGENT_STATUS,
    TC_AGENT_CUT,
    TC_AGENT_LARGE,
    TC_AGENT_MALFORMED,
    TC_AGENT_INPUT,
    TC_AGENT_TRANSCRIPT,
    TC_AGENT_ENGINE,
    TC_AGENT_MEMORY,
};

/* The parsed config; all pointers are borrowed from it. */
struct tc_agent_config {
    const char *url, *model, *key, *policy, *digest, *workspace, *task, *transcript;
    int64_t max_turns, max_tokens, max_ms;
    bool approve, jsonl;
};

struct tc_agent {
    struct tc_agent_config config;
    struct toolcage_policy *policy;
    struct toolcage_engine *engine;
    json_t *tools;    /* in the format of the server's API */
    json_t *messages; /* the whole conversation */
    json_t *asked;    /* ids of calls for which an approval was requested */
    json_t *again;    /* calls that the operator approved for the rest of the run; NULL: none */
    int transcript;   /* fd, or -1 */
    int64_t deadline_ms, turns, tokens, calls, approvals;
    enum tc_agent_code code;
    char message[512], hint[160]; /* for a run that failed */
};

/* say.c: ends the run: sets code, message and hint, and returns false. */
bool tc_agent_fail(struct tc_agent *agent, enum tc_agent_code code, const char *hint,
                   const char *fmt, ...) __attribute__((format(printf, 4, 5)));
const char *tc_agent_code_name(enum tc_agent_code code);
int64_t tc_agent_now_ms(void);
int64_t tc_agent_left_ms(const struct tc_agent *agent);

/* upstream.c: sends one request; *ret is the response text, owned. */
bool tc_agent_ask(struct tc_agent *agent, char **ret, size_t *ret_length);

/* turn.c: validates a response. *ret is its message {"content", "tool_calls"}, owned. */
bool tc_agent_judge(struct tc_agent *agent, const char *text, size_t length, json_t **ret);

/* calls.c: runs each call of the message and appends the results to the messages. */
bool tc_agent_run_calls(struct tc_agent *agent, const json_t *calls);

/* transcript.c */
bool tc_agent_transcript_open(struct tc_agent *agent);
/* Appends a message (takes ownership) to the conversation and to the file. */
bool tc_agent_transcript_add(struct tc_agent *agent, json_t *message);

/* say.c: output to the operator */
void tc_agent_say_event(const struct tc_agent *agent,
                        json_t *event); /* takes ownership; prints only with --jsonl */
void tc_agent_say_call(const struct tc_agent *agent, const char *id, const char *tool,
                       const char *arguments);
void tc_agent_say_result(const struct tc_agent *agent, const char *id, const char *tool,
                         const char *status, const char *text);
void tc_agent_say_text(const struct tc_agent *agent, const char *text, bool last);
void tc_agent_say_end(const struct tc_agent *agent);
/* Reads the operator's next line, owned; NULL at the end of the input. False: the time limit was
 * reached, or the line is too long. */
bool tc_agent_say_read(struct tc_agent *agent, char **ret);
/* Starts a line of the agent's output on standard error: "toolcage: ". Text in `fmt` that a model
 * or server chose must be escaped. */
void tc_agent_say_begin(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* display.c: renders the arguments of a call for the person who approves it: all of them, escaped
 * for a terminal. No value can imitate another line, and nothing is hidden beyond the right edge.
 */
/* Writes "  name: value", then "  | " before each line of a multi-line text and "  : " before each
 * continuation line. Owned; NULL if memory is exhausted. */
char *tc_agent_display_arguments(json_t *arguments, size_t width);

/* again.c: calls that the operator approved for the rest of the run. False: the run ends. */
bool tc_agent_again_keep(struct tc_agent *agent, const char *tool, const char *arguments);
/* Is this call one of them? Counts it: how many there were; 0: no. */
int64_t tc_agent_again_count(struct tc_agent *agent, const char *tool, const char *arguments);

/* approve.c: requests the approval of one call. False: the run ends. */
bool tc_agent_approved(struct tc_agent *agent, const char *id, const char *tool,
                       const char *arguments, bool *ret);

#endif
