/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The result, made once from the outcome and what the library knows of the call. Every text is made
 * at birth, so that the accessors are plain reads. */
#ifndef TC_CALL_RESULT_RESULT_H
#define TC_CALL_RESULT_RESULT_H

#include <stddef.h>
#include <toolcage/result.h>

#include "base/buf.h"
#include "plan/backend.h"
#include "policy/explain/explain.h"
#include "policy/policy.h"

/* What a result says beside the outcome. All borrowed, and only during the making. */
struct tc_result_frame {
    const char *call, *tool;
    const struct toolcage_policy *policy;
    const struct tc_grant *grant; /* empty when the call was refused before it was resolved */
    const struct tc_timing *steps;
    size_t step_count;
    int64_t total_us;
};

struct toolcage_result {
    struct tc_outcome outcome;
    struct toolcage_error *error;
    char *message, *json, *timings;
};

/* Takes outcome (left empty) and error, also on failure. */
int tc_result_make(const struct tc_result_frame *frame, struct tc_outcome *outcome,
                   struct toolcage_error *error, struct toolcage_result **ret,
                   struct toolcage_error **err);
void tc_result_free(struct toolcage_result *result);

/* What the helper says went wrong; `file` is the policy's name where it knows the line, else 0.
 * Owned; NULL when out of memory. */
struct toolcage_error *tc_error_of_failure(const struct tc_outcome_failure *f, const char *file,
                                           uint32_t line);
int32_t tc_result_shell_code(const struct toolcage_result *result);

/* Where the policy says it of each denial, and a hint. False: out of memory. */
bool tc_result_place_denials(const struct tc_result_frame *frame, struct tc_outcome *outcome);
/* Why the policy refuses a denied path; false when it does not, or cannot tell. */
bool tc_result_verdict(const struct tc_result_frame *frame, const struct tc_denial *denial,
                       struct tc_verdict *ret);

/* message.c: the text for a model. Owned; NULL when out of memory. */
char *tc_result_write_message(const struct tc_result_frame *frame,
                              const struct toolcage_result *result);
/* resultjson.c */
bool tc_status_known(int64_t status);
const char *tc_status_word(int64_t status);
/* The same, the whole of it. */
char *tc_result_write_json(const struct tc_result_frame *frame,
                           const struct toolcage_result *result);
/* "changes":[…] and "files":[…], with a comma before it where one is needed. */
void tc_result_write_changes(struct tc_buf *buf, const struct tc_outcome *outcome);
void tc_result_write_files(struct tc_buf *buf, const struct tc_outcome *outcome);
char *tc_result_write_timings(const struct tc_result_frame *frame,
                              const struct tc_outcome *outcome);

/* output.c: the output of a program that the operator named. */

/* Starts the program at `path` as spawn/spawn.h says, with nothing to read and this process's
 * standard error, and adds what it prints to `out` until it has ended with 0. NULL, or why not
 * (static; errno is 0 or says more). After `limit_ms` it is killed. The host receives no SIGCHLD,
 * and its wait(-1) does not find this child. */
const char *tc_output_of(const char *path, char *const argv[], int limit_ms, struct tc_buf *out);

/* The media type of a file that a tool made: what its name says, if its first bytes do not say
 * otherwise; for names that say nothing, what the bytes say. `content` NULL: they are not known,
 * and the name alone has to do. Static text. Bytes are compared and never parsed, because whoever
 * wrote them may be hostile. */
const char *tc_mime_of(const char *path, const char *content, size_t len);

#endif
