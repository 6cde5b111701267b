/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Errors: what went wrong, where, and what to do next.
 *
 * Every fallible function returns 0 or a negative TOOLCAGE_E… code, and takes as its last parameter
 * an optional `struct toolcage_error **err`. On failure *err (if err is not NULL) receives an error
 * object that the caller owns and frees with toolcage_error_free(). On success *err is untouched;
 * on failure no other output is touched. When memory runs out the object is a static one, and
 * freeing it is still right.
 *
 * Error objects are immutable: reading one from several threads is safe.
 */
#ifndef TOOLCAGE_ERROR_H
#define TOOLCAGE_ERROR_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The closed list of codes: X(name, value, word, text). The word is `error.code` in JSON. */
#define TOOLCAGE_ERROR_MAP(X)                                                                  \
    X(USAGE, 1, "usage", "the library was called in a wrong way")                              \
    X(MEMORY, 2, "memory", "out of memory")                                                    \
    X(POLICY, 3, "policy", "the policy text is invalid")                                       \
    X(NOT_FOUND, 4, "not_found", "no such file, tool or object")                               \
    X(UNTRUSTED, 5, "untrusted", "the policy file is not trusted")                             \
    X(DENIED, 6, "denied", "the policy does not allow this call")                              \
    X(UNENFORCEABLE, 7, "unenforceable", "this machine cannot enforce a clause of the grant")  \
    X(BACKEND, 8, "backend", "the backend is absent or failed")                                \
    X(COMMAND_NOT_FOUND, 9, "command_not_found", "the command does not exist inside the cage") \
    X(NOT_EXECUTABLE, 10, "not_executable", "the command exists but cannot be executed")       \
    X(PATH, 11, "path", "a granted path cannot be used")                                       \
    X(HELPER, 12, "helper", "the helper process is missing or failed")                         \
    X(SYSTEM, 13, "system", "a system call failed")                                            \
    X(FORKED, 14, "forked", "the engine was used after fork()")                                \
    X(CANCELLED, 15, "cancelled", "the call was cancelled")                                    \
    X(ARGUMENTS, 16, "arguments", "the arguments do not fit the tool's schema")

#define TOOLCAGE_ERROR_ENUM_(name, value, word, text) TOOLCAGE_E##name = -(value),
enum toolcage_error_code { TOOLCAGE_OK = 0, TOOLCAGE_ERROR_MAP(TOOLCAGE_ERROR_ENUM_) };
#undef TOOLCAGE_ERROR_ENUM_

struct toolcage_error;

/* The code, one of TOOLCAGE_E…; TOOLCAGE_OK for a NULL error. */
int32_t toolcage_error_code(const struct toolcage_error *err);

/* The word for a code ("policy", "denied", …); "ok" for 0, "unknown" for anything else. Static
 * text. */
const char *toolcage_error_word(int32_t code);

/* Each of these borrows: the text lives as long as the error. Absent parts are "" (never NULL). */
const char *toolcage_error_message(const struct toolcage_error *err); /* what failed, and why */
const char *toolcage_error_hint(const struct toolcage_error *err);    /* what to do next */
const char *toolcage_error_stage(const struct toolcage_error *err);   /* the step that failed */
const char *toolcage_error_subject(const struct toolcage_error *err); /* the path, key or name */

/* The errno of the system call that failed, or 0. */
int32_t toolcage_error_errno(const struct toolcage_error *err);

/* The location in the policy text. *ret_file is "" and the numbers are 0 when the error has
 * none. Lines and columns count from 1; columns count bytes. Any ret_ pointer may be NULL. */
void toolcage_error_location(const struct toolcage_error *err, const char **ret_file,
                             uint32_t *ret_line, uint32_t *ret_column);

/* The whole report as text for a person, lines ended by '\n': for a policy every finding with
 * its location, the quoted line and a caret; otherwise message and hint. Borrows. */
const char *toolcage_error_report(const struct toolcage_error *err);

/* The error as one JSON object (code, stage, subject, errno, message, hint, location). Borrows. */
const char *toolcage_error_json(const struct toolcage_error *err);

/* Frees an error; NULL is fine. */
void toolcage_error_free(struct toolcage_error *err);

#ifdef __cplusplus
}
#endif
#endif
