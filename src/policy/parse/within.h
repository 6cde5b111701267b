/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The key `within`: another policy whose grants are a ceiling. It is no part of the policy; each
 * call's grant is held against what it would grant. */
#ifndef TC_POLICY_PARSE_WITHIN_H
#define TC_POLICY_PARSE_WITHIN_H

#include "policy/diag.h"
#include "policy/resolve/resolve.h"

enum { TC_WITHIN_DEPTH_MAX = 8 };

/* Compiles what the merged tree names, and puts its digest in place of the name. 0 or the error. */
int tc_within_compile(struct toolcage_policy *policy, struct tc_document *document,
                      struct tc_diag *diag, const struct tc_policy_source *source,
                      struct toolcage_error **err);
/* resolve_within.c: the finished grant: no more than the ceiling's for the same call? What cannot
 * be compared is refused. */
int tc_resolve_within(struct tc_resolve *r);

#endif
