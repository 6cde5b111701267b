/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * One third-party MCP server in a cage (`toolcage wrap`): the messages that pass between server and
 * client, limited by the policy. Neither is trusted: the client may forward a model's text, and the
 * server may be hostile. */
#ifndef TC_MCP_WRAP_H
#define TC_MCP_WRAP_H

#include <stdint.h>
#include <stdio.h>

#include "mcp/clock.h"
#include "mcp/lines.h"
#include "mcp/mcp.h"
#include "mcp/scan.h"

enum { TC_ASKED_MAX = 1024, TC_FRESH_MAX = 32 };

/* Error codes of JSON-RPC. */
enum {
    TC_WRAP_PARSE = -32700,
    TC_WRAP_REQUEST = -32600,
    TC_WRAP_METHOD = -32601,
    TC_WRAP_PARAMS = -32602,
    TC_WRAP_INTERNAL = -32603,
};

/* The policy's rule for one of the server's tools. */
struct tc_wrap_tool {
    char *name, *title, *description; /* NULL: keep the server's */
    char *tier;
    bool closed; /* the policy declares the arguments */
    int64_t timeout_ms, output;
};

/* A client request that the server has not answered yet. */
struct tc_asked {
    char *key; /* the id, normalized */
    char *id;  /* as the client wrote it */
    bool stateless;
    int64_t end_at_ms; /* 0: none */
    int64_t output;    /* 0: none */
    bool call;         /* a tools/call request */
    bool task;         /* the response may create a task */
    bool hello;        /* initialize or server/discover */
    bool first;        /* the first page of a list of tools */
    bool own;          /* the wrapper's request, not the client's */
    char *waiting;     /* the message, which the server does not have yet; NULL: it has it */
};

struct tc_wrap {
    const struct tc_wrap_options *options;
    struct toolcage_engine *engine;
    struct toolcage_call *call;
    int sink; /* the server's standard input, or -1 */
    struct tc_lines from_client, from_server;
    struct tc_outbox to_client, to_server;
    struct tc_wrap_tool *tools;
    unsigned pass;      /* bits of enum tc_part */
    unsigned noted;     /* the parts whose refusal the operator knows */
    struct tc_pin *pin; /* NULL: the tools are not pinned */
    size_t tool_count;
    struct tc_asked asked[TC_ASKED_MAX];
    size_t asked_count;
    char *tasks[TC_ASKED_MAX]; /* normalized task ids */
    size_t task_count, task_next;
    int64_t output;    /* size limit of responses without a limit of their tool; 0: none */
    char errors[1024]; /* the incomplete last line of the server's standard error */
    size_t errors_length, told;
    int64_t told_since_ms, unheard_since_ms;
    bool left_out, heard, failed;
    bool deaf; /* the server's further output is discarded */
    bool per_call;
    bool from_fresh;                      /* the message is of the server of a single call */
    struct tc_fresh *fresh[TC_FRESH_MAX]; /* the servers of single calls; some
                                           * only end */
    size_t fresh_count;
    char *hello, *greeting; /* initialize, and the server's result; NULL: not yet */
};

enum tc_shape { TC_SHAPE_NONE, TC_SHAPE_REQUEST, TC_SHAPE_NOTIFICATION, TC_SHAPE_RESPONSE };

struct tc_rpc {
    enum tc_shape shape; /* NONE: `fault` has the reason */
    const char *fault;
    struct tc_slice id, method, params, result, error;
};

/* message.c: parses one message from a line of valid JSON; writes the wrapper's own messages. */
struct tc_rpc tc_rpc_read(struct tc_slice message);
/* The normalized id, owned; NULL: out of memory. */
char *tc_rpc_key(struct tc_slice id);
/* Write a response to `out`; `id` is JSON ("null" if unknown). */
void tc_rpc_refuse(FILE *out, const char *id, int code, const char *text);
void tc_rpc_tell_model(FILE *out, const char *id, bool stateless, const char *text);
bool tc_rpc_is_stateless(struct tc_slice params);

/* asked.c */
struct tc_asked *tc_asked_of(struct tc_wrap *wrap, const char *key); /* a normalized id */
struct tc_asked *tc_asked_find(struct tc_wrap *wrap, struct tc_slice id);
/* NULL: too many requests, or out of memory. */
struct tc_asked *tc_asked_add(struct tc_wrap *wrap, struct tc_slice id);
void tc_asked_remove(struct tc_wrap *wrap, struct tc_asked *asked);

/* asked.c: does the request concern one task? False for a list of tasks. */
bool tc_tasks_concern(struct tc_wrap *wrap, struct tc_slice method);
/* Was the task in the parameters created by a call? */
bool tc_tasks_know(struct tc_wrap *wrap, struct tc_slice params);
/* Stores the id of the task that a call's result names, if any. */
void tc_tasks_begin(struct tc_wrap *wrap, struct tc_slice result);
void tc_tasks_done(struct tc_wrap *wrap);

/* rules.c: the policy's rules for tools */
int tc_rules_load(struct tc_wrap *wrap, struct toolcage_error **err);
void tc_rules_done(struct tc_wrap *wrap);
const struct tc_wrap_tool *tc_rules_find(const struct tc_wrap *wrap, struct tc_slice name);
/* Is the tool in no list, because its calls need a person? */
bool tc_rules_hide(const struct tc_wrap_tool *tool);
/* Checks a call of `tool`. *ret_refusal is the refusal for the model (owned); NULL: the call is
 * allowed. 0, or negative if memory or the helper is missing. */
int tc_rules_check(struct tc_wrap *wrap, const struct tc_wrap_tool *tool, struct tc_slice arguments,
                   char **ret_refusal);
/* Writes the list of tools to `out`, reduced to the policy's. False: out of memory. */
bool tc_rules_filter(const struct tc_wrap *wrap, struct tc_slice tools, FILE *out);

/* pass.c: lines from both sides */
void tc_pass_client(struct tc_wrap *wrap, const char *text, size_t length);
void tc_pass_skipped(struct tc_wrap *wrap, struct tc_rescue *rescue); /* from the client */
void tc_pass_server(struct tc_wrap *wrap, const char *text, size_t length);
/* A response could not be read, so its request is unknown: fails all open requests. */
void tc_pass_lost(struct tc_wrap *wrap, const char *why);
/* Answers the requests whose time limit has passed. */
void tc_pass_tick(struct tc_wrap *wrap, int64_t now_ms);

/* Fails the open call with this normalized id, if there is one. */
void tc_pass_fail(struct tc_wrap *wrap, const char *key, const char *why);
/* An error response; owned. NULL: out of memory. */
char *tc_pass_refusal(struct tc_wrap *wrap, const char *id, int code, const char *why);

/* wrap.c */
/* Starts one cage of the server. */
int tc_wrap_start(struct tc_wrap *wrap, struct toolcage_call **ret, int *ret_sink,
                  toolcage_output_fn take, void *userdata, struct toolcage_error **err);
/* Prints a server's standard error, line by line. */
void tc_wrap_errors(struct tc_wrap *wrap, const char *bytes, size_t length);
void tc_wrap_note(struct tc_wrap *wrap, const char *text);

#endif
