/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Where any tool of this user could ever write, whatever the policy: a link that lies there may be
 * a tool's, and no grant follows it. Kept in the state directory, one path after the other, each
 * with a NUL behind it. */
#ifndef TC_CALL_WRITTEN_H
#define TC_CALL_WRITTEN_H

#include "base/buf.h"
#include "policy/grant.h"

/* The places as they stand there, as far as they are known: without a state directory none are.
 * False: out of memory. */
bool tc_written_load(struct tc_buf *to);

/* Notes what this grant lets a tool write, before it can; `known` is what was loaded. That it
 * cannot be kept stops no call: the policy's own places are looked at anyway. False: out of memory.
 */
bool tc_written_note(const struct tc_grant *grant, const struct tc_buf *known);

#endif
