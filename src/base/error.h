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

/* Everything about a failure but its message. Texts are copied; NULL means none. */
struct tc_why {
    int code;
    const char *stage;
    const char *subject;
    int errnum;       /* its text is appended to the message */
    const char *hint; /* none: what `errnum` calls for, if anything */
    const char *file; /* place in the policy */
    uint32_t line, column;
    const char *report; /* the whole report, when it is more than message and hint */
};

/* Why a value was refused, before anybody knows where it stands: what is wrong, and the right
 * spelling. Both are cut off at their size; no hint: NULL. */
struct tc_complaint {
    char what[256], hint[256];
};
void tc_complain(struct tc_complaint *c, const char *hint, const char *fmt, ...) TC_PRINTF(3, 4);

/* What nearly every failure tells, in the order of the members; what has a place in the policy is
 * written by name. */
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
