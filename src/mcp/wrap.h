/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * One wrapped server: what passes between it and its client, and what the policy says of it. The
 * client may carry a model's words, the server may be hostile; neither is believed. */
#ifndef TC_MCP_WRAP_H
#define TC_MCP_WRAP_H

#include <stdint.h>
#include <stdio.h>

#include "mcp/lines.h"
#include "mcp/mcp.h"
#include "mcp/scan.h"

enum { TC_ASKED_MAX = 1024 };

/* Codes of JSON-RPC. */
enum {
    TC_WRAP_PARSE = -32700,
    TC_WRAP_REQUEST = -32600,
    TC_WRAP_PARAMS = -32602,
    TC_WRAP_INTERNAL = -32603,
};

/* What the policy says of one of the server's tools. */
struct tc_wrap_tool {
    char *name, *title, *description; /* NULL: the server's own */
    char *tier;
    bool closed; /* its arguments are declared */
    int64_t timeout_ms, output;
};

/* A request of the client's that the server has not answered. */
struct tc_asked {
    char *key; /* the id, in one spelling */
    char *id;  /* as the client wrote it */
    bool stateless;
    int64_t end_at_ms; /* 0: none */
    int64_t output;    /* 0: none */
    bool call;         /* of a tool */
    bool task;         /* its answer may begin one */
};

struct tc_wrap {
    const struct tc_wrap_options *options;
    struct toolcage_engine *engine;
    struct toolcage_call *call;
    int sink; /* the server's standard input, or -1 */
    struct tc_lines from_client, from_server;
    struct tc_outbox to_client, to_server;
    struct tc_wrap_tool *tools;
    size_t tool_count;
    struct tc_asked asked[TC_ASKED_MAX];
    size_t asked_count;
    char *tasks[TC_ASKED_MAX]; /* their ids, in one spelling */
    size_t task_count, task_next;
    int64_t output;    /* of each answer whose tool has no bound; 0: none */
    char errors[1024]; /* a line of its standard error, as far as it has come */
    size_t errors_length, told;
    int64_t told_since_ms, unheard_since_ms;
    bool left_out, heard, failed;
    bool deaf; /* nothing of the server's is wanted any more */
};

enum tc_shape { TC_SHAPE_NONE, TC_SHAPE_REQUEST, TC_SHAPE_NOTIFICATION, TC_SHAPE_RESPONSE };

struct tc_rpc {
    enum tc_shape shape; /* NONE: `fault` says why */
    const char *fault;
    struct tc_slice id, method, params, result, error;
};

/* message.c: one message of a line that is valid JSON, and the few that are ours. */
struct tc_rpc tc_rpc_read(struct tc_slice message);
/* The id in one spelling, owned; NULL: no memory. */
char *tc_rpc_key(struct tc_slice id);
/* Written into `out`: `id` is JSON ("null" for nobody's). */
void tc_rpc_refuse(FILE *out, const char *id, int code, const char *text);
void tc_rpc_tell_model(FILE *out, const char *id, bool stateless, const char *text);
bool tc_rpc_is_stateless(struct tc_slice params);

/* asked.c */
struct tc_asked *tc_asked_find(struct tc_wrap *wrap, struct tc_slice id);
/* NULL: too many, or no memory. */
struct tc_asked *tc_asked_add(struct tc_wrap *wrap, struct tc_slice id);
void tc_asked_remove(struct tc_wrap *wrap, struct tc_asked *asked);

/* asked.c: is this a request about one task? Not that for a list of them. */
bool tc_tasks_concern(struct tc_wrap *wrap, struct tc_slice method);
/* Did a call begin the task that the parameters name? */
bool tc_tasks_know(struct tc_wrap *wrap, struct tc_slice params);
/* Notes the task that a call's result speaks of, if there is one. */
void tc_tasks_begin(struct tc_wrap *wrap, struct tc_slice result);
void tc_tasks_done(struct tc_wrap *wrap);

/* rules.c: the policy's word on tools */
int tc_rules_load(struct tc_wrap *wrap, struct toolcage_error **err);
void tc_rules_done(struct tc_wrap *wrap);
const struct tc_wrap_tool *tc_rules_find(const struct tc_wrap *wrap, struct tc_slice name);
/* A call of `tool`: *ret_refusal is what to tell the model (owned), NULL: it may pass. 0, or
 * negative without memory or helper. */
int tc_rules_check(struct tc_wrap *wrap, const struct tc_wrap_tool *tool, struct tc_slice arguments,
                   char **ret_refusal);
/* The result's list of tools as the policy shows it, into `out`. False: it cannot be read in one
 * way only. */
bool tc_rules_filter(const struct tc_wrap *wrap, struct tc_slice tools, FILE *out);

/* pass.c: lines of both sides */
void tc_pass_client(struct tc_wrap *wrap, const char *text, size_t length);
void tc_pass_too_long(struct tc_wrap *wrap); /* from the client */
void tc_pass_server(struct tc_wrap *wrap, const char *text, size_t length);
/* An answer came that cannot be read: nobody knows to what. */
void tc_pass_lost(struct tc_wrap *wrap, const char *why);
/* Answers what has waited too long, by its policy. */
void tc_pass_tick(struct tc_wrap *wrap, int64_t now_ms);

void tc_wrap_note(struct tc_wrap *wrap, const char *text);
int64_t tc_wrap_now_ms(void);

#endif
