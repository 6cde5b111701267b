/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The subject of an approval: one call, bound by digests to everything that decides what it does.
 */
#ifndef TC_APPROVE_SUBJECT_H
#define TC_APPROVE_SUBJECT_H

#include "base/error.h"
#include "policy/grant.h"

/* Writes the subject as JSON: the tool, digests of policy and grant (which has the command, the
 * input and the chosen backend), the arguments as canonical JSON, the identity of the working
 * directory, and files with a digest of each: those that the arguments name, and `programs`, the
 * host paths of the executed files (links resolved). `arguments` is
 * the text of a JSON object, or NULL. 0, or a negative code: a file cannot be read. */
int tc_subject_write(const struct tc_grant *grant, const char *arguments,
                     const struct tc_strv *programs, struct tc_buf *ret,
                     struct toolcage_error **err);

#endif
