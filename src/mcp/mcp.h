/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The Model Context Protocol: the policy's tools as a server over two descriptors, and servers of
 * others in a cage. It uses the public headers and a JSON library, as any embedder could. */
#ifndef TC_MCP_MCP_H
#define TC_MCP_MCP_H

#include <stdbool.h>
#include <toolcage/toolcage.h>

/* What a server serves, however its clients reach it. */
struct tc_mcp_tools {
    struct toolcage_policy *policy; /* borrowed */
    const char *name;               /* what clients are told; NULL: toolcage */
    /* Called with each new call, before it starts: what this server takes away from every grant.
     * 0, or negative with *err; NULL: nothing. */
    int (*narrow)(void *userdata, struct toolcage_call *call, struct toolcage_error **err);
    void *userdata;
};

/* Serves until `in` ends; what still runs then is cancelled. Calls run beside each other, all on
 * the calling thread. `in` and `out` have one message a line; borrowed, they stay in their blocking
 * mode. 0, or negative when it could not begin or go on: an error of the library with *err, or
 * TOOLCAGE_EMEMORY or TOOLCAGE_ESYSTEM (errno) without. */
int tc_mcp_serve(const struct tc_mcp_tools *what, int in, int out, struct toolcage_error **err);

/* For the operator: a line of the server's standard error (any bytes), one of ours, or (empty) that
 * nothing has been heard from the server for long. */
enum tc_wrap_message { TC_WRAP_SERVER, TC_WRAP_NOTE, TC_WRAP_SILENT };

struct tc_wrap_options {
    struct toolcage_policy *policy; /* borrowed, as all here */
    const char *server;             /* its name in the policy */
    const char *const *command;     /* for a server that has none in the policy */
    size_t command_count;
    int in, out; /* the client, one message a line; they stay in their blocking mode */
    int (*narrow)(void *userdata, struct toolcage_call *call, struct toolcage_error **err);
    void (*tell)(void *userdata, enum tc_wrap_message kind, const char *text, size_t length);
    /* Called once, last. */
    void (*ended)(void *userdata, const struct toolcage_result *result, bool by_client);
    void *userdata;
};

/* Runs the server in its cage until it or the client ends; the rest ends with it. Returns as
 * tc_mcp_serve(). */
int tc_mcp_wrap(const struct tc_wrap_options *options, struct toolcage_error **err);

#endif
