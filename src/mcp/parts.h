/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The parts of the protocol besides tools. A wrapped server and its client exchange messages of a
 * part only if the policy passes it (`pass`); capabilities of other parts are removed. */
#ifndef TC_MCP_PARTS_H
#define TC_MCP_PARTS_H

#include "mcp/wrap.h"

enum tc_part {
    TC_PART_BASE, /* always passes: tools, and what every connection needs */
    TC_PART_RESOURCES,
    TC_PART_PROMPTS,
    TC_PART_COMPLETIONS,
    TC_PART_LOGGING,
    TC_PART_TASKS,
    TC_PART_INSTRUCTIONS, /* the server's text for the model */
    TC_PART_SAMPLING,     /* the server asks the client, as with the next two */
    TC_PART_ELICITATION,
    TC_PART_ROOTS,
    TC_PART_OTHER, /* unknown methods and capabilities */
    TC_PART_COUNT,
};

/* The policy's name of a part; "" for the base. */
const char *tc_part_name(enum tc_part part);
bool tc_part_passes(const struct tc_wrap *wrap, enum tc_part part);

/* The part of a message with a method. */
enum tc_part tc_part_of(struct tc_slice method, bool from_server, bool request);
/* The reason why the part does not pass, for the side that sent the message; owned, NULL: out of
 * memory. */
char *tc_part_refusal(const struct tc_wrap *wrap, enum tc_part part, struct tc_slice method);

/* The client's request without the capabilities that do not pass; owned. NULL: unchanged, or
 * ambiguous (*ret_ambiguous), or out of memory, which wrap->failed says. */
char *tc_parts_trim_request(struct tc_wrap *wrap, struct tc_slice message, const struct tc_rpc *rpc,
                            bool *ret_ambiguous);
/* The same for the server's result of initialize or server/discover, also without its
 * instructions. */
char *tc_parts_trim_hello(struct tc_wrap *wrap, struct tc_slice message, struct tc_slice result,
                          bool *ret_ambiguous);
/* The first part that does not pass of the requests to the client in a result (2026-07-28), or the
 * base. Ambiguous ones count as other. */
enum tc_part tc_parts_asked(const struct tc_wrap *wrap, struct tc_slice result);
/* The same for the error of an answer. */
enum tc_part tc_parts_asked_by(const struct tc_wrap *wrap, struct tc_slice error);

#endif
