/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Making errors. The public half is <toolcage/error.h>.
 *
 *     return tc_fail(err, TC_WHY(TOOLCAGE_EPATH, "resolve", path, "…"), "there is no %s", path);
 *     return tc_fail(err, TC_WHY_ERRNO(TOOLCAGE_EPATH, "resolve", path, errno, "…"),
 *                    "cannot open %s", path);
 */
#ifndef TC_BASE_ERROR_H
#define TC_BASE_ERROR_H

#include <stdint.h>
#include <toolcage/error.h>

#include "base/cleanup.h"

/* A failure without its message. Strings are copied; NULL means none. */
struct tc_why {
    int code;
    const char *stage;
    const char *subject;
    int errnum;       /* its strerror() text is appended to the message */
    const char *hint; /* none: the default hint for `errnum`, if any */
    const char *file; /* location in the policy */
    uint32_t line, column;
    const char *report; /* the whole report, when it has more than message and hint */
};

/* Why a value was refused, made before its location is known: the problem, and the right
 * spelling. Both are truncated to their size; no hint: NULL. */
struct tc_complaint {
    char what[256], hint[256];
};
void tc_complain(struct tc_complaint *c, const char *hint, const char *fmt, ...) TC_PRINTF(3, 4);

/* The members of nearly every failure, in their order; a location in the policy is initialised
 * by member name. */
#define TC_WHY(code_, stage_, subject_, hint_) TC_WHY_ERRNO(code_, stage_, subject_, 0, hint_)
#define TC_WHY_ERRNO(code_, stage_, subject_, errnum_, hint_) \
    (&(struct tc_why){.code = (code_),                        \
                      .stage = (stage_),                      \
                      .subject = (subject_),                  \
                      .errnum = (errnum_),                    \
                      .hint = (hint_)})

/* Fills *err (when err is not NULL) and returns why->code. */
int tc_fail(struct toolcage_error **err, const struct tc_why *why, const char *fmt, ...)
    TC_PRINTF(3, 4);

/* Out of memory: the static error object; returns TOOLCAGE_EMEMORY. */
int tc_fail_memory(struct toolcage_error **err);

/* The accessors, as <toolcage/error.h> documents them. */
int32_t tc_error_code(const struct toolcage_error *err);
int32_t tc_error_errno(const struct toolcage_error *err);
const char *tc_error_word(int32_t code);
const char *tc_error_message(const struct toolcage_error *err);
const char *tc_error_hint(const struct toolcage_error *err);
const char *tc_error_stage(const struct toolcage_error *err);
const char *tc_error_subject(const struct toolcage_error *err);
const char *tc_error_report(const struct toolcage_error *err);
const char *tc_error_json(const struct toolcage_error *err);
void tc_error_location(const struct toolcage_error *err, const char **ret_file, uint32_t *ret_line,
                       uint32_t *ret_column);
void tc_error_free(struct toolcage_error *err);

static inline void tc_error_freep(struct toolcage_error **err)
{
    tc_error_free(*err);
}
#define _autoerror_ _auto_(tc_error_freep)

#endif
