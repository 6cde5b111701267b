/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The Model Context Protocol: an MCP server with the policy's tools over two fds, and a wrapper
 * that runs third-party servers in a cage. Uses only the public headers and a JSON library, like
 * any embedder. */
#ifndef TC_MCP_MCP_H
#define TC_MCP_MCP_H

#include <stdbool.h>
#include <toolcage/toolcage.h>

#include "pins/pins.h"

/* What a server offers, independent of its transport. */
struct tc_mcp_tools {
    struct toolcage_policy *policy; /* borrowed */
    /* The policy's file, borrowed: when it changes and the user has trusted the change, the server
     * uses it for further calls. NULL: the policy never changes. */
    const char *path;
    /* The server uses another policy from now on; NULL: not called. */
    void (*reloaded)(void *userdata, const struct toolcage_policy *policy);
    /* A line for the operator, of less than PIPE_BUF bytes; must not block. NULL: not called. */
    void (*say)(void *userdata, const char *text);
    const char *name; /* the server's name for clients; NULL: toolcage */
    /* Called for each new call before its start, to narrow the grant. 0, or negative with *err;
     * NULL: no narrowing. */
    int (*narrow)(void *userdata, struct toolcage_call *call, struct toolcage_error **err);
    void *userdata;
    /* Both also offer tools of tier HumanApprove. */
    bool elicits; /* the client asks its user */
    bool queues;  /* calls wait in the queue of approvals, unless the client can ask its user */
    bool streams; /* clients that want progress or log messages get output while a tool runs */
    /* With `queues`, called for each new request in the queue; NULL: for none. */
    void (*notify)(void *userdata, const char *id);
    /* With `queues`, also offers tools of tier ManualOnly: stores a call that only a person starts.
     * Returns what the model hears; owned, NULL: out of memory. */
    char *(*keep)(void *userdata, const char *tool, const char *arguments);
    /* With `elicits`: the list and the diffs of a call's staged changes, which its user decides
     * about. `json`: from toolcage_engine_changes_json(). Owned; NULL: they cannot be shown whole.
     */
    char *(*review)(void *userdata, struct toolcage_engine *engine, const char *json);
    /* The signed receipt of a call that has ended, a JSON object; owned. NULL: *ret_why says why
     * there is none; owned, NULL: out of memory. NULL: results have no receipts. */
    char *(*receipt)(void *userdata, const char *call, char **ret_why);
    bool receipts_required; /* a result without a receipt is an error */
    int64_t answer_ms;      /* a client's question that has no answer then is a no; 0: never */
};

/* Serves until `in` ends; running calls then have two seconds, and are cancelled. Calls run
 * concurrently, all on the calling thread. `in` and `out` carry one message a line; they are
 * borrowed and stay in blocking mode. 0, or negative on failure: a library error with *err, or
 * TOOLCAGE_EMEMORY or TOOLCAGE_ESYSTEM (errno) without. */
int tc_mcp_serve(const struct tc_mcp_tools *what, int in, int out, struct toolcage_error **err);

/* Kinds of text for the operator: a line of the server's standard error (any bytes), a line of
 * toolcage, or (empty text) that the server has been silent for long. */
enum tc_wrap_message { TC_WRAP_SERVER, TC_WRAP_NOTE, TC_WRAP_SILENT };

struct tc_wrap_options {
    struct toolcage_policy *policy; /* borrowed, like all pointers here */
    const char *server;             /* its name in the policy */
    const char *const *command;     /* for a server without a command in the policy */
    size_t command_count;
    const struct tc_pins_key *pins; /* NULL: its tools are not pinned */
    int in, out; /* the client's pipes, one message a line; they stay in blocking mode */
    int (*narrow)(void *userdata, struct toolcage_call *call, struct toolcage_error **err);
    void (*tell)(void *userdata, enum tc_wrap_message kind, const char *text, size_t length);
    /* Called once, at the end. */
    void (*ended)(void *userdata, const struct toolcage_result *result, bool by_client);
    void *userdata;
};

/* Runs the server in its cage until the server or the client ends, then ends the other side.
 * Returns as tc_mcp_serve(). */
int tc_mcp_wrap(const struct tc_wrap_options *options, struct toolcage_error **err);

#endif
