/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The policy of a server at a URL: it may connect there, and its headers become secrets that the
 * proxy adds. */
#ifndef TC_ADOPT_REMOTE_H
#define TC_ADOPT_REMOTE_H

#include "adopt/adopt.h"
#include "base/buf.h"

/* As tc_adopt_plan(). */
int tc_adopt_plan_remote(const struct tc_adopt_server *server, const char *name,
                         const struct tc_adopt_facts *facts, struct tc_adopt_plan *ret);
/* policy.c: the first lines of a policy */
void tc_adopt_put_header(struct tc_buf *out, const struct tc_adopt_server *server,
                         const struct tc_adopt_facts *facts, const char *name);
#define TC_ADOPT_ALL_TOOLS                                                                \
    "# Each tool of the server. To choose: tool.NAME = {} for each, without this line.\n" \
    "tool.\"*\" = {}\n"

#endif
