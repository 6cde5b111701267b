/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The subject of an approval: one call, bound by digests to everything that decides what it does.
 */
#ifndef TC_APPROVE_SUBJECT_H
#define TC_APPROVE_SUBJECT_H

#include "base/error.h"
#include "policy/grant.h"

/* What the call adds to its grant. */
struct tc_subject {
    const char *arguments; /* the text of a JSON object; NULL: none */
    const void *input;     /* bytes for the standard input; NULL: none */
    size_t input_length;
    bool pipe;                   /* the standard input is a pipe of the caller */
    const char *cwd;             /* the host's directory in which the tool starts; NULL: none */
    const struct tc_strv *files; /* host paths: the executed files, and those that the command line
                                    names */
};

/* Writes the subject as JSON: the tool, digests of policy and grant, the chosen backend, the
 * command, the input, the arguments as canonical JSON, the granted paths with the identities of
 * the host's objects, the network, names of secrets and variables, and files with a digest of each:
 * those of the call, and those that the arguments name. 0, or a negative code: a file cannot be
 * read, changes meanwhile, or all of them have too many bytes. */
int tc_subject_write(const struct tc_grant *grant, const struct tc_subject *subject,
                     struct tc_buf *ret, struct toolcage_error **err);

#endif
