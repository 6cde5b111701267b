/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The keys that only a server has: rows of the master table, for toolcage wrap. */
#ifndef TC_POLICY_PARSE_SERVER_ROWS_H
#define TC_POLICY_PARSE_SERVER_ROWS_H

#include <stddef.h>

#include "policy/model.h"

#define RULE(field) .offset = offsetof(struct tc_server, field)

/* clang-format off */
#define TC_SERVER_ROWS \
    {TC_IN(SERVER), "tool", tc_set_server_tools, READS(NAMED, SERVER_TOOL), NONE, .type = "tables", \
     .text = "The server's tools that clients see and may call; tool.\"*\" is each other tool. "   \
             "Without `arguments` any are passed on; with it, the schema is closed, and paths must "\
             "be absolute. A timeout or output applies to each call.",                             \
     .example = "tool.list_directory = {}"},                                                       \
    {TC_IN(SERVER), "pass", tc_set_pass, NONE, .choices = tc_values_pass,                          \
     .type = "array of words", .fallback = "[]",                                                   \
     .text = "The parts of the protocol besides tools that pass between the server and its client. "\
             "Requests of other parts get an error, and their capabilities are removed from the "  \
             "messages of both sides. instructions is the server's text for the model; with "      \
             "sampling, elicitation and roots the server asks the client; other stands for methods "\
             "that toolcage does not know.",                                                       \
     .example = "pass = [\"resources\", \"prompts\"]"},                                            \
    {TC_IN(SERVER), "url", tc_set_url, NONE, .type = "string", \
     .text = "A server that runs elsewhere, over MCP's Streamable HTTP, instead of a command. "   \
             "toolcage-bridge connects to it from a cage whose network is this host, with the "   \
             "methods POST, GET and DELETE at this path and below it. A token is a secret of this server "     \
             "(secrets), which the proxy adds: the cage does not have it. http:// is only for "   \
             "the loopback. Entries of network are added: a name that leads to a private "        \
             "address needs one for that address.",                                               \
     .example = "url = \"https://mcp.example.com/mcp\""},                                            \
    {TC_IN(SERVER), "per_call", tc_set_bool, RULE(per_call), NONE, .type = "boolean", \
     .fallback = "false", \
     .text = "Each call of a tool gets a fresh server in a fresh cage, which ends with the call: " \
             "memory, /tmp and processes of one call are gone at the next. It gets the client's "  \
             "initialize, and must answer as the server did that the client knows. It cannot "     \
             "ask the client.",                                                                    \
     .example = "per_call = true"},                                                                \
    {TC_IN(SERVER), "pin", tc_set_bool, RULE(pin), NONE,           \
     .type = "boolean", .fallback = "false",                                                       \
     .text = "Compares every tool that the server lists with the definition (name, description, "  \
             "schemas, annotations and every other member) that a person approved: toolcage pins. " \
             "A tool that is new or changed is in no list, and no call of it reaches the server.", \
     .example = "pin = true"},
/* clang-format on */

#endif
