/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Findings in a policy text: collected with their locations and reported together.
 *
 *     cage.toml:3:1: error: unknown key "tiemout"
 *        3 | tiemout = "30s"
 *          | ^~~~~~~
 *     hint: did you mean "timeout"? */
#ifndef TC_POLICY_DIAG_H
#define TC_POLICY_DIAG_H

#include "base/error.h"
#include "document/document.h"

enum { TC_FINDINGS_MAX = 20 };

struct tc_finding {
    struct tc_location at;
    char *message, *hint, *subject;
};

struct tc_diag {
    const char *name, *text; /* borrowed */
    size_t len;
    struct tc_finding items[TC_FINDINGS_MAX]; /* the first ones, sorted by location */
    size_t count, more;
    bool memory;
    const struct toolcage_policy
        *policy;        /* the policy whose files the locations refer to; NULL: a single file */
    const char *beside; /* the file that the user named, while one that it depends on is read; NULL:
                           this file */
};

/* Adds a finding. subject (the key) and hint may be NULL. */
void tc_diag_add(struct tc_diag *diag, struct tc_location at, const char *subject, const char *hint,
                 const char *fmt, ...) TC_PRINTF(5, 6);
/* 0 without findings; else the error code, and an error that contains the whole report. */
int tc_diag_result(const struct tc_diag *diag, struct toolcage_error **err);
/* Prints the line with a caret below the location; nothing for a location without a line. */
void tc_diag_quote(struct tc_buf *out, const char *line, size_t len, struct tc_location at);
void tc_diag_done(struct tc_diag *diag);

#endif
