/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Why a value was refused, before anybody knows where it stands. */
#ifndef TC_BASE_COMPLAINT_H
#define TC_BASE_COMPLAINT_H

/* What is wrong, and the right spelling. */
struct tc_complaint {
    char what[256], hint[256];
};

void tc_complain(struct tc_complaint *c, const char *hint, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif
