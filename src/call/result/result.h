/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The result of a call, made once from the helper's outcome and the library's data of the call. All
 * its strings are created then, so that the functions which read a result cannot fail. */
#ifndef TC_CALL_RESULT_RESULT_H
#define TC_CALL_RESULT_RESULT_H

#include <stddef.h>
#include <toolcage/result.h>

#include "base/buf.h"
#include "plan/backend.h"
#include "policy/explain/explain.h"
#include "policy/policy.h"

/* The library's part of a result. All borrowed, and only during tc_result_make(). */
struct tc_result_frame {
    const char *call, *tool;
    const struct toolcage_policy *policy;
    const struct tc_grant *grant; /* empty when the call was refused before it was resolved */
    const struct tc_timing *steps;
    size_t step_count;
    int64_t total_us;
    const char *live_session; /* the id of the live session that it ran in; NULL: none */
    int64_t proved_at;        /* when the isolation was tried, in seconds; 0: not asked for */
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
/* Adds a note (taken) to a result that was made; without memory for that it stays as it is. */
void tc_result_add_note(const struct tc_result_frame *frame, struct toolcage_result *result,
                        char *note);
void tc_result_free(struct toolcage_result *result);

/* The helper's failure as an error; `file` is the policy's name where `line` is known; else
 * `line` is 0. Owned; NULL when out of memory. */
struct toolcage_error *tc_error_of_failure(const struct tc_outcome_failure *f, const char *file,
                                           uint32_t line);
/* The exit code of `toolcage exec` for this result. */
int32_t tc_result_shell_code(const struct toolcage_result *result);

/* Adds the policy location and a hint to each denial. False: out of memory. */
bool tc_result_place_denials(const struct tc_result_frame *frame, struct tc_outcome *outcome);
/* Why the policy refuses a denied path. False: the policy allows the path, or the reason is
 * unknown. */
bool tc_result_verdict(const struct tc_result_frame *frame, const struct tc_denial *denial,
                       struct tc_verdict *ret);

/* connects.c: the location of a refused connect, and the entry that would allow it. False: out of
 * memory. */
bool tc_result_place_connect(const struct tc_result_frame *frame, struct tc_denial *denial);

/* advice.c: adds a note to the outcome of a failed tool, if its output and the grant suggest one.
 */
void tc_result_advise(const struct tc_result_frame *frame, struct tc_outcome *outcome);

/* repository.c: which git repository the tool did not see, and how to grant it. Owned; NULL: its
 * output does not complain, or there is none. */
char *tc_result_advise_repository(const struct tc_result_frame *frame,
                                  const struct tc_outcome *outcome);

/* message.c: the text for a model. Owned; NULL when out of memory. */
char *tc_result_write_message(const struct tc_result_frame *frame,
                              const struct toolcage_result *result);
/* Appends " of 64 MiB", the value of the limit with this name; nothing if it is not set. */
void tc_result_add_limit(struct tc_buf *buf, const struct tc_limits *l, const char *name);
/* limit_hint.c: notes the limit that the tool's own error messages hint at. */
void tc_result_hint_limit(const struct tc_limits *l, struct tc_outcome *outcome);
/* resultjson.c */
bool tc_status_known(int64_t status);
const char *tc_status_word(int64_t status);
/* The whole result as JSON. Owned; NULL when out of memory. */
char *tc_result_write_json(const struct tc_result_frame *frame,
                           const struct toolcage_result *result);
/* Parts of it, for the audit log: how the call ended (`brief`: of its error no text, which can
 * quote arguments); its backend, tier, policy and grant; usage, denials and enforcement. */
void tc_result_write_end(struct tc_buf *buf, const struct toolcage_result *result, bool brief);
void tc_result_write_decision(struct tc_buf *buf, const struct tc_result_frame *frame);
void tc_result_write_observed(struct tc_buf *buf, const struct tc_result_frame *frame,
                              const struct tc_outcome *outcome);
/* "changes":[…] and "files":[…], with a comma before it where one is needed. */
void tc_result_write_changes(struct tc_buf *buf, const struct tc_outcome *outcome);
void tc_result_write_files(struct tc_buf *buf, const struct tc_outcome *outcome);
char *tc_result_write_timings(const struct tc_result_frame *frame,
                              const struct tc_outcome *outcome);

/* output.c: the output of a program that the operator named. */

/* Starts the program at `path` as spawn/spawn.h describes, with empty standard input and this
 * process's standard error, and appends its output to `out` until it exits. NULL when it exited
 * with 0, else the reason (static; errno is 0 or the cause). After `limit_ms` it is killed. The
 * host receives no SIGCHLD, and its wait(-1) does not find this child. */
const char *tc_output_of(const char *path, char *const argv[], int limit_ms, struct tc_buf *out);

/* The media type of a file that a tool made: that of its name's extension, unless the first
 * bytes contradict; for other names, that of the bytes. `content` NULL: only the name is known.
 * Static text. Bytes are compared and never parsed, because their author may be hostile. */
const char *tc_mime_of(const char *path, const char *content, size_t len);

#endif
