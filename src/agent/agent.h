/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The small loop between a model server and the policy's tools. The server is not trusted: it may
 * ask without end, for what does not exist, or say what is no message; it only gets tools run that
 * the policy has, in their cages, and every way that it can go wrong has a name. */
#ifndef TC_AGENT_AGENT_H
#define TC_AGENT_AGENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <toolcage/toolcage.h>
#include <toolcage/tools.h>

enum {
    TC_AGENT_BODY_MAX = 8 << 20,      /* of one answer of the server */
    TC_AGENT_ARGUMENTS_MAX = 1 << 20, /* of one call */
    TC_AGENT_CALLS_MAX = 16,          /* in one answer */
    TC_AGENT_LINE_MAX = 1 << 20,      /* of the operator's input */
};

/* Why it ended; the words are what scripts see. */
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

/* What it was told; all borrowed from the config. */
struct tc_agent_config {
    const char *url, *model, *key, *policy, *digest, *workspace, *task, *transcript;
    int64_t max_turns, max_tokens, max_ms;
    bool approve, jsonl;
};

struct tc_agent {
    struct tc_agent_config config;
    struct toolcage_policy *policy;
    struct toolcage_engine *engine;
    json_t *tools;    /* in the form of the server's API */
    json_t *messages; /* all that was said */
    json_t *asked;    /* the ids of calls that an approval was asked for */
    int transcript;   /* a descriptor, or -1 */
    int64_t deadline_ms, turns, tokens, calls, approvals;
    enum tc_agent_code code;
    char message[512], hint[160]; /* why it ended */
};

/* say.c: ends the run: fills code, message and hint, and returns false. */
bool tc_agent_fail(struct tc_agent *agent, enum tc_agent_code code, const char *hint,
                   const char *fmt, ...) __attribute__((format(printf, 4, 5)));
const char *tc_agent_code_name(enum tc_agent_code code);
int64_t tc_agent_now_ms(void);
int64_t tc_agent_left_ms(const struct tc_agent *agent);

/* upstream.c: one request; *ret is the answer's text, owned. */
bool tc_agent_ask(struct tc_agent *agent, char **ret, size_t *ret_length);

/* turn.c: the message of an answer, judged: {"content", "tool_calls"}, owned. */
bool tc_agent_judge(struct tc_agent *agent, const char *text, size_t length, json_t **ret);

/* calls.c: runs each of the message's calls and adds what they gave to the messages. */
bool tc_agent_run_calls(struct tc_agent *agent, const json_t *calls);

/* transcript.c */
bool tc_agent_transcript_open(struct tc_agent *agent);
/* Adds a message (taken) to what was said, and to the file. */
bool tc_agent_transcript_add(struct tc_agent *agent, json_t *message);

/* say.c: to the operator */
void tc_agent_say_event(const struct tc_agent *agent, json_t *event); /* taken; only with --jsonl */
void tc_agent_say_call(const struct tc_agent *agent, const char *id, const char *tool,
                       const char *arguments);
void tc_agent_say_result(const struct tc_agent *agent, const char *id, const char *tool,
                         const char *status, const char *text);
void tc_agent_say_text(const struct tc_agent *agent, const char *text, bool last);
void tc_agent_say_end(const struct tc_agent *agent);
/* The operator's next line, owned; NULL at the end of the input. False: the time is over, or it is
 * too long. */
bool tc_agent_say_read(struct tc_agent *agent, char **ret);
/* A line of ours begins, on standard error: "toolcage: ". `fmt` holds nothing that somebody else
 * chose, unless it was made harmless. */
void tc_agent_say_begin(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* display.c: the arguments of a call, for the person who approves it: all of them, harmless for a
 * terminal, in lines that no value can imitate and that hide nothing beyond the right edge. */
/* "  name: value", and below it "  | " in front of each line of a text, "  : " where one goes on.
 * Owned; NULL without memory. */
char *tc_agent_display_arguments(json_t *arguments, size_t width);

/* approve.c: asks about one call. False: the run ends. */
bool tc_agent_approved(struct tc_agent *agent, const char *id, const char *tool,
                       const char *arguments, bool *ret);

#endif
