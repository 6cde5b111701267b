/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The result of a call: the request, how it was enforced and what was observed. Immutable; owned
 * by its call. */
#ifndef TOOLCAGE_RESULT_H
#define TOOLCAGE_RESULT_H

#include <stddef.h>
#include <stdint.h>
#include <toolcage/error.h>

#ifdef __cplusplus
extern "C" {
#endif

struct toolcage_result;

enum toolcage_status {
    TOOLCAGE_STATUS_OK = 0,        /* the tool ran and exited 0 */
    TOOLCAGE_STATUS_FAILED = 1,    /* the tool's own non-zero exit or signal */
    TOOLCAGE_STATUS_TIMEOUT = 2,   /* ended at its deadline */
    TOOLCAGE_STATUS_LIMIT = 3,     /* ended by a limit; toolcage_result_limit() names it */
    TOOLCAGE_STATUS_DENIED = 4,    /* refused: it never ran */
    TOOLCAGE_STATUS_CANCELLED = 5, /* the host program cancelled the call */
    TOOLCAGE_STATUS_ERROR = 6,     /* toolcage or the backend failed */
};

int32_t toolcage_result_status(const struct toolcage_result *result);
const char *
toolcage_result_status_word(const struct toolcage_result *result); /* "ok", "failed", … */
int32_t
toolcage_result_exit_code(const struct toolcage_result *result); /* -1 when the tool did not exit */
int32_t
toolcage_result_signal(const struct toolcage_result *result); /* 0 when no signal ended the tool */
const char *
toolcage_result_limit(const struct toolcage_result *result); /* "" or the limit's name */

/* A change in the result's JSON with one of these values in `held` is staged:
 * toolcage_engine_changes_json() lists it, toolcage_engine_settle_json() applies or discards it.
 * One that steers the host is applied by TOOLCAGE_SETTLE_STEERING alone. */
#define TOOLCAGE_HELD_APPROVAL "pending approval"
#define TOOLCAGE_HELD_STEERING "steers the host"

/* The exit code for a shell, 0 to 255: the tool's own exit code; 124 timeout; 125 toolcage
 * failed; 126 denied or not executable; 127 not found inside the cage; 128+N signal (137 for a
 * limit). */
int32_t toolcage_result_shell_code(const struct toolcage_result *result);

/* The output of stream 1 or 2 within the output limit (when truncated: the beginning, a marker
 * and the end); not NUL-terminated. Borrows. */
const void *toolcage_result_output(const struct toolcage_result *result, int stream,
                                   size_t *ret_length);

/* The text for the model: what happened, for a failure also why, and the tool's output. Borrows. */
const char *toolcage_result_message(const struct toolcage_result *result);

/* Why the call was denied or failed, except by the tool's own exit; NULL: no error. Borrows. */
const struct toolcage_error *toolcage_result_error(const struct toolcage_result *result);

/* The whole result as one line of JSON (no newline at the end). Borrows. */
const char *toolcage_result_json(const struct toolcage_result *result);

#ifdef __cplusplus
}
#endif
#endif
